"""`stepwell reembed` changes from the built-in model to another, and names the setting that is missing."""

import json

import small_models


def test_the_built_in_model_is_replaced_by_one_in_a_folder(stepwell, tmp_path, monkeypatch) -> None:
    notes, folder = tmp_path / "notes", small_models.embedder(tmp_path / "small")
    notes.mkdir()
    for name, text in {"lime": "lime mortar lime", "well": "water of the well"}.items():
        (notes / f"{name}.md").write_text(text, encoding="utf-8")
    assert stepwell("ingest", notes).code == 0
    missing = stepwell("reembed")
    assert missing.code != 0
    assert "STEPWELL_NEXT_EMBEDDER" in missing.err
    with monkeypatch.context() as other:
        other.setenv("STEPWELL_EMBEDDER", "onnx")
        other.setenv("STEPWELL_EMBEDDER_MODEL", str(folder))
        refused = stepwell("search", "water")
        assert refused.code != 0
        assert "run `stepwell reembed`" in " ".join(refused.err.split())

    monkeypatch.setenv("STEPWELL_NEXT_EMBEDDER", json.dumps({"embedder": "onnx", "model": str(folder)}))
    assert "No re-embedding is in progress." in stepwell("reembed", "--cancel").out
    assert stepwell("reembed", "--json").json == {"model": "small", "dimension": small_models.DIMENSION}
    assert "small (8 dimensions)" in stepwell("reembed").out

    found = stepwell("search", "lime mortar", "--mode", "semantic", "--json").json
    assert found["results"][0]["content"] == "lime mortar lime"
    findings = {finding["name"]: finding for finding in stepwell("doctor", "--json").json["findings"]}
    assert findings["embedding"]["level"] == findings["schema"]["level"] == "ok"
    assert findings["next_embedder"]["message"] == "small returns 8 dimensions"
    assert findings["embedding"]["message"] == "vectors of small with 8 dimensions"
    monkeypatch.delenv("STEPWELL_NEXT_EMBEDDER")
    behind = stepwell("search", "lime")
    assert behind.code != 0
    assert "back to what gives small" in " ".join(behind.err.split())
