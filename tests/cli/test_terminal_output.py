"""No control character of stored text reaches the terminal, and tables show every value in full in 80 columns."""

import asyncio
import io
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import harness
import pytest
import server_folders
from rich.console import Console

from app import capability
from app.cli import terminal
from app.database.embedded.postgres import EmbeddedPostgres
from app.database.schema import tables

Stepwell = Callable[..., Any]
HOSTILE = "\x1b]0;owned\x07\x1b[2Jred\x9b31m\x7f\x08\r\u202egnp"
"""Text that sets the title of a terminal, clears it, colours it, overwrites a line and turns the reading order."""
SHOWN = (
    *("documents.title", "documents.content", "chunks.content", "entities.role", "entities.description"),
    *("sources.name", "feedback.query"),
)
"""Columns whose texts commands show."""
WITHOUT_STORED_TEXT = {"serve", "serve-process", "worker", "mcp", "demo", "openapi", "doctor", "db", "keys"}
WITHOUT_STORED_TEXT |= {"backup", "restore", "repair", "reindex", "reembed", "calibrate"}
"""Commands that print counts, names of settings and what the caller has named, or that print no result."""


@pytest.fixture(scope="module")
def user(data_dir: Path) -> str:
    return harness.new_user()


@pytest.fixture
def hostile(
    stepwell: Stepwell, server: EmbeddedPostgres, user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """A user whose stored texts have control characters in every place that a command shows."""
    monkeypatch.setenv("STEPWELL_SOURCE_ROOTS", str(tmp_path))
    folder = tmp_path / "notes"
    folder.mkdir()
    note = "---\nteam: masons\n---\n# Lime\n\nAna Silva says that lime sets."
    (folder / "lime.md").write_text(note, encoding="utf-8")
    entity = tmp_path / "people.jsonl"
    entity.write_text(json.dumps({"type": "person", "name": "Ana Silva", "role": "mason", "facts": ["Old."]}))
    synonyms = tmp_path / "synonyms.txt"
    synonyms.write_text("lime, mortar\n", encoding="utf-8")
    assert stepwell("ingest", folder, "--user", user).code == 0
    hit = stepwell("search", "lime", "--user", user, "--json").json["results"][0]
    for command in (
        ("sources", "add", folder),
        ("entities", "import", entity),
        ("synonyms", "set", synonyms),
        ("feedback", "give", "lime", hit["chunk_id"], "--helpful"),
    ):
        if command[0] in capability.commands():
            assert stepwell(*command, "--user", user).code == 0
    asyncio.run(_corrupt(server, user))
    return hit


async def _corrupt(server: EmbeddedPostgres, user: str) -> None:
    """Appends HOSTILE to the stored texts, as a version without checks, or another program, would have stored them."""
    changes = [
        f"{table} SET {column} = coalesce({column}, '') || $2"
        for table, _, column in (one.partition(".") for one in SHOWN)
        if table in {one.name for one in tables.of_users()}
    ]
    for change in (*changes, "jobs SET status = 'failed', error = $2, finished_at = now()"):
        statement = f"UPDATE stepwell.{change} WHERE user_id = $1"
        await server_folders.fetch(server, statement, user, HOSTILE)


def test_no_command_prints_a_control_character_of_stored_text(stepwell, hostile, user, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n" * 99))  # answers to questions whether to delete
    uri, jobs = hostile["uri"], stepwell("jobs", "list", "--user", user, "--json").json[:1]
    shown: dict[str, list[tuple[object, ...]]] = {
        "search": [("lime",)],
        "multihop": [("Who says that lime sets?",)],
        "why": [("lime", hostile["chunk_id"])],
        "documents": [("list",), ("show", uri), ("delete", uri)],
        "entities": [("list",), ("search", "Ana Silva"), ("show", "Ana Silva")],
        "facets": [(), ("team",)],
        "stats": [()],
        "sources": [("list",), ("remove", "notes"), ("sync", tmp_path / "notes")],
        "jobs": [("list",), *((verb, job["job_id"]) for job in jobs for verb in ("show", "cancel"))],
        "synonyms": [("list",)],
        "feedback": [("export", tmp_path / "judged")],
        "ingest": [(tmp_path / "notes",)],
        "eval": [(tmp_path / HOSTILE.replace("/", ""),)],
    }
    of_owner: dict[str, list[tuple[object, ...]]] = {"audit": [()], "users": [("list",)]}
    assert shown.keys() | of_owner.keys() | WITHOUT_STORED_TEXT >= capability.commands().keys()
    for name, each in (shown | of_owner).items():
        if name not in capability.commands():
            continue
        whose = () if name in of_owner or name == "eval" else ("--user", user)
        as_json = [(*each[0], "--json")] if name in ("search", "documents") else []
        for arguments in (*each, *as_json):
            ran = stepwell(name, *arguments, *whose)
            said = ran.out + ran.err
            assert "Traceback" not in said, (name, said)
            assert not _controls(said), (name, arguments, said)


def _controls(said: str) -> set[str]:
    """The control characters of a text besides ends of lines, and those that turn the reading order."""
    return {one for one in said if unicodedata.category(one) == "Cc" and one != "\n"} | (set(said) & {"\u202e"})


def test_printable_text_stays_as_it_is() -> None:
    assert terminal.printable("Käse – ʻOkina\t日本\n👩‍🚀") == "Käse – ʻOkina\t日本\n👩‍🚀"
    assert terminal.printable(HOSTILE) == "]0;owned[2Jred31mgnp"


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Console:
    """What commands print on a terminal of 80 columns."""
    recorded = Console(width=80, record=True, highlight=False)
    monkeypatch.setattr(terminal, "out", recorded)
    return recorded


def test_long_values_wrap_and_ids_stay_whole(printed: Console) -> None:
    table = terminal.table("document", "chunks", "changed", ids=("document",))
    ids = [str(uuid4()) for _ in range(2)]
    for document_id, title in zip(ids, ("Reset of the Gannet " * 8, "Ω" * 90), strict=True):
        uri = f"file:///srv/notes/{'deep/' * 20}reset.md"
        table.add_row(terminal.cell(title, uri, identity=document_id), "1,234", terminal.moment("2026-01-02T03:04:05Z"))
    terminal.print_table(table)
    lines = printed.export_text().splitlines()
    assert max(map(len, lines)) == 80
    for shown in (*ids, "2026-01-02", "03:04", "1,234"):
        assert any(shown in line for line in lines), shown
    letters = "".join(line.strip("│").partition("│")[0].strip() for line in lines)
    assert (letters.count("Gannet"), letters.count("deep/"), letters.count("Ω")) == (8, 40, 90)
