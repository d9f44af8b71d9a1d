"""`stepwell ingest` fetches pages by their addresses."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import harness
import web_site
from app.cli.backends import local_ingest
from app.cli.backends.ingesting import Files, Summary
from web_site import response

from app import runtime
from app.cli import options


async def test_pages_are_stored_and_counted_as_files_are(data_dir: Path) -> None:
    user_id, settings = harness.new_user(), options.settings(data_dir)
    async with web_site.opened() as site, runtime.open_services(settings) as opened:
        site.answers = {
            "/lime.md": response(b"# Lime\n\nMortar.", etag='"1"'),
            "/rows.csv": response(b"name,text\na,first\nb,second\n"),
            "/picture": response(b"\x89PNG\r\n"),
        }
        addresses = [f"http://docs.example.com{path}" for path in (*site.answers, "/none")]
        services = dataclasses.replace(opened, pages=site.fetcher())
        first = Summary()
        await local_ingest.store_pages(Files([], addresses=addresses), first, user_id, services)
        site.answers["/lime.md"] = response(status="304 Not Modified")
        again = Summary()
        await local_ingest.store_pages(Files([], addresses=addresses[:2]), again, user_id, services)
    assert first.counts == {"added": 3}
    assert {name: (count.files, count.documents) for name, count in first.formats.items()} == {
        "markdown": (1, 1),
        "csv": (1, 2),
        "picture": (1, 0),
    }
    assert [place for place, _reason in first.failures] == addresses[2:]
    assert again.counts == {"unchanged": 3}


def test_an_address_of_this_machine_fails_and_a_dry_run_fetches_nothing(stepwell) -> None:
    address = "http://127.0.0.1:1/lime.md"
    failed = stepwell("ingest", address, "--json")
    assert failed.code == 1
    assert failed.json["failures"][0]["path"] == address
    assert "not public" in failed.json["failures"][0]["reason"]
    planned = stepwell("ingest", address, "--dry-run", "--json")
    assert (planned.code, planned.json["pages"], planned.json["files"]) == (0, 1, 0)
