"""`stepwell reindex` applies changed chunking options."""


def test_a_change_of_the_chunk_size_is_noticed_and_applied(stepwell, tmp_path, monkeypatch) -> None:
    (tmp_path / "lime.md").write_text("# Lime\n\n" + "We use lime mortar on every stone. " * 60, encoding="utf-8")
    assert stepwell("ingest", tmp_path, "--json").json["added"] == 1
    before = stepwell("documents", "list", "--json").json[0]["chunk_count"]
    monkeypatch.setenv("STEPWELL_CHUNK_TOKENS", "60")
    assert stepwell("reindex", "--dry-run", "--json").json == {"local": 1}
    done = stepwell("reindex", "--json")
    assert done.code == 0, done.err
    assert done.json["local"]["cut"] == 1
    assert stepwell("documents", "list", "--json").json[0]["chunk_count"] > before
    assert stepwell("reindex", "--dry-run", "--json").json == {"local": 0}
    assert "0 documents compared" in stepwell("reindex").out
