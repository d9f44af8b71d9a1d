"""`stepwell backup`, `stepwell restore` and `stepwell repair` on the embedded database."""

import errno
import os

from app.text.words import cleaning


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
    assert "contains 1 user and 0 API keys. Restore into an empty database, or add --replace" in refused.err
    restored = stepwell("restore", file, "--replace")
    assert restored.code == 0, restored.err
    assert "slowly" in stepwell("search", "lime mortar").out
    assert stepwell("repair").out.strip() == "1 user compared; nothing was wrong."
    assert stepwell("repair", "--dry-run", "--json").json["local"]["postings"] == 0
    for command in ("repair", "reindex"):
        unknown = stepwell(command, "--user", "local", "--user", "Local")
        assert (unknown.code, unknown.err) == (1, "Error: Nothing is stored for the user 'Local'.\n")


def test_a_restored_backup_of_an_earlier_version_asks_for_a_reindex(stepwell, tmp_path, monkeypatch, caplog):
    note, file = tmp_path / "note.md", tmp_path / "stepwell.dump"
    note.write_text("# Lime\nLime mortar sets slowly.")
    assert stepwell("ingest", note).code == stepwell("backup", file).code == 0
    monkeypatch.setattr(cleaning, "VERSION", cleaning.VERSION + 1)
    assert stepwell("restore", file, "--replace").code == 0
    assert "stepwell reindex" in caplog.text


def test_a_backup_that_cannot_be_put_in_its_place_is_one_sentence(stepwell, tmp_path, monkeypatch):
    def full(_path: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    assert stepwell("db", "upgrade").code == 0
    monkeypatch.setattr(os, "fsync", full)
    ran = stepwell("backup", tmp_path / "a.dump")
    assert (ran.code, os.listdir(tmp_path)) == (1, [])
    assert "could not be written to" in ran.err
    assert "No space left on device" in " ".join(ran.err.split())
