"""`search` and `eval` rerank hits and report where they cannot."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_provider import FakeProvider

Stepwell = Callable[..., Any]
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
    lines = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in NOTES.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "lime mortar"}), encoding="utf-8")
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
