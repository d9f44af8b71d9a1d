"""A calibration is fitted to judgements, stored and removed."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import pytest

from app import samples

Stepwell = Callable[..., Any]
QUERIES = [question.text for question in samples.QUESTIONS[:6]]


@pytest.fixture(scope="module")
def user() -> str:
    return harness.new_user()


def test_a_folder_of_judgements_is_fitted_to_and_reset(stepwell: Stepwell, tmp_path: Path, user: str) -> None:
    assert stepwell("ingest", samples.NOTES / "teams", samples.NOTES / "decisions", "--user", user).code == 0
    folder, foreign = tmp_path / "judged", tmp_path / "foreign"
    for path, queries in ((folder, QUERIES), (foreign, ("capital of France", "height of Everest", "price of gold"))):
        path.mkdir()
        rows = [json.dumps({"_id": str(number), "text": text}) for number, text in enumerate(queries)]
        (path / "queries.jsonl").write_text("\n".join(rows), encoding="utf-8")
    uris = [row["uri"] for row in stepwell("documents", "list", "--user", user, "--json").json]
    # Every document but one is relevant to every question, which no default expects.
    lines = [f"{number}\t{uri}\t1" for number in range(len(QUERIES)) for uri in uris[1:]]
    (folder / "qrels.tsv").write_text("\n".join(lines), encoding="utf-8")

    ran = stepwell("calibrate", folder, "--unanswerable", foreign, "--user", user)
    assert ran.code == 0, ran.err
    assert "Stored" in ran.out
    assert {"Brier", "before", "after"} <= set(re.findall(r"\w+", ran.out))
    answer = stepwell("search", QUERIES[0], "--user", user, "--json", "--explain").json
    assert answer["explain"]["relevance"]["calibration"]["relevance"]["intercept"] > 0
    assert stepwell("calibrate", "--reset", "--user", user).code == 0
    answer = stepwell("search", QUERIES[0], "--user", user, "--json", "--explain").json
    assert answer["explain"]["relevance"]["calibration"] is None

    wrong = stepwell("calibrate", folder, "--reset", "--user", user)
    assert wrong.code == 2
    assert "Give a folder, or --reset." in wrong.err


def test_a_question_without_an_answer_is_said_to_have_none(stepwell: Stepwell, user: str) -> None:
    assert "No answer likely" in stepwell("search", "What is the capital of France?", "--user", user).out
    assert "No answer likely" in stepwell("multihop", "What is the capital of France?", "--user", user).out
    assert "No answer likely" not in stepwell("search", QUERIES[0], "--user", user).out
