"""Checks that what may run on a standby writes nothing: no statement, no lock of rows, no transaction of a request."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
import statements

from app.database import sql, transactions

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
        code = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(code)) if any(name in code for name in READS) else ():
            if isinstance(node, ast.AsyncFunctionDef) and any(
                isinstance(one.annotation, ast.Name) and one.annotation.id in READS for one in node.args.args
            ):
                yield f"{statements.module_name(path)}.{node.name}", node


def _statements(function: str, node: ast.AST) -> Iterator[str]:
    """The names of the statements that a function runs."""
    module = function.partition(".")[0]
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and ast.unparse(part.func) == "sql.statement":
            names = (one.value for one in ast.walk(part.args[0]) if isinstance(one, ast.Constant))
            yield from (path.stem for name in names for path in STORE.rglob(f"{name}*.sql"))
        elif isinstance(part, ast.Name) and f"{module}.{part.id}" in statements.INLINE:
            yield f"{module}.{part.id}"


def test_no_function_that_takes_a_read_transaction_contains_a_writing_statement() -> None:
    functions = dict(_reading_functions())
    read = {name: sorted(_statements(name, node)) for name, node in functions.items()}
    assert {"hybrid_search.hybrid", "multihop.names", "documents.page"} <= functions.keys()
    assert sum(map(len, read.values())) > 20
    assert {"hybrid_search.VECTOR_OF_CHUNK", "chunks_by_id"} <= {name for names in read.values() for name in names}
    for name, node in functions.items():
        called = [ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)]
        assert [one for one in called if one in WRITES or one.endswith(".with_for_update")] == [], name
        for statement in read[name]:
            assert WRITING.findall(statements.text(statements.SOURCES[statement])) == [], statement


@pytest.mark.parametrize("names", statements.COMPOSED, ids=lambda names: names[-1])
def test_a_statement_that_is_composed_of_ctes_writes_nothing(names: tuple[str, ...]) -> None:
    assert WRITING.findall(statements.text(sql.load(names))) == []


async def test_a_request_that_only_reads_cannot_open_a_transaction_that_writes(database, user) -> None:
    view = database.for_request(database.reads.new(), only_reads=True)
    for transaction in (view.writing(user), view.preparing(user)):
        with pytest.raises(RuntimeError, match="only reads"):
            async with transaction:
                pass
    for one in (view, database):
        async with one.reading(user) as reading:
            with pytest.raises(asyncpg.PostgresError, match="read-only transaction"):
                await reading.execute(transactions.sa.text("DELETE FROM stepwell.documents"))
