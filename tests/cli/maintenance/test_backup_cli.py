"""`stepwell backup`, `stepwell restore` and `stepwell repair` on the embedded database."""

from __future__ import annotations


def test_a_database_is_backed_up_restored_and_checked(stepwell, tmp_path):
    note, file = tmp_path / "note.md", tmp_path / "stepwell.dump"
    note.write_text("# Lime\nLime mortar sets slowly.")
    assert stepwell("ingest", note).code == 0
    written = stepwell("backup", file)
    assert written.code == 0, written.err
    assert "revision" in written.out
    note.write_text("# Lime\nCement sets fast.")
    assert stepwell("ingest", note).code == 0
    refused = stepwell("restore", file)
    assert refused.code == 2
    assert "--replace" in refused.err
    restored = stepwell("restore", file, "--replace")
    assert restored.code == 0, restored.err
    assert "slowly" in stepwell("search", "lime mortar").out
    assert stepwell("repair").out.strip() == "1 users compared; nothing was wrong."
    assert stepwell("repair", "--dry-run", "--json").json["local"]["postings"] == 0


def test_a_file_that_is_no_backup_is_refused_with_its_reason(stepwell, tmp_path):
    (tmp_path / "a.dump").write_text("no dump")
    refused = stepwell("restore", tmp_path / "a.dump", "--replace")
    assert refused.code == 2
    assert "not a readable backup" in refused.err
