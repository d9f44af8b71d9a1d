"""`stepwell entities` imports, lists and shows entities."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import pytest

from app.limits import MAX_ENTITIES

Stepwell = Callable[..., Any]
LINES = [
    {"type": "team", "name": "Masons", "members": ["Ana Silva"]},
    {"type": "person", "name": "Ana Silva", "aliases": ["asilva"], "role": "mason", "description": "Knows [lime]."},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two entities as JSON lines."""
    written = tmp_path / "people.jsonl"
    written.write_text("\n".join(map(json.dumps, LINES)), encoding="utf-8")
    return written


def test_entities_are_imported_listed_and_shown_with_the_documents_that_name_them(stepwell, file, tmp_path) -> None:
    user = harness.new_user()
    (tmp_path / "note.md").write_text("# Third landing\n\nASILVA repaired it, says ana silva.", encoding="utf-8")
    assert stepwell("ingest", tmp_path / "note.md", "--user", user).code == 0
    first = stepwell("entities", "import", file, "--user", user, "--json")
    assert first.code == 0, first.err
    assert (first.json["added"], first.json["refused"]) == (2, 0)
    assert "2 unchanged" in stepwell("entities", "import", file, "--user", user).out
    listed = stepwell("entities", "list", "--user", user, "--type", "person", "--json").json
    assert [entity["name"] for entity in listed] == ["Ana Silva"]
    assert "asilva" in stepwell("entities", "list", "--user", user, "--q", "anna silva").out
    (found,) = stepwell("entities", "search", "asilva", "--type", "person", "--user", user, "--json").json["entities"]
    assert (found["name"], found["matched_by"], found["score"]) == ("Ana Silva", "name", 1.0)
    assert "role" in stepwell("entities", "search", "the mason", "--user", user).out
    shown = stepwell("entities", "show", "Ana Sillva", "--user", user, "--json").json
    assert shown["role"] == "mason"
    assert [document["mentions"] for document in shown["documents"]] == [{"text": 2}], "linked before the import ended"
    table = stepwell("entities", "show", shown["entity_id"], "--user", user)
    assert "Third landing" in table.out
    assert "Knows [lime]." in table.out


def test_a_refused_line_of_a_long_file_is_reported_and_ends_with_status_1(stepwell: Stepwell, file: Path) -> None:
    file.write_text(file.read_text(encoding="utf-8") + "\n" * MAX_ENTITIES + '{"type": "person"}', encoding="utf-8")
    ran = stepwell("entities", "import", file, "--user", harness.new_user())
    assert ran.code == 1
    assert "2 added, 0 updated, 0 unchanged, 1 refused" in ran.out
    assert f"line {MAX_ENTITIES + 2}" in ran.err


@pytest.mark.parametrize(
    ("arguments", "expected", "status"),
    [
        (("import", "/nonexistent/file.jsonl"), "cannot be read", 2),
        (("show", "Nobody At All"), "No entity", 1),
        (("show", "00000000-0000-0000-0000-000000000000"), "No such entity", 1),
    ],
)
def test_an_unknown_entity_is_reported_in_one_sentence(stepwell, arguments, expected, status) -> None:
    ran = stepwell("entities", *arguments, "--user", harness.new_user())
    assert ran.code == status
    assert expected in ran.err
