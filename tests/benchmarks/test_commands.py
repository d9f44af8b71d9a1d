"""The commands of `python -m benchmarks` run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from app.evaluation import beir
from benchmarks.cli import root
from benchmarks.noise import FIRST, TEAMS
from benchmarks.repository import measure
from benchmarks.volumes import Binding, bind


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        root.main()
    return int(left.value.code or 0)


def test_world_writes_a_set_that_eval_reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = ("world", "--half", "test", "--documents", 60, "--questions", 3, "--save", tmp_path / "set")
    assert run(monkeypatch, *asked) == 0
    loaded = beir.load(tmp_path / "set")
    assert len(loaded.documents) == 60
    assert loaded.entities


def test_a_mistake_is_one_sentence_and_status_2(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert run(monkeypatch, "bench", "--chunks", "12") == 2
    assert "at least 100 chunks" in capsys.readouterr().err


def test_the_files_of_the_repository_contain_the_answers_to_the_questions_about_it() -> None:
    corpus = measure.repository()
    corpus.check()
    assert len(corpus.questions) == 60


def test_every_document_becomes_one_section_of_one_volume(tmp_path: Path) -> None:
    rows = [{"_id": str(n), "title": f"Title {n}", "text": f"Lime {n}."} for n in range(10)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "lime"}\n', encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("q\t1\t1\n", encoding="utf-8")
    bound = bind(beir.load(tmp_path), Binding(size=4))
    assert len(bound.volumes) == 3
    assert sorted(documents for section in bound.sections.values() for documents in section) == [
        str(n) for n in range(10)
    ]


def test_noise_gives_every_document_names_of_the_questions_and_leaves_its_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = {"q1": "Which kiln did Ana Silva repair in Porto?", "q2": "what heats a second kiln slowly"}
    rows = [{"_id": str(n), "title": f"Title {n}", "text": f"Lime {n}.", "team": "Masons"} for n in range(12)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = "".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in texts.items())
    (tmp_path / "queries.jsonl").write_text(asked, encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("q1\t1\t1\nq2\t2\t1\n", encoding="utf-8")
    clean = beir.load(tmp_path)
    for save in ("first", "second"):
        assert run(monkeypatch, "noise", tmp_path, "--level", "harsh", "--lower", "--save", tmp_path / save) == 0
    harsh = beir.load(tmp_path / "first")
    assert harsh == beir.load(tmp_path / "second")
    assert [upload.content for upload in harsh.documents] == [upload.content for upload in clean.documents]
    assert {upload.metadata["author"] for upload in harsh.documents} == {"Ana Silva", "Porto", "Second Kiln"}
    assert {tag for upload in harsh.documents for tag in upload.metadata["tags"]} >= {"repair", "heats"}
    assert {upload.metadata["team"] for upload in harsh.documents} == {"Masons"}, "a document's own fields stay"
    assert [question.text for question in harsh.questions] == [text.lower() for text in texts.values()]
    assert run(monkeypatch, "noise", tmp_path, "--organisations", "--save", tmp_path / "plain") == 0
    plain = beir.load(tmp_path / "plain")
    assert {upload.metadata["author"].split()[0] for upload in plain.documents} <= set(FIRST)
    assert {upload.metadata["vendor"] for upload in plain.documents} <= set(TEAMS)
