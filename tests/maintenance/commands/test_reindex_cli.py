"""`stepwell doctor` notices changed chunking options, and `stepwell reindex` applies them."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_change_of_the_chunk_size_is_noticed_and_applied(
    stepwell: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lime.md").write_text("# Lime\n\n" + "We use lime mortar on every stone. " * 60, encoding="utf-8")
    assert stepwell("ingest", tmp_path, "--json").json["added"] == 1
    before = stepwell("documents", "list", "--json").json[0]["chunk_count"]
    monkeypatch.setenv("STEPWELL_CHUNK_TOKENS", "60")
    findings = {finding["name"]: finding for finding in stepwell("doctor", "--json").json["findings"]}
    assert findings["chunking"]["level"] == "warning"
    assert stepwell("reindex", "--dry-run", "--json").json == {"local": 1}
    done = stepwell("reindex", "--json")
    assert done.code == 0, done.err
    assert done.json["local"]["cut"] == 1
    assert stepwell("documents", "list", "--json").json[0]["chunk_count"] > before
    assert stepwell("reindex", "--dry-run", "--json").json == {"local": 0}
    assert "0 documents compared" in stepwell("reindex").out


def test_the_documents_that_pass_filters_are_compared(stepwell: Any, tmp_path: Any) -> None:
    (tmp_path / "lime.md").write_text("---\nteam: masons\n---\nWe use lime.", encoding="utf-8")
    assert stepwell("ingest", tmp_path, "--user", "filters").code == 0
    masons = ("--user", "filters", "--filters", '{"metadata": {"team": "masons"}}')
    assert stepwell("reindex", *masons, "--dry-run", "--json").json == {"filters": 1}
    assert stepwell("reindex", *masons, "--json").json == {"filters": {"compared": 1, "cut": 0, "embedded": 0}}
    none = stepwell("reindex", "--user", "filters", "--filters", '{"metadata": {"team": "none"}}', "--json")
    assert none.json["filters"]["compared"] == 0
