"""The evaluation asks what the API asks, and averages by type."""

from typing import Any

import pytest
from harness import Tenant

from app import limits
from app.database.filter_types import Filters
from app.documents.types import Upload
from app.entities.store import name_changes
from app.evaluation import beir, runner
from app.evaluation.runner import Strategy
from app.jobs import store as jobs
from app.query.search_request import Ranking, SearchRequest


def as_the_api(**fields: Any) -> SearchRequest:
    return SearchRequest.model_validate({"query": "lime", "limit": limits.MAX_HITS, "collapse": "off", **fields})


@pytest.mark.parametrize("hierarchy", ["auto", "off", "force"])
@pytest.mark.parametrize("mode", ["auto", "hybrid", "semantic", "lexical"])
def test_a_mode_of_the_api_builds_the_same_query_as_the_api(mode: Any, hierarchy: Any) -> None:
    ranking = {"fusion": "rrf", "hierarchy": hierarchy, "rerank": "cosine", "alpha": 0.9}
    strategy = Strategy(mode, Ranking.model_validate(ranking))
    assert strategy.query("lime", Filters()) == as_the_api(mode=mode, ranking=ranking)


def test_flat_is_auto_without_entities_and_two_pass_is_auto_with_forced_ones() -> None:
    without = {"guidance": {"mode": "off", "boost": False}}
    assert Strategy("flat").query("lime", Filters()) == as_the_api(ranking=without)
    assert Strategy("two_pass").query("lime", Filters()) == as_the_api(ranking={"hierarchy": "force"})


def test_averages_by_type_cover_the_questions_that_have_one() -> None:
    questions = [
        beir.JudgedQuestion("1", "a", {"x": 1}, "person"),
        beir.JudgedQuestion("2", "b", {"x": 1}),
        beir.JudgedQuestion("3", "c", {"y": 1}, "team"),
    ]
    by_kind = runner.average_by_kind([["x"], ["x"], ["z"]], questions)
    assert {kind: (means["queries"], means["ndcg@10"]) for kind, means in by_kind.items()} == {
        "person": (1, 1.0),
        "team": (1, 0.0),
    }


async def test_names_in_metadata_are_matched_in_earlier_documents_before_the_questions(tenant: Tenant) -> None:
    minutes = Upload(uri="minutes", content="Ana Torres opened the meeting.")
    plan = Upload(uri="plan", content="Lime mortar for the landing.", metadata={"author": "Ana Torres"})
    loaded = beir.EvaluationSet((minutes, plan), (beir.JudgedQuestion("1", "landing", {"plan": 1}),), skipped=0)
    await runner.run(loaded, runner.Strategy("auto"), runner.Tenant(tenant.user_id), services=tenant.services())
    async with tenant.db.shared() as shared:
        assert await jobs.count(shared.as_user(tenant.user_id), name_changes.JOB) == 0
