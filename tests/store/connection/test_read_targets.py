"""Checks that what may run on a standby writes nothing: no statement, no lock of rows, no transaction of a request."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.connection import sql, transactions
from app.store.connection.read_routes import ReadRoute

STORE = Path(transactions.__file__).parents[1]
READS = {"Reading", "SearchTransaction"}
WRITES = ("sa.insert", "sa.update", "sa.delete", "insert", "pg_insert", "with_for_update")
WRITING = re.compile(
    r"\b(INSERT INTO|UPDATE|DELETE FROM|MERGE INTO|TRUNCATE|LOCK TABLE|COPY|nextval|FOR (KEY )?SHARE"
    r"|pg_(try_)?advisory\w*|CREATE|NOTIFY)\b",
    re.IGNORECASE,
)


def _reading_functions() -> Iterator[tuple[str, ast.AsyncFunctionDef]]:
    for path in sorted(STORE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.AsyncFunctionDef) and any(
                isinstance(one.annotation, ast.Name) and one.annotation.id in READS for one in node.args.args
            ):
                yield f"{path.stem}.{node.name}", node


def _statements(node: ast.AST) -> Iterator[str]:
    """The names of the SQL files that a function runs."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "sql.statement":
            names = (one.value for one in ast.walk(call.args[0]) if isinstance(one, ast.Constant))
            yield from (path.stem for name in names for path in STORE.rglob(f"{name}*.sql"))


FUNCTIONS = dict(_reading_functions())


def test_the_functions_that_read_are_found() -> None:
    assert {"recall.hybrid", "links.names", "documents.page", "similarity_matrix.of"} <= FUNCTIONS.keys()
    assert sum(1 for node in FUNCTIONS.values() for _ in _statements(node)) > 20


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_takes_a_read_transaction_contains_no_writing_statement(name: str) -> None:
    node = FUNCTIONS[name]
    called = [ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)]
    assert [one for one in called if one in WRITES or one.endswith(".with_for_update")] == []
    for statement in _statements(node):
        text = "\n".join(line for line in sql.load(statement).lines if not line.lstrip().startswith("--"))
        assert WRITING.findall(text) == [], statement


async def test_a_request_that_only_reads_cannot_open_a_transaction_that_writes(
    database: transactions.Database, user
) -> None:
    view = database.for_request(ReadRoute(database.targets), only_reads=True)
    for transaction in (view.writing(user), view.preparing(user)):
        with pytest.raises(RuntimeError, match="only reads"):
            async with transaction:
                pass
    async with view.reading(user) as reading:
        with pytest.raises(transactions.sa.exc.DBAPIError, match="read-only transaction"):
            await reading.execute(transactions.sa.text("DELETE FROM stepwell.documents"))
