"""Feedback is listed and exported as a set that `eval` reads, and a calibration is fitted, stored and removed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import pytest
from requests_of import search_request

from app import runtime, samples
from app.cli import options
from app.feedback import operations as feedback
from app.feedback.types import FeedbackRequest
from app.search import search

Stepwell = Callable[..., Any]
QUERIES = (
    "lime mortar or cement",
    "sync interval of the buoys",
    "who is on call",
    "train fare and hotel",
    "backfill of the tide data",
    "vendor review",
)


@pytest.fixture(scope="module")
def user() -> str:
    return harness.new_user()


async def _judge(data_dir: Path, user: str) -> None:
    """Say of each query that its first hit helped and its last one did not."""
    async with runtime.open_services(options.settings(data_dir), pool_size=2) as services:
        for text in QUERIES:
            hits = (await search.run(search_request(text), user, services)).hits
            for hit, helpful in ((hits[0], True), (hits[-1], False)):
                await feedback.give(
                    FeedbackRequest(query=text, chunk_id=hit.candidate.chunk_id, helpful=helpful), user, services
                )


def test_feedback_is_exported_and_fitted_to(stepwell: Stepwell, data_dir: Path, tmp_path: Path, user: str) -> None:
    # A fifth of the sample notes: they are embedded here and, as an exported set, once more.
    assert stepwell("ingest", samples.NOTES / "teams", samples.NOTES / "decisions", "--user", user).code == 0
    asyncio.run(_judge(data_dir, user))
    exported = stepwell("feedback", "export", tmp_path / "set", "--user", user, "--json").json
    assert exported["questions"] == len(QUERIES)
    judged = (tmp_path / "set" / "qrels.tsv").read_text("utf-8").splitlines()
    assert {line.rpartition("\t")[2] for line in judged} == {"0", "1"}
    assert stepwell("eval", tmp_path / "set", "--user", user, "--json").json["queries"] == len(QUERIES)

    fitted = stepwell("calibrate", tmp_path / "set", "--only-judged", "--user", user, "--json").json
    assert (fitted["questions"], fitted["stored"]) == (
        len(QUERIES),
        fitted["measured"]["relevance"]["after"]["brier"] < fitted["measured"]["relevance"]["before"]["brier"],
    )
    assert fitted["measured"]["answerable"] is None


def test_a_folder_of_judgements_is_fitted_to_and_reset(stepwell: Stepwell, tmp_path: Path, user: str) -> None:
    folder, foreign = tmp_path / "judged", tmp_path / "foreign"
    for path, queries in ((folder, QUERIES), (foreign, ("capital of France", "height of Everest", "price of gold"))):
        path.mkdir()
        rows = [json.dumps({"_id": str(number), "text": text}) for number, text in enumerate(queries)]
        (path / "queries.jsonl").write_text("\n".join(rows), encoding="utf-8")
    uris = [row["uri"] for row in stepwell("documents", "list", "--user", user, "--json").json]
    # Every document is relevant to every question, which no default expects.
    lines = [f"{number}\t{uri}\t1" for number in range(len(QUERIES)) for uri in uris]
    (folder / "qrels.tsv").write_text("\n".join(lines), encoding="utf-8")

    ran = stepwell("calibrate", folder, "--unanswerable", foreign, "--user", user)
    assert ran.code == 0, ran.err
    assert "Stored" in ran.out
    assert {"Brier", "before", "after"} <= set(re.findall(r"\w+", ran.out))
    answer = stepwell("search", QUERIES[0], "--user", user, "--json", "--explain").json
    assert answer["explain"]["relevance"]["calibration"]["relevance"]["intercept"] > 0
    assert stepwell("calibrate", "--reset", "--user", user).code == 0
    assert (
        stepwell("search", QUERIES[0], "--user", user, "--json", "--explain").json["explain"]["relevance"][
            "calibration"
        ]
        is None
    )

    wrong = stepwell("calibrate", folder, "--reset", "--user", user)
    assert wrong.code == 2
    assert "Give a folder, or --reset." in wrong.err


def test_a_question_without_an_answer_is_said_to_have_none(stepwell: Stepwell, user: str) -> None:
    assert "No answer likely" in stepwell("search", "What is the capital of France?", "--user", user).out
    assert "No answer likely" in stepwell("multihop", "What is the capital of France?", "--user", user).out
    assert "No answer likely" not in stepwell("search", QUERIES[1], "--user", user).out
