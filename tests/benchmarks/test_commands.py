"""The commands of `python -m benchmarks` run."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks.cli import root
from benchmarks.repository import measure


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        root.main()
    return int(left.value.code or 0)


def test_a_mistake_is_one_sentence_and_status_2(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert run(monkeypatch, "bench", "--chunks", "12") == 2
    assert "at least 100 chunks" in capsys.readouterr().err


def test_the_files_of_the_repository_contain_the_answers_to_the_questions_about_it() -> None:
    corpus = measure.repository()
    corpus.check()
    assert len(corpus.questions) == 60
