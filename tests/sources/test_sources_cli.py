"""`stepwell sources` synchronises the documents of a folder with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import harness
import source_folder


def test_a_folder_is_added_synchronised_listed_and_removed(stepwell: Any, tmp_path: Path) -> None:
    user = ("--user", harness.new_user())
    folder = tmp_path.resolve()
    source_folder.write(folder, "lime.md", b"# Lime\n\nWe use lime.")
    source_folder.write(folder, "note.txt", b"Left out.")
    added = stepwell("sources", "add", tmp_path / ".." / tmp_path.name, "--glob", "**/*.md", *user)
    assert added.code == 0, added.err
    assert "1 added, 0 replaced" in added.out
    (listed,) = stepwell("sources", "list", "--json", *user).json
    assert (listed["path"], listed["files"], listed["globs"]) == (str(folder), 1, ["**/*.md"])
    assert listed["source_id"] in stepwell("sources", "list", *user).out
    source_folder.write(folder, "bad.md", b"\x00\x01\xff\xfe binary \x00")
    source_folder.write(folder, "lime.md", b"# Lime\n\nWe use sand.")
    synced = stepwell("sources", "sync", listed["source_id"], *user)
    assert synced.code == 1
    assert "1 replaced" in synced.out
    assert [line for line in synced.err.splitlines() if "bad.md" in line]
    assert listed["name"] == folder.name
    removed = stepwell("sources", "remove", folder.name.upper(), "--yes", *user)
    assert removed.out == "Removed the source, 1 document, 1 chunk and 1 vector.\n"
    assert stepwell("documents", "list", "--json", *user).json == []
    assert stepwell("sources", "sync", listed["source_id"], *user).code == 1
    assert (folder / "lime.md").exists()
