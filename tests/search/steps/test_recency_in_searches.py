"""Newer documents are raised by a known factor, in every kind of search, and only if that is asked for."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import harness
import pytest
from harness import Tenant, uris
from requests_of import search_request

from app.database.transactions import Database
from app.documents.types import Upload
from app.multihop import multihop
from app.query.search_request import Recency
from app.query.search_types import Answer, Hit
from app.search import result_pages, search
from app.search.steps import recency

TEXT = "The harbour office decided on lime mortar for the third landing."
AGES = {"fresh": 0, "month": 30, "year": 365, "coming": -40}
DATED = Recency(weight=0.5)


@pytest.fixture(scope="module")
async def shelf(database: Database) -> Tenant:
    """Notes with equal texts and different ages; `undated` has no date in its metadata."""
    tenant, now = Tenant(database), datetime.now(UTC)
    for uri, days in AGES.items():
        date = now - timedelta(days=days)
        await tenant.add(TEXT, uri, created_at=date, metadata={"dates": ["2001-01-01", date.isoformat()]})
    await tenant.add(TEXT, "undated", created_at=now - timedelta(days=30), metadata={"dates": "in spring"})
    return tenant


def by_uri(answer: Answer) -> dict[str | None, Hit]:
    return {hit.candidate.uri: hit for hit in answer.hits}


@pytest.mark.parametrize("options", [DATED, Recency(weight=0.5, field="dates")])
@pytest.mark.parametrize("fields", [{}, {"mode": "hybrid"}, {"rerank": "cosine"}, {"mmr": True, "limit": 5}])
async def test_the_age_of_a_document_changes_its_score_by_the_explained_factor(shelf, options, fields) -> None:
    answer = await shelf.ask("lime mortar", explain=True, collapse="off", recency=options, **fields)
    assert answer.explain["recency"]["half_life_days"] == 30
    hits = by_uri(answer)
    fusion = "rrf" if fields.get("mode") == "hybrid" else "convex"
    for uri, days in AGES.items():
        step = (hits[uri].explain or {})["recency"]
        decay = recency.decay(days, half_life_days=30)
        assert step["factor"] == pytest.approx(recency.factor(decay, weight=0.5, fusion=fusion), rel=1e-3)
        assert step["score"] == pytest.approx(step["score_before"] * step["factor"])
    undated = (hits["undated"].explain or {})["recency"]
    assert undated["factor"] == (1.0 if options.field else pytest.approx(1.0, abs=1e-3))
    assert {uris(answer).index(uri) for uri in ("fresh", "coming")} == {0, 1} or fields.get("mmr")
    assert uris(answer)[-1] == "year" or fields.get("mmr")
    assert len({hit.relevance for hit in answer.hits}) == 1 or fields


async def test_without_the_option_ages_are_not_read(shelf: Tenant) -> None:
    with harness.counted_statements(shelf) as plain:
        answer = await shelf.ask("lime mortar", explain=True, collapse="off")
    with harness.counted_statements(shelf) as idle:
        asked = await shelf.ask("lime mortar", explain=True, collapse="off", recency=Recency(only_if_asked=True))
    assert (len(plain), uris(answer)) == (len(idle), uris(asked))
    for one in (answer, asked):
        assert one.explain["recency"] is None
        assert not any("recency" in (hit.explain or {}) for hit in one.hits)


async def test_a_new_document_beyond_the_limit_is_raised_into_it(tenant: Tenant) -> None:
    old = datetime.now(UTC) - timedelta(days=900)
    await tenant.add_all(
        Upload(f"lime mortar lime mortar, note {number}", uri=f"old-{number}", created_at=old) for number in range(12)
    )
    await tenant.add("lime mortar of the harbour wall, and much else that was written down", "new")
    query = search_request("lime mortar", limit=3, recency=Recency(weight=0.9))
    plain, dated = (
        uris(await tenant.ask("lime mortar", limit=3)),
        uris(await search.run(query, tenant.user_id, tenant.services())),
    )
    assert ("new" in plain, dated[0]) == (False, "new")


async def test_the_newest_is_first_also_if_all_are_old(tenant: Tenant) -> None:
    now = datetime.now(UTC)
    for uri, days in (("v1", 1_500), ("v2", 1_000), ("v3", 500)):
        await tenant.add(f"The lime policy. {'Ash. ' * (2_000 // days)}", uri, created_at=now - timedelta(days=days))
    await tenant.add("Ropes are coiled.", "ropes", created_at=now)
    for options, first in (("auto", "v3"), (Recency(), "v1")):
        answer = await tenant.ask("newest lime policy", mode="lexical", explain=True, recency=options)
        assert uris(answer)[0] == first
        assert (by_uri(answer)["v3"].explain or {})["recency"]["age_days"] == pytest.approx(500, abs=1)


async def test_pages_have_every_result_once_although_time_passes(shelf, monkeypatch) -> None:
    query = search_request("lime mortar", limit=2, recency=DATED, collapse="off")
    first = await search.run(query, shelf.user_id, shelf.services())
    later = datetime.now(UTC) + timedelta(days=3_000)
    monkeypatch.setattr(result_pages.time, "time", later.timestamp)
    second = await search.run(query.changed(cursor=first.next_cursor), shelf.user_id, shelf.services())
    third = await search.run(query.changed(cursor=second.next_cursor), shelf.user_id, shelf.services())
    found = [uri for answer in (first, second, third) for uri in uris(answer)]
    assert sorted(map(str, found)) == sorted([*AGES, "undated"])
    assert third.next_cursor is None


@pytest.mark.parametrize("merge", ["linked", "classic"])
async def test_the_hits_of_all_hops_are_weighed(shelf: Tenant, merge: Any) -> None:
    query = search_request(
        "lime mortar", explain=True, collapse="off", recency=DATED, merge=merge, extractor="statistical"
    )
    answer = await multihop.run(query, shelf.user_id, shelf.services())
    steps = {hit.candidate.uri: (hit.explain or {})["recency"] for hit in answer.hits}
    assert set(steps) == {*AGES, "undated"}
    assert steps["fresh"]["factor"] > 1 > steps["year"]["factor"]
    assert uris(answer).index("fresh") < uris(answer).index("year")
    scores = [hit.candidate.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(("age_days", "decay", "factor"), [(0, 1.0, 1.2), (30, 0.5, 1.0), (60, 0.25, 0.9)])
def test_a_score_gains_and_loses_up_to_the_weight_by_half_lives(age_days: int, decay: float, factor: float) -> None:
    assert recency.decay(age_days, half_life_days=30) == decay
    assert recency.factor(decay, weight=0.2, fusion="convex") == pytest.approx(factor)
    assert recency.factor(decay, weight=0.2, fusion="rrf") ** 5 == pytest.approx(factor)


def test_the_future_is_the_present_and_no_age_is_too_large() -> None:
    assert recency.decay(-400, half_life_days=30) == 1.0
    assert recency.decay(4e6, half_life_days=0.01) == 0.0
    assert recency.factor(0.0, weight=1.0, fusion="rrf") == 0.0


def test_a_negative_score_falls_with_age_too() -> None:
    assert recency.rescore(-2.0, 1.25) == -1.6
    assert recency.rescore(-2.0, 0.8) == -2.5


async def test_pages_over_several_hops_order_the_same_hits_by_age(tenant: Tenant) -> None:
    now, seen, drawn = datetime.now(UTC), list[str | None](), random.Random(3)
    words = ["lime", "mortar", "sand", "and", "water", "of", "the", "landing", "below"]
    created = {f"note {number}": now - timedelta(days=drawn.choice([0, 900])) for number in range(60)}
    texts = {uri: " ".join(drawn.choices(words, k=9)) for uri in created}
    await tenant.add_all(Upload(text, uri=uri, created_at=created[uri]) for uri, text in texts.items())
    cursor = None
    while cursor or not seen:
        options = {"depth": "thorough", "recency": DATED, "collapse": "off", "candidates": 10}
        answer = await tenant.ask("lime mortar", cursor=cursor, **options)
        seen, cursor = [*seen, *uris(answer)], answer.next_cursor
    assert len(set(seen)) == len(seen) > 10
