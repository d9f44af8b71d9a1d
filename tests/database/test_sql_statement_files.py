"""Each statement in a file has the binds, parts and sections that it declares."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import statements

from app.database import sql

DECLARED = "-- A statement.\n-- part a\n-- part b\n"
DIRECTIVE = re.compile(r"-- (?:(?:if|unless) (?P<parts>\w+(?: or \w+)*)|end)")
LIKE_A_DIRECTIVE = re.compile(r"--\s*(?:if|unless|else|elif|elsif|end|endif)\b", re.IGNORECASE)

COMPUTED_KEY = re.compile(
    r"\b\w+\.\w+ (?:=|>=|<) \(?(?:\w+\.\w+ (?:>>|\|\|) \w+|(?!ANY|ALL)\w+\(\w+\.\w+|coalesce\()", re.IGNORECASE
)
OF_A_CTE = "g.chunk_no = h.item >> 24"
"""Compares a key with the rows of a CTE, which no policy hides."""


def contradictions(source: sql.StatementSource) -> Iterator[str]:
    """How the text of a statement or fragment contradicts its declarations."""
    named, depth, written = set[str](), 0, list[str]()
    for line in (line.strip() for lines in (*source.ctes, source.lines) for line in lines):
        if directive := DIRECTIVE.fullmatch(line):
            depth += 1 if directive["parts"] else -1
            named |= set(directive["parts"].split(" or ")) if directive["parts"] else set()
            if depth < 0:
                yield "a section ends that has not begun"
        elif LIKE_A_DIRECTIVE.match(line):
            yield f"not a directive: {line}"
        elif not line.startswith("--"):
            written.append(line)
    if depth > 0:
        yield "a section has no end"
    if named != source.parts:
        yield "the parts differ"
    text = "\n".join(written)
    if set(re.findall(r"(?<![:\w]):(\w+)", text)) != source.binds.keys():
        yield "the binds differ"
    if set(re.findall(r"\$([a-z]\w*)", text)) != set(source.arguments):
        yield "the arguments differ"


@pytest.mark.parametrize("name", statements.SOURCES)
def test_a_statement_has_what_it_declares(name: str) -> None:
    assert list(contradictions(statements.SOURCES[name])) == []


def test_a_process_keeps_a_limited_number_of_statements() -> None:
    parts = sorted(sql.load("facets").parts)
    chosen = itertools.chain.from_iterable(itertools.combinations(parts, size) for size in range(len(parts)))
    for some in itertools.islice(chosen, sql.MOST_KEPT + 1):
        assert sql.statement("facets", *some) is sql.statement("facets", *some)
    assert sql.statement.cache_info().currsize == sql.MOST_KEPT


@pytest.mark.parametrize("name", statements.SOURCES)
def test_rows_are_looked_up_by_keys_that_are_made_before(name: str) -> None:
    """Row-level security of newer minor releases lets no index be searched for a key computed where it is compared."""
    assert set(COMPUTED_KEY.findall(statements.text(statements.SOURCES[name]))) <= {OF_A_CTE}


@pytest.mark.parametrize("path", sorted(sql.files("fragments").values()), ids=lambda path: path.stem)
def test_a_fragment_has_what_it_declares_and_begins_and_ends_with_sql(path: Path) -> None:
    fragment = sql.parse(path.read_text(encoding="utf-8"))
    assert list(contradictions(fragment)) == []
    shown = [line.strip() for line in fragment.lines if DIRECTIVE.fullmatch(line.strip()) or "--" not in line[:20]]
    assert not shown[0].startswith("--")
    assert not shown[-1].startswith("--")


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
        ("SELECT 1\n-- if a or b\n, :c\n-- end", "binds differ"),
        ("SELECT 1\n-- if a or b\n, $c\n-- end", "arguments differ"),
    ],
)
def test_the_check_finds_a_misspelt_part_or_directive_and_what_is_not_declared(body: str, message: str) -> None:
    assert message in " ".join(contradictions(sql.parse(DECLARED + body)))


def test_an_undeclared_part_is_refused_when_it_is_requested():
    source = f"{DECLARED}SELECT 1\n-- if a or b\n, 2\n-- end"
    assert "2" in str(sql.parse(source).compiled("b"))
    with pytest.raises(ValueError, match="unknown parts"):
        sql.parse(source).compiled("aa")
    with pytest.raises(ValueError, match="unknown parts"):
        sql.statement("hybrid", "vectro")


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
