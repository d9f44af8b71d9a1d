"""`stepwell documents` lists, shows and deletes documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import pytest

from app.cli import options

Stepwell = Callable[..., Any]


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


def test_documents_are_listed_with_whole_ids_and_shown_by_id_or_uri(stepwell: Stepwell, user: str) -> None:
    listed = stepwell("documents", "list", "--user", user, "--json").json
    assert {document["title"] for document in listed} >= {"Mortar [lime]"}
    assert len(listed) == 2
    table = stepwell("documents", "list", "--user", user).out
    for document in listed:
        assert document["document_id"] in table
    assert "Mortar [lime]" in " ".join(table.split())
    assert len(stepwell("documents", "list", "--user", user, "--limit", 1, "--json").json) == 1
    mortar = next(document for document in listed if document["title"] == "Mortar [lime]")
    shown = stepwell("documents", "show", mortar["document_id"], "--user", user)
    assert "Lime sets slowly." in shown.out
    assert '"masons"' in shown.out
    assert stepwell("documents", "show", mortar["uri"], "--user", user, "--json").json["content"] == "Lime sets slowly."


def test_a_file_is_shown_by_its_path_and_named_by_path_or_uri(
    stepwell: Stepwell, user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "Boje ü.txt"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(options.out, "_width", 300)
    assert str(path) in stepwell("documents", "list", "--user", user).out
    for named in (path, path.as_uri(), f"file://{path}", path.name):
        shown = stepwell("documents", "show", named, "--user", user)
        assert f"uri: {path}" in shown.out, named
        why = stepwell("why", "gannet", named, "--user", user)
        assert why.code == 0, named
    assert stepwell("documents", "show", "other.txt", "--user", user).code != 0
    assert stepwell("documents", "delete", path, "--yes", "--user", user).code == 0


@pytest.mark.parametrize("columns", ["20", "60"])
def test_ids_stay_whole_on_a_narrow_terminal(
    stepwell: Stepwell, user: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    (first, second) = stepwell("documents", "list", "--user", user, "--json").json
    table = stepwell("documents", "list", "--user", user).out
    assert first["document_id"] in table
    assert second["document_id"] in table


def test_a_deleted_document_is_gone_and_another_users_is_not_found(stepwell: Stepwell, user: str) -> None:
    first, second = stepwell("documents", "list", "--user", user, "--json").json
    assert stepwell("documents", "delete", first["document_id"], "--user", harness.new_user(), "--yes").code == 1
    deleted = stepwell("documents", "delete", first["document_id"], "--user", user, "--yes", "--json")
    assert json.loads(deleted.out)["documents_deleted"] == 1
    assert [left["document_id"] for left in stepwell("documents", "list", "--user", user, "--json").json] == [
        second["document_id"]
    ]
    missing = stepwell("documents", "show", first["uri"], "--user", user)
    assert missing.code == 1
    assert "no document" in missing.err


def test_documents_are_deleted_by_filter(stepwell: Stepwell, user: str) -> None:
    masons = ("--filters", '{"metadata": {"team": "masons"}}', "--user", user)
    counted = stepwell("documents", "delete", *masons, "--dry-run", "--json")
    assert counted.json["matched"]["documents"] == 1
    assert len(stepwell("documents", "list", "--user", user, "--json").json) == 2
    deleted = stepwell("documents", "delete", *masons, "--yes", "--json").json
    assert deleted["documents_deleted"] == 1
    assert [left["title"] for left in stepwell("documents", "list", "--user", user, "--json").json] == ["Boje ü.txt"]
    assert stepwell("documents", "delete", "--all", "--user", user, "--yes").out.startswith("Deleted 1 document ")


@pytest.mark.parametrize("wrong", [(), ("--filters", "{}"), ("--filters", '{"document_ids": []}', "--all")])
def test_an_empty_or_twofold_selection_deletes_nothing(stepwell: Stepwell, user: str, wrong: tuple[str, ...]) -> None:
    assert stepwell("documents", "delete", *wrong, "--user", user, "--yes").code == 2
    assert len(stepwell("documents", "list", "--user", user, "--json").json) == 2
