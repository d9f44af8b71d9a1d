"""`stepwell backup`, `stepwell restore` and `stepwell repair` on the embedded database."""

from __future__ import annotations

import errno
import os
import resource

from app.maintenance.store import backups as storage


def test_a_database_is_backed_up_restored_and_checked(stepwell, tmp_path):
    note, file = tmp_path / "note.md", tmp_path / "stepwell.dump"
    note.write_text("# Lime\nLime mortar sets slowly.")
    assert stepwell("ingest", note).code == 0
    written = stepwell("backup", file)
    assert written.code == 0, written.err
    assert "revision" in written.out
    again = stepwell("backup", file)
    assert (again.code, "add --replace" in again.err) == (2, True)
    assert stepwell("backup", file, "--replace").code == 0
    note.write_text("# Lime\nCement sets fast.")
    assert stepwell("ingest", note).code == 0
    refused = stepwell("restore", file)
    assert refused.code == 1
    assert "--replace" in refused.err
    restored = stepwell("restore", file, "--replace")
    assert restored.code == 0, restored.err
    assert "slowly" in stepwell("search", "lime mortar").out
    assert stepwell("repair").out.strip() == "1 user compared; nothing was wrong."
    assert stepwell("repair", "--dry-run", "--json").json["local"]["postings"] == 0


def test_what_is_no_file_is_refused_before_anything_is_dumped_or_loaded(stepwell, tmp_path, monkeypatch):
    async def never(*_: object, **__: object) -> None:
        raise AssertionError("nothing is dumped")

    monkeypatch.setattr(storage, "dump", never)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for command in ("backup", "restore"):
        ran = stepwell(command, tmp_path)
        assert ran.code == 2
        assert "This is a folder: name the file in it, such as" in " ".join(ran.err.split())
    assert "would be replaced" in stepwell("backup", pipe).err
    assert "No such file" in stepwell("restore", pipe).err
    assert "The folder cannot be written: No such file or directory." in stepwell("backup", tmp_path / "x" / "a").err
    assert "File name too long" in stepwell("backup", tmp_path / ("a" * 250)).err
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_backup_that_cannot_be_put_in_its_place_is_one_sentence(stepwell, tmp_path, monkeypatch):
    def full(_path: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    assert stepwell("db", "upgrade").code == 0
    monkeypatch.setattr(os, "fsync", full)
    ran = stepwell("backup", tmp_path / "a.dump")
    assert (ran.code, os.listdir(tmp_path)) == (1, [])
    assert "could not be written to" in ran.err
    assert "No space left on device" in " ".join(ran.err.split())


def test_an_export_for_which_there_is_no_room_is_one_sentence_and_leaves_no_file(stepwell, tmp_path):
    note = tmp_path / "note.md"
    note.write_text("# Chalk\nChalk is soft.")
    assert stepwell("ingest", note).code == 0
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        ran = stepwell("users", "export", "local", tmp_path / "local.zip")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (ran.code, "The file cannot be written: File too large." in ran.err) == (2, True)
    assert os.listdir(tmp_path) == ["note.md"]
