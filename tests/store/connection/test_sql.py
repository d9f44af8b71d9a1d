"""Statements are refused where their text contradicts their declarations."""

from __future__ import annotations

import itertools
import re

import pytest
import statements

from app.store.connection import sql

DECLARED = "-- A statement.\n-- part a\n-- part b\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("SELECT 1\n-- if a\n, 2\n-- end\n-- if c\n, 3\n-- end", "parts differ"),
        ("SELECT 1\n-- if a\n, 2\n-- end", "parts differ"),
        ("SELECT 1\n-- if a\n, 2\n-- if b\n, 3\n-- end", "no end"),
        ("SELECT 1\n-- if a or b\n, 2\n-- end\n-- end", "not begun"),
        ("SELECT 1\n-- if a or b\n, 2\n-- endif", "not a directive"),
        ("SELECT 1\n-- iF a or b\n, 2\n-- end", "not a directive"),
        ("SELECT 1\n-- if a, b\n, 2\n-- end", "not a directive"),
        ("SELECT 1\n-- unless a or b:\n, 2\n-- end", "not a directive"),
        ("SELECT 1\n-- if a or b\n, 2\n-- else\n, 3\n-- end", "not a directive"),
        ("SELECT 1\n-- if a or b\n, {{unheard_of x}}\n-- end", "no such fragment"),
        ("SELECT 1\n-- if a or b\n, {{posting c}}\n-- end", "takes 2 arguments, not 1"),
    ],
)
def test_a_misspelt_part_directive_or_fragment_is_refused_when_the_file_is_read(body, message):
    with pytest.raises(ValueError, match=message):
        sql.parse(DECLARED + body)


def test_an_undeclared_part_is_refused_when_it_is_requested():
    source = f"{DECLARED}SELECT 1\n-- if a or b\n, 2\n-- end"
    assert "2" in str(sql.compiled(source, "b"))
    with pytest.raises(ValueError, match="unknown parts"):
        sql.compiled(source, "aa")
    with pytest.raises(ValueError, match="unknown parts"):
        sql.statement("hybrid", "vectro")


def test_a_fragment_adds_its_binds_and_replaces_its_arguments():
    source = "-- A.\n-- :user_id text\nSELECT :user_id, {{document_passes e}}"
    compiled = str(sql.compiled(source, "matching"))
    assert "d.document_id = e.document_id" in compiled
    assert "CAST(:matching AS jsonpath)" in compiled
    assert "CAST(:matching AS jsonpath)" not in str(sql.compiled(source))
    assert "$" not in compiled
    assert "{{" not in compiled


def test_a_bind_of_another_type_than_in_the_fragment_is_refused():
    with pytest.raises(ValueError, match="the bind user_id is declared as bigint and as text"):
        sql.compiled("-- A.\n-- :user_id bigint\nSELECT :user_id, {{document_passes e}}")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Writes files of a store of their own."""

    def write(**texts: str) -> None:
        for name, text in texts.items():
            kind, _, stem = name.rpartition("__")
            (tmp_path / kind).mkdir(exist_ok=True)
            (tmp_path / kind / f"{stem}.sql").write_text(text, encoding="utf-8")

    monkeypatch.setattr(sql, "FOLDER", tmp_path)
    for remembered in (sql.files, sql.load, sql.statement):
        remembered.cache_clear()
    yield write
    for remembered in (sql.files, sql.load, sql.statement):
        remembered.cache_clear()


def test_a_statement_is_composed_of_the_ctes_that_have_text_with_the_parts_asked_for(files):
    files(
        ctes__a="-- A.\n-- part some\n-- if some\na AS (SELECT 1)\n-- end",
        ctes__b="-- B.\n-- part some\n-- :n bigint\n-- if some\nb AS (SELECT 2),\n-- end\nc AS (SELECT :n)",
        own="-- Own.\n-- :x text\nSELECT :x",
    )
    found = sql.load(("a", "b", "own"))
    assert (found.binds, found.parts) == ({"n": "bigint", "x": "text"}, {"some"})
    composed = {parts: " ".join(str(sql.statement(("a", "b", "own"), *parts)).split()) for parts in ((), ("some",))}
    last = "c AS (SELECT CAST(:n AS bigint)) SELECT CAST(:x AS text)"
    assert composed[()] == f"WITH {last}"
    assert composed["some",] == f"WITH a AS (SELECT 1), b AS (SELECT 2), {last}"
    assert str(sql.statement(("a", "own"))) == "SELECT CAST(:x AS text)"


def test_a_statement_in_a_module_declares_its_binds_beside_it():
    inline = sql.inline("\n SELECT :a, {{document_passes e}}\n ", a="text::vector", user_id="text")
    assert str(inline).startswith("SELECT CAST(CAST(:a AS text) AS vector), (SELECT (true")
    for binds in ({}, {"a": "text", "b": "text"}):
        with pytest.raises(ValueError, match="binds differ"):
            sql.inline("SELECT :a", **binds)
    with pytest.raises(ValueError, match="the bind user_id is declared as bigint and as text"):
        sql.inline("SELECT {{document_passes e}}", user_id="bigint")


def test_each_file_of_a_composed_statement_is_checked_and_no_bind_has_two_types(files):
    own = "-- Own.\n-- :x text\nSELECT :x"
    files(ctes__a="-- A.\na AS (SELECT :x)", ctes__b="-- B.\n-- :x uuid\nb AS (SELECT :x)", own=own)
    with pytest.raises(ValueError, match="binds differ"):
        sql.load(("a", "own"))
    with pytest.raises(ValueError, match="the bind x is declared as uuid and as text"):
        sql.load(("b", "own"))
    with pytest.raises(ValueError, match="unknown parts"):
        sql.statement("own", "some")


@pytest.mark.parametrize("path", sorted(sql.files("fragments").values()), ids=lambda path: path.stem)
def test_every_fragment_is_used_and_has_a_description(path):
    users = [user.read_text(encoding="utf-8") for user in sql.FOLDER.rglob("*.*") if user.suffix in (".sql", ".py")]
    assert any(f"{{{{{path.stem}{after}" in user for user in users for after in " }")
    assert path.read_text(encoding="utf-8").startswith("-- ")


@pytest.mark.parametrize("path", sorted(sql.files("ctes").values()), ids=lambda path: path.stem)
def test_every_file_of_ctes_is_used_and_has_its_purpose_and_its_columns(path):
    assert any(path.stem in names[:-1] for names in statements.COMPOSED)
    purpose, *header = itertools.takewhile(lambda line: line.startswith("--"), path.read_text("utf-8").splitlines())
    assert re.match(r"-- [A-Z].{10,}", purpose)
    assert any(line.startswith("-- Columns: ") for line in header)
