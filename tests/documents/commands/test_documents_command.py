"""`stepwell documents` lists, shows and deletes documents."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import pytest

from app.cli import terminal

Stepwell = Callable[..., Any]


@pytest.mark.parametrize("command", [("show",), ("delete", "--yes")])
def test_a_document_whose_path_looks_like_an_id_is_found(
    stepwell: Stepwell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    name, key = harness.new_user(), "0b0e8c9e-6f0a-4c55-9d0b-3f3a2a8d9c11"
    Path(key).write_text("Lime sets slowly.", encoding="utf-8")
    assert stepwell("ingest", key, "--user", name).code == 0
    assert stepwell("documents", *command, key, "--user", name).code == 0
    missing = stepwell("documents", *command, key[::-1], "--user", name)
    assert (missing.code, missing.err.strip()) == (1, "Error: There is no document with this id or uri.")


@pytest.fixture
def user(stepwell: Stepwell, tmp_path: Path) -> str:
    """A user with two documents."""
    name = harness.new_user()
    (tmp_path / "lime.md").write_text(
        "---\ntitle: Mortar [lime]\nteam: masons\n---\nLime sets slowly.", encoding="utf-8"
    )
    (tmp_path / "Boje ü.txt").write_text("The Gannet reports every eleven minutes.", encoding="utf-8")
    assert stepwell("ingest", tmp_path, "--user", name).code == 0
    return name


def test_documents_are_listed_shown_and_deleted_by_id_path_or_uri_and_by_no_empty_selection(
    stepwell: Stepwell, user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(terminal.out, "_width", 300)
    listed = stepwell("documents", "list", "--user", user, "--json").json
    assert len(listed) == 2
    table = stepwell("documents", "list", "--user", user).out
    path = tmp_path / "Boje ü.txt"
    for shown in (*(document["document_id"] for document in listed), str(path), "Mortar [lime]"):
        assert shown in table
    cut = stepwell("documents", "list", "--user", user, "--limit", 1, "--json")
    assert (len(cut.json), cut.err.strip()) == (1, "Warning: the list ends after 1; more exist.")
    assert stepwell("documents", "list", "--user", user, "--limit", 2).err == "", "the list is whole"
    mortar = next(document for document in listed if document["title"] == "Mortar [lime]")
    shown = stepwell("documents", "show", mortar["document_id"], "--user", user).out
    assert "Lime sets slowly." in shown
    assert '"masons"' in shown
    assert stepwell("documents", "show", mortar["uri"], "--user", user, "--json").json["content"] == "Lime sets slowly."
    for named in (path, path.as_uri(), f"file://{path}", path.name):
        assert f"uri: {path}" in stepwell("documents", "show", named, "--user", user).out, named
    assert stepwell("documents", "show", "other.txt", "--user", user).code != 0
    for wrong in ((), ("--filters", "{}"), ("--filters", '{"document_ids": []}', "--all")):
        refused = stepwell("documents", "delete", *wrong, "--user", user, "--yes")
        assert refused.code == 2, "an empty or twofold selection"
    assert len(stepwell("documents", "list", "--user", user, "--json").json) == 2
    assert stepwell("documents", "delete", path, "--yes", "--user", user).code == 0
