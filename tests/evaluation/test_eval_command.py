"""`stepwell eval` measures a set of questions, and counts what was not re-ranked."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_provider import FakeProvider

Stepwell = Callable[..., Any]
MEASURES = ("ndcg@10", "recall@2", "recall@5", "recall@10", "full_recall@5", "mrr@10", "p50_ms", "p95_ms", "skipped")
NOTES = {
    "lime": "Below the third landing we use lime mortar.",
    "again": "Below the third landing we use lime mortar, always.",
    "buoys": "The Gannet reports every eleven minutes.",
}


@pytest.fixture
def provider(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> FakeProvider:
    """The configured cross-encoder: it prefers what is said of the Gannet."""
    provider.respond = lambda asked: [
        {"index": n, "score": 0.9 if "Gannet" in text else 0.1} for n, text in enumerate(asked["texts"])
    ]
    monkeypatch.setenv("STEPWELL_RERANKER", "tei")
    monkeypatch.setenv("STEPWELL_RERANKER_URL", provider.url)
    return provider


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A set whose one question words cannot answer, but the cross-encoder does."""
    folder = tmp_path / "judged"
    folder.mkdir()
    _write_lines(folder / "corpus.jsonl", [{"_id": name, "text": text} for name, text in NOTES.items()])
    _write_lines(folder / "queries.jsonl", [{"_id": "q", "text": "lime mortar"}])
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tbuoys\t1\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("mode", ["auto", "two_pass"])
async def test_an_evaluation_measures_the_order_that_the_provider_gave(stepwell, judged, provider, mode) -> None:
    asked = ("eval", judged, "--mode", mode, "--json")
    plain = (await asyncio.to_thread(stepwell, *asked)).json
    told = (await asyncio.to_thread(stepwell, *asked, "--ranking", '{"rerank": "provider"}')).json
    assert "not_reranked" not in plain
    assert plain["mrr@10"] < 1
    assert (told["mrr@10"], told["not_reranked"], len(provider.requests)) == (1.0, 0, 1)


async def test_an_evaluation_counts_the_questions_whose_reranking_failed(stepwell, judged, provider) -> None:
    plain = (await asyncio.to_thread(stepwell, "eval", judged, "--json")).json
    provider.status = 500
    told = (await asyncio.to_thread(stepwell, "eval", judged, "--ranking", '{"rerank": "provider"}', "--json")).json
    assert (told["mrr@10"], told["not_reranked"]) == (plain["mrr@10"], 1)


def test_an_evaluation_by_a_provider_that_is_not_configured_names_the_setting(stepwell: Stepwell, judged: Path) -> None:
    ran = stepwell("eval", judged, "--ranking", '{"rerank": "provider"}')
    assert ran.code == 2
    assert "STEPWELL_RERANKER" in ran.err


def test_an_evaluation_measures_and_embeds_nothing_twice(stepwell: Stepwell, tmp_path: Path) -> None:
    documents = [
        {"_id": "d1", "title": "Mortar", "text": "Below the third landing we use lime mortar."},
        {"_id": "d2", "title": "", "text": "The Gannet buoy reports every eleven minutes.", "year": 2024},
        {"_id": "d3", "title": "Dog", "text": "A dog is a loyal companion."},
        {"_id": "d4", "title": "", "text": "  "},
    ]
    questions = [
        {"_id": "q1", "text": "lime mortar landing"},
        {"_id": "q2", "text": "gannet AND (buoy"},
        {"_id": "q3", "text": "unjudged"},
    ]
    _write_lines(tmp_path / "corpus.jsonl", documents)
    _write_lines(tmp_path / "queries.jsonl", questions)
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\nq2\td4\t1\n", encoding="utf-8"
    )
    first, second = (stepwell("eval", tmp_path, "--json") for _ in range(2))
    assert first.code == 0, first.err
    assert first.json.keys() >= set(MEASURES)
    assert (first.json["skipped"], first.json["documents"], first.json["embedded"]) == (1, 3, 3)
    assert first.json["invalid_expression"] == 1, "what a question is answered without is counted"
    assert (first.json["mrr@10"], first.json["recall@5"], first.json["full_recall@5"]) == (1.0, 0.75, 0.5)
    assert second.json["embedded"] == 0
    assert {name: second.json[name] for name in MEASURES[:6]} == {name: first.json[name] for name in MEASURES[:6]}
    (tmp_path / "other").mkdir()
    _write_lines(tmp_path / "other" / "queries.jsonl", questions[2:])
    assert stepwell("eval", tmp_path, "--wrong", tmp_path / "other", "--json").json["answerable"]["count"] == 3
    refused = stepwell("eval", tmp_path, "--mode", "two_pass", "--ranking", '{"hierarchy": "off"}')
    assert (refused.code, "guidance" in refused.err) == (2, True)
    for judgements, said in (
        ("q1\td1\t1\nq1\td2\tmuch\n", "Line 2"),
        ("q1\td1\t5000\nq1\td2\t1\n", "Line 1 has the relevance 5000"),
        ("Q1\td1\t1\n", "No question has a relevant"),
    ):
        (tmp_path / "qrels.tsv").write_text(judgements, encoding="utf-8")
        broken = stepwell("eval", tmp_path)
        assert (broken.code, said in broken.err) == (2, True)


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
