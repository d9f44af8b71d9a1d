"""The evaluation asks what the API asks, and averages by type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.api.search.search_models import SearchRequest
from app.evaluation import beir, runner
from app.evaluation.runner import Strategy
from app.pipelines.running.services import Services
from app.shapes import Guidance, Query, Reordering, limits
from benchmarks.fake_embedder import FakeEmbedder

SERVICES = Services(db=None, embedder=FakeEmbedder(), candidates=70, rrf_k=50, guidance=Guidance(alpha=0.3))
AUTO = {"query": "lime", "limit": limits.MAX_HITS}


def as_the_api(**fields: Any) -> Query:
    defaults: dict[str, Any] = {"guidance": Guidance(alpha=0.3), "reordering": Reordering()}
    return SearchRequest(**AUTO, **fields).shape("ana", candidates=70, k=50, **defaults)


@pytest.mark.parametrize("hierarchy", ["auto", "off", "force"])
@pytest.mark.parametrize("fusion", ["auto", "rrf", "convex"])
@pytest.mark.parametrize("mode", ["auto", "hybrid", "semantic", "lexical"])
def test_a_mode_of_the_api_builds_the_same_query_as_the_api(mode: Any, fusion: Any, hierarchy: Any) -> None:
    strategy = Strategy(mode, fusion, hierarchy=hierarchy, rerank="cosine", collapse=True)
    ordering = {"rerank": "cosine", "collapse": "duplicates"}
    assert strategy.query("lime", "ana", SERVICES) == as_the_api(
        mode=mode, fusion=fusion, hierarchy=hierarchy, **ordering
    )


def test_flat_is_auto_without_entities_and_two_pass_is_auto_with_forced_ones() -> None:
    assert Strategy("flat").query("lime", "ana", SERVICES) == as_the_api(hierarchy="off", boost=False)
    assert Strategy("two_pass").query("lime", "ana", SERVICES) == as_the_api(hierarchy="force")


def test_multihop_starts_from_flat_search_at_its_own_limit() -> None:
    flat = as_the_api(hierarchy="off", boost=False)
    assert Strategy("multihop").query("lime", "ana", SERVICES) == replace(flat, limit=limits.MAX_MULTIHOP_HITS)


def test_averages_by_type_cover_the_questions_that_have_one() -> None:
    questions = [
        beir.JudgedQuestion("1", "a", {"x": 1}, "person"),
        beir.JudgedQuestion("2", "b", {"x": 1}),
        beir.JudgedQuestion("3", "c", {"y": 1}, "team"),
    ]
    by_kind = runner.by_kind([["x"], ["x"], ["z"]], questions)
    assert {kind: (means["queries"], means["ndcg@10"]) for kind, means in by_kind.items()} == {
        "person": (1, 1.0),
        "team": (1, 0.0),
    }
