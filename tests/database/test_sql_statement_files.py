"""A file with a SQL statement is refused if its text contradicts its declarations."""

import itertools
import re

import pytest
import statements

from app.database import sql

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
    assert "2" in str(sql.parse(source).compiled("b"))
    with pytest.raises(ValueError, match="unknown parts"):
        sql.parse(source).compiled("aa")
    with pytest.raises(ValueError, match="unknown parts"):
        sql.statement("hybrid", "vectro")


@pytest.mark.parametrize(
    "source", ["-- A.\n-- :a text\nSELECT :b", "-- A.\n-- :a text\nSELECT 1", "-- A.\nSELECT :a"], ids=repr
)
def test_binds_that_are_not_declared_or_not_used_are_refused(source) -> None:
    with pytest.raises(ValueError, match="binds differ"):
        sql.parse(source).compiled()


def test_the_owner_of_the_rows_is_a_bind_of_every_statement_without_a_declaration() -> None:
    assert str(sql.parse("-- A.\nSELECT :user_id").compiled()) == "SELECT CAST(:user_id AS text)"


def test_a_section_is_left_out_unless_one_of_its_parts_is_requested() -> None:
    header = "-- A.\n-- part a\n-- part b\n"
    source = f"{header}SELECT 1\n-- if a or b\n, 2\n-- unless b\n, 3\n-- end\n-- end\n-- unless a\n, 4\n-- end"
    shown = {
        parts: "".join(str(sql.parse(source).compiled(*parts)).split()) for parts in ((), ("a",), ("b",), ("a", "b"))
    }
    assert shown == {(): "SELECT1,4", ("a",): "SELECT1,2,3", ("b",): "SELECT1,2,4", ("a", "b"): "SELECT1,2"}


def test_every_fragment_is_used_and_has_a_description():
    users = [user.read_text(encoding="utf-8") for user in sql.FOLDER.rglob("*.*") if user.suffix in (".sql", ".py")]
    for name, path in sql.files("fragments").items():
        assert any(f"{{{{{name}{after}" in user for user in users for after in " }"), name
        assert path.read_text(encoding="utf-8").startswith("-- "), name


@pytest.mark.parametrize("path", sorted(sql.files("ctes").values()), ids=lambda path: path.stem)
def test_every_file_of_ctes_is_used_and_has_its_purpose_and_its_columns(path):
    assert any(path.stem in names[:-1] for names in statements.COMPOSED)
    purpose, *header = itertools.takewhile(lambda line: line.startswith("--"), path.read_text("utf-8").splitlines())
    assert re.match(r"-- [A-Z].{10,}", purpose)
    assert any(line.startswith("-- Columns: ") for line in header)
