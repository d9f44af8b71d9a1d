"""With `--url` commands use a running service: the same output, errors and statuses, and no database."""

import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import made_files
import pytest

from app import capability
from app.cli import client

ROOT = Path(__file__).parents[3]
Command = Callable[..., Awaitable[Any]]


async def test_documents_are_ingested_found_listed_and_deleted(remote: Command, remote_folder: Path) -> None:
    notes = remote_folder
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

    listed = (await remote("documents", "list", "--query", "mortar", "--json")).json
    assert [document["title"] for document in listed] == ["Mortar"]
    assert "masons" in (await remote("documents", "show", notes / "lime.md")).out
    assert (await remote("stats", "--json")).json["documents"] == 2
    masons = ("documents", "delete", "--filters", '{"metadata": {"team": "masons"}}')
    assert (await remote(*masons, "--dry-run")).out == "1 document with 1 chunk would be deleted.\n"
    assert (await remote(*masons, "--yes")).out == "Deleted 1 document with 1 chunk.\n"
    assert (await remote("documents", "delete", notes / "tide.txt", "--yes")).code == 0
    assert (await remote("documents", "list", "--json")).json == []


async def test_a_document_without_title_and_uri_is_listed_by_its_first_words(remote, address_of_service) -> None:
    key = {"Authorization": f"Bearer {os.environ['STEPWELL_API_KEY']}"}
    content = "Tide tables come from the harbour office, and are printed there every spring."
    async with httpx.AsyncClient(base_url=address_of_service, headers=key) as http:
        (await http.post("/api/rag/documents", json={"content": content})).raise_for_status()
    assert "Tide tables come from the harbour office, and …" in (await remote("documents", "list")).out
    found = (await remote("search", "tide tables")).out
    assert "│ Tide tables come from the harbour office" in found, "no empty line in place of the title"


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
    too_long = await remote("facets", "--filters", f'{{"folder": "{70_000 * "a"}"}}')
    assert (too_long.code, "shorten the filters" in too_long.err) == (2, True)
    assert (await remote("documents", "show", "none.md")).code == 1
    usage = await remote("search", "lime", "--limit", "no", "--json")
    assert (usage.code, usage.json["error"]["code"]) == (2, "usage")
    monkeypatch.setenv("STEPWELL_API_KEY", "sw_0123456789ab_no")
    unknown = await remote("stats", "--json")
    assert (unknown.code, unknown.json["error"]["code"]) == (1, "unauthorized")
    monkeypatch.setenv("STEPWELL_URL", "http://127.0.0.1:9")
    assert "is it running?" in " ".join((await remote("stats")).err.split())


async def test_a_service_on_this_machine_is_not_called_by_a_proxy(remote, address_of_service, monkeypatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    assert (await remote("stats")).code == 0
    monkeypatch.setenv("STEPWELL_URL", "http://search.example.com")
    assert "is it running?" in " ".join((await remote("stats")).err.split()), "SOCKS is supported"
    monkeypatch.setenv("ALL_PROXY", "proxy:port")
    refused = await remote("stats", "--json")
    assert refused.code == 2
    assert "ALL_PROXY is not the address of a proxy" in refused.json["error"]["detail"]


def test_a_command_by_way_of_a_service_imports_neither_the_search_core_nor_the_settings() -> None:
    commands = capability.commands().values()
    modules = {one.place.partition(":")[0] for one in commands if one.group in ("search", "store")}
    modules = [*sorted(modules - {"documents.commands.ingest"}), "cli.client", "__main__"]
    opened = "from app.cli import client_options; client_options.open_client('http://127.0.0.1:9', None, None, None)"
    report = f"{opened}; import sys; {'; '.join(f'import app.{name}' for name in modules)}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, check=True)
    imported = set(ran.stdout.split())
    libraries = {"sqlalchemy", "asyncpg", "onnxruntime", "numpy", "fastapi", "pydantic_settings"}
    assert not imported & (libraries | {"app.settings", "app.runtime"})
    assert "asyncio" not in imported
    own = ("app.database", "app.models", "app.query.search_types", "app.http", "app.search.search")
    assert not [name for name in imported if name.startswith(own)]


def test_the_proxy_of_the_docs_waits_as_long_as_a_command() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    (seconds,) = re.findall(r"proxy_read_timeout (\d+)s;", page)
    assert int(seconds) >= client.TIMEOUT.read
