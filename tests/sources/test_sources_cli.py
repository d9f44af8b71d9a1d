"""`stepwell sources` by way of a running service."""

from pathlib import Path
from typing import Any

import asyncpg
import pytest

POSTPONE = """
    UPDATE stepwell.jobs
    SET status = 'queued', error = 'provider_unavailable', finished_at = NULL, run_at = now() + interval '1 hour'
    WHERE user_id = $1 AND kind = 'sync_source'
"""


async def test_sources_are_named_by_path_and_jobs_are_followed_until_they_end_or_are_postponed(
    remote: Any, remote_folder: Path, user: str, owner: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = remote_folder
    (folder / "lime.md").write_text("We use lime.")
    added = await remote("sources", "add", folder, "--json")
    assert (added.code, added.json["job"]["result"]["added"]) == (0, 1), added.err
    (folder / "sand.txt").write_bytes("Größe der Tür aus Sand".encode("latin-1"))
    synced = await remote("sources", "sync", "./notes")
    assert (synced.code, "1 unchanged" in synced.out) == (0, True)
    assert "warning sand.txt: not UTF-8: read as Windows-1252" in synced.err
    (folder / "sand.txt").unlink()
    (folder / "bad.md").write_bytes(b"\x00\x01\xff\xfe binary \x00")
    failed = await remote("sources", "sync", added.json["source_id"])
    assert (failed.code, [line for line in failed.err.splitlines() if "bad.md" in line] != []) == (1, True)
    (folder / "bad.md").unlink()
    listed = (await remote("sources", "list")).out
    assert added.json["source_id"] in listed
    assert "provider_unavailable" not in listed
    jobs = (await remote("jobs", "list", "--limit", 3, "--json")).json
    assert {job["kind"] for job in jobs} >= {"sync_source"}
    assert (await remote("jobs", "show", jobs[0]["job_id"], "--json")).json["job_id"] == jobs[0]["job_id"]
    assert "has ended" in (await remote("jobs", "cancel", jobs[0]["job_id"])).err
    await owner.execute(POSTPONE, user)
    postponed = await remote("sources", "sync", folder)
    assert (postponed.code, postponed.out) == (1, "")
    assert "The job failed: provider_unavailable. The service tries again at " in postponed.err
    assert "provider_unavailable" in (await remote("sources", "list")).out
    outside = await remote("sources", "add", "/", "--json")
    assert (outside.code, outside.json["error"]["code"]) == (1, "folder_not_allowed")
    for command in (("sync", "none"), ("remove", "none", "--yes")):
        unknown = await remote("sources", *command, "--json")
        assert (unknown.code, unknown.json["error"]["code"]) == (1, "not_found")
    monkeypatch.chdir(folder)
    assert (await remote("sources", "remove", ".", "--yes")).out.startswith("Removed the source, 1 document, 1 chunk")
    assert (folder / "lime.md").exists()
