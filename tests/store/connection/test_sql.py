"""Statements are refused where their text contradicts their declarations."""

from __future__ import annotations

import pytest

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
    with pytest.raises(ValueError, match="the bind user_id is bigint, and text"):
        sql.compiled("-- A.\n-- :user_id bigint\nSELECT :user_id, {{document_passes e}}")


@pytest.mark.parametrize("path", sorted(sql.files(fragments=True).values()), ids=lambda path: path.stem)
def test_every_fragment_is_used_and_has_a_description(path):
    users = [user.read_text(encoding="utf-8") for user in (*sql.files().values(), *sql.files(fragments=True).values())]
    assert any(f"{{{{{path.stem}{after}" in user for user in users for after in " }")
    assert path.read_text(encoding="utf-8").startswith("-- ")
