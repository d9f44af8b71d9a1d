"""With `--url` commands use a running service: the same output, errors and statuses, and no database."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import harness
import httpx
import made_files
import pytest

from app.database.transactions import Database
from app.services import Services
from app.settings import Settings
from app.sources.types import SourceRoots

ROOT = Path(__file__).parents[3]
Command = Callable[..., Awaitable[Any]]
POSTPONE = """
    UPDATE stepwell.jobs
    SET status = 'queued', error = 'provider_unavailable', finished_at = NULL, run_at = now() + interval '1 hour'
    WHERE user_id = $1 AND kind = 'sync_source'
"""
ANA = {"type": "person", "name": "Ana Silva", "aliases": ["asilva"], "role": "mason"}


@pytest.fixture(scope="session")
def template(wide_template: str) -> str:
    """Databases here are for vectors of the offline model's length."""
    return wide_template


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder below which sources may be added."""
    return tmp_path_factory.mktemp("root").resolve()


@pytest.fixture(scope="module")
async def address_of_service(database: Database, root: Path) -> AsyncIterator[str]:
    roots = SourceRoots((root,), per_user=False)
    services: Services = (await harness.services(database)).with_option(roots)
    async with harness.running(Settings(auth="api_key"), services) as app, harness.listening(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def folder(root: Path, user: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of the test whose parent is the working folder."""
    made = root / user / "notes"
    made.mkdir(parents=True)
    monkeypatch.chdir(made.parent)
    return made


@pytest.fixture
async def remote(
    run_command: Callable[..., Any],
    address_of_service: str,
    database: Database,
    user: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Command:
    """Runs a command by way of the service, as a user of the test."""
    monkeypatch.setenv("STEPWELL_URL", address_of_service)
    monkeypatch.setenv("STEPWELL_API_KEY", await harness.create_key(database, user))
    monkeypatch.setenv("COLUMNS", "300")

    async def run(*arguments: object) -> Any:
        return await asyncio.to_thread(run_command, *arguments)

    return run


async def test_documents_are_ingested_found_explained_listed_and_deleted(remote: Command, folder: Path) -> None:
    notes = folder
    (notes / "lime.md").write_text("---\ntitle: Mortar\nteam: masons\n---\n# Mortar\n\nBelow the landing we use lime.")
    (notes / "tide.txt").write_text("The Gannet reports every eleven minutes.")
    (notes / "blank.rtf").write_text(r"{\rtf1 }")
    (notes / "Call the roofer.md").touch()
    (notes / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (notes / "packed.zip").write_bytes(
        made_files.archive({"sand.md": "Sand is washed.", "inner.zip": made_files.archive({})})
    )
    first = await remote("ingest", notes, "--json")
    assert (first.code, first.json["added"], first.json["failed"]) == (1, 4, 2)
    assert [one["path"] for one in first.json["failures"]] == [f"{notes}/blank.rtf", f"{notes}/packed.zip/inner.zip"]
    assert first.json["left_out"]["binary"] == {"count": 1, "examples": ["photo.png"]}, "the service has no OCR"
    for name in ("Call the roofer.md", "packed.zip/sand.md"):
        assert (await remote("documents", "delete", notes / name, "--yes")).code == 0
    again = await remote("ingest", notes / "lime.md")
    assert again.out.startswith("0 added, 0 replaced, 1 unchanged, 0 failed; 1 chunk in 0:00:")
    assert (await remote("ingest", notes, "--dry-run", "--json")).json["files"] == 6

    found = await remote("search", "lime landing", "--limit", 1)
    assert found.out.count("Mortar") == 1, "the heading of the passage is that of the document"
    assert "lime.md" in found.out
    (hit,) = (await remote("search", "lime landing", "--limit", 1, "--json")).json["results"]
    assert hit["uri"] == str(notes / "lime.md")
    assert (await remote("multihop", "lime landing", "--json")).json["hops"][0]["hop"] == 1
    assert (await remote("why", "lime", notes / "tide.txt", "--limit", 1, "--json")).json["title"] == "tide.txt"
    assert "reason: " in (await remote("why", "lime", notes / "tide.txt", "--limit", 1)).out
    missing = await remote("why", "lime", "no/such.md")
    assert (missing.code, "No such passage: no/such.md" in missing.err) == (1, True)

    listed = (await remote("documents", "list", "--query", "mortar", "--json")).json
    assert [document["title"] for document in listed] == ["Mortar"]
    assert "masons" in (await remote("documents", "show", notes / "lime.md")).out
    assert (await remote("stats", "--json")).json["documents"] == 2
    (team,) = (await remote("facets", "team", "--json")).json["facets"]
    assert team["values"] == [{"value": "masons", "documents": 1}]
    masons = ("documents", "delete", "--filters", '{"metadata": {"team": "masons"}}')
    assert (await remote(*masons, "--dry-run")).out == "1 document with 1 chunk would be deleted.\n"
    assert (await remote(*masons, "--yes")).out == "Deleted 1 document with 1 chunk.\n"
    assert (await remote("documents", "delete", notes / "tide.txt", "--yes")).code == 0
    assert (await remote("documents", "list", "--json")).json == []


async def test_a_document_without_title_and_uri_is_listed_by_its_first_words(
    remote: Command, address_of_service: str
) -> None:
    key = {"Authorization": f"Bearer {os.environ['STEPWELL_API_KEY']}"}
    content = "Tide tables come from the harbour office, and are printed there every spring."
    async with httpx.AsyncClient(base_url=address_of_service, headers=key) as http:
        (await http.post("/api/rag/documents", json={"content": content})).raise_for_status()
    assert "Tide tables come from the harbour office, and …" in (await remote("documents", "list")).out
    found = (await remote("search", "tide tables")).out
    assert "│ Tide tables come from the harbour office" in found, "no empty line in place of the title"


async def test_sources_are_named_by_path_and_jobs_are_followed_until_they_end_or_are_postponed(
    remote: Command, folder: Path, user: str, owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "lime.md").write_text("We use lime.")
    added = await remote("sources", "add", folder, "--json")
    assert (added.code, added.json["job"]["result"]["added"]) == (0, 1), added.err
    synced = await remote("sources", "sync", "./notes")
    assert (synced.code, "1 unchanged" in synced.out) == (0, True)
    (folder / "bad.md").write_bytes(b"\x00\x01\xff\xfe binary \x00")
    failed = await remote("sources", "sync", added.json["source_id"])
    assert (failed.code, [line for line in failed.err.splitlines() if "bad.md" in line] != []) == (1, True)
    (folder / "bad.md").unlink()
    assert added.json["source_id"] in (await remote("sources", "list")).out
    jobs = (await remote("jobs", "list", "--limit", 3, "--json")).json
    assert {job["kind"] for job in jobs} >= {"sync_source"}
    assert (await remote("jobs", "show", jobs[0]["job_id"], "--json")).json["job_id"] == jobs[0]["job_id"]
    assert "has ended" in (await remote("jobs", "cancel", jobs[0]["job_id"])).err
    await owner.execute(POSTPONE, user)
    postponed = await remote("sources", "sync", folder)
    assert (postponed.code, postponed.out) == (1, "")
    assert "The job failed: provider_unavailable. The service tries again at " in postponed.err
    outside = await remote("sources", "add", "/", "--json")
    assert (outside.code, outside.json["error"]["code"]) == (1, "folder_not_allowed")
    monkeypatch.chdir(folder)
    assert (await remote("sources", "remove", ".", "--yes")).out.startswith("Removed the source, 1 document, 1 chunk")
    assert (folder / "lime.md").exists()


async def test_entities_synonyms_and_feedback_are_stored_and_read(remote: Command, tmp_path: Path) -> None:
    file = tmp_path / "people.jsonl"
    file.write_text("\n".join(map(json.dumps, (ANA, {"type": "team", "name": "Masons", "members": ["asilva"]}))))
    assert (await remote("entities", "import", file)).out.startswith("2 added, ")
    assert [one["name"] for one in (await remote("entities", "list", "--type", "team", "--json")).json] == ["Masons"]
    assert (await remote("entities", "search", "asilva", "--json")).json["entities"][0]["name"] == "Ana Silva"
    shown = (await remote("entities", "show", "Ana Sillva", "--json")).json
    assert (shown["role"], shown["documents"]) == ("mason", [])
    assert "mason" in (await remote("entities", "show", shown["entity_id"])).out

    file.write_text("boiler, furnace\n\nalone\n")
    wrong = await remote("synonyms", "set", file)
    assert (wrong.code, "(line 3)" in wrong.err) == (2, True)
    file.write_text("boiler, furnace\nvehicle => car, lorry\n")
    assert (await remote("synonyms", "set", file)).out == "2 groups, 5 words and phrases.\n"
    assert (await remote("synonyms", "list")).out == "boiler, furnace\nvehicle => car, lorry\n"
    assert (await remote("synonyms", "clear", "--json")).json == {"groups": 0, "terms": 0}

    file.with_name("lime.md").write_text("We use lime.")
    assert (await remote("ingest", file.with_name("lime.md"))).code == 0
    (hit,) = (await remote("search", "lime", "--json")).json["results"]
    for passage in (hit["chunk_id"], hit["document_id"], file.with_name("lime.md")):
        given = await remote("feedback", "give", "lime", passage, "--helpful", "--json")
        assert given.json == {"document_id": hit["document_id"], "helpful": True}
    assert (await remote("feedback", "give", "lime", passage, "--withdraw")).out == "Withdrawn.\n"
    assert (await remote("feedback", "give", "lime", UUID(int=0), "--helpful")).code == 1


async def test_errors_of_the_service_are_those_of_a_database(remote: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ("search", "lime", "--filters", '{"metadata": {"year": {"$gt": 3}}}')
    refused = await remote(*wrong, "--json")
    assert (refused.code, refused.json["error"]["code"]) == (2, "unknown_operator")
    assert refused.json["error"]["field"] == "filters.metadata.year"
    assert "(filters.metadata.year)" in (await remote(*wrong)).err
    for arguments in (("search", "lime", "--user", "ana", "--url", "http://127.0.0.1:9"), ("search", " ")):
        assert (await remote(*arguments)).code == 2
    for unusable in ('{"metadata": {"a": 1e999}}', '{"metadata": {"a": "\\ud800"}}'):
        assert (await remote("search", "lime", "--filters", unusable)).code == 2
    assert (await remote("documents", "show", "none.md")).code == 1
    usage = await remote("search", "lime", "--limit", "no", "--json")
    assert (usage.code, usage.json["error"]["code"]) == (2, "usage")
    monkeypatch.setenv("STEPWELL_API_KEY", "sw_0123456789ab_no")
    unknown = await remote("stats", "--json")
    assert (unknown.code, unknown.json["error"]["code"]) == (1, "unauthorized")
    monkeypatch.setenv("STEPWELL_URL", "http://127.0.0.1:9")
    assert "is it running?" in " ".join((await remote("stats")).err.split())


async def test_a_printed_configuration_has_a_placeholder_only_where_the_service_asks_for_a_key(
    remote: Command, address_of_service: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STEPWELL_API_KEY")
    async with (
        harness.running(Settings(auth="none"), await harness.services(database)) as app,
        harness.listening(app) as port,
    ):
        for program in ("claude-desktop", "claude-code", "cursor", "vscode"):
            printed = ("mcp", "--print-config", program, "--url")
            assert "YOUR_API_KEY" not in (await remote(*printed, f"http://127.0.0.1:{port}")).out
            assert "YOUR_API_KEY" in (await remote(*printed, address_of_service)).out


def test_a_command_by_way_of_a_service_imports_neither_the_search_core_nor_the_settings() -> None:
    modules = ("search.commands.search", "multihop.commands", "search.steps.why.commands", "feedback.commands")
    modules += ("search.steps.synonyms.commands", "documents.commands.documents")
    modules += ("sources.commands", "jobs.commands", "entities.commands", "facets.commands", "cli.client", "__main__")
    opened = "from app.cli import connecting; connecting.open_client('http://127.0.0.1:9', None, None, None)"
    report = f"{opened}; import sys; {'; '.join(f'import app.{name}' for name in modules)}; print(*sys.modules)"
    report += "; import app.agents.mcp.commands; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, check=True)
    remote, with_bridge = (set(line.split()) for line in ran.stdout.splitlines())
    libraries = {"sqlalchemy", "asyncpg", "onnxruntime", "numpy", "fastapi", "pydantic_settings", "mcp", "mcp_types"}
    assert not with_bridge & (libraries | {"app.settings", "app.runtime"})
    assert "asyncio" not in remote
    own = ("app.database", "app.models", "app.query.types", "app.http", "app.search.search")
    assert not [name for name in with_bridge if name.startswith(own)]
