"""`stepwell ingest` fetches pages by their addresses."""

from __future__ import annotations


def test_an_address_of_this_machine_fails_and_a_dry_run_fetches_nothing(stepwell) -> None:
    address = "http://127.0.0.1:1/lime.md"
    failed = stepwell("ingest", address, "--json")
    assert failed.code == 1
    assert failed.json["failures"][0]["path"] == address
    assert "not public" in failed.json["failures"][0]["reason"]
    planned = stepwell("ingest", address, "--dry-run", "--json")
    assert (planned.code, planned.json["pages"], planned.json["files"]) == (0, 1, 0)
