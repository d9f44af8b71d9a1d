"""The components that `explain` shows add up to each score, computed by hand from the JSON alone."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import harness
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from requests_of import search_body

from app import enums
from app.database.transactions import Database
from app.entities.linking import mention_refresh
from app.settings import Settings

OWN_DATABASE = True
"""A database of its own, whose only user is the local one."""

SEARCH, MULTIHOP, RERANK = "/api/rag/search", "/api/rag/search/multihop", "/api/rag/rerank"
EXACTLY, ROUNDED = 1e-9, 6e-5
"""How near a value in `explain` is to its parts, and a rounded score to its value there."""
NAMES = ("Ana Silva", "Ben Okafor", "Cleo Marsh")
TOPICS = ("lime mortar of the harbour wall", "sync interval of the buoys", "lanterns of the tide house", "ropes", "oil")
QUERIES = (
    "What has Ana Silva been working on?",
    "ana silva lime",
    "lime mortar",
    '"sync interval" buoys',
    "lime -lanterns",
    "Why is ERR_40 raised by the buoys of the harbour?",
    "Which lanterns did Ben Okafor and Cleo Marsh mend?",
    "unrelated",
)


def notes() -> list[dict[str, Any]]:
    """Notes by three people on three topics; some only have a person as an attendee, some mention one often."""
    found = []
    for number, (person, topic, times) in enumerate(product(NAMES, TOPICS, (0, 1, 4))):
        text = f"Note {number} on the {topic}. {'ERR_40. ' * (number % 5 == 0)}{f'{person} was there. ' * times}"
        attendees = [person] if number % 2 else []
        found.append(
            {"uri": f"note-{number}", "title": f"Note {number}", "content": text, "metadata": {"attendees": attendees}}
        )
    return found


class LengthReranker:
    """A reranker with scores from the lengths of the texts."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A score between 0 and 1 for each text."""
        return [(len(text) * 7 % 23) / 23 for text in texts]


@pytest.fixture(scope="module")
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service with the notes and a reranker."""
    services = replace(await harness.services(database), reranker=LengthReranker())
    async with harness.running(Settings(auth="none"), services) as app, harness.client(app) as caller:
        assert (await caller.post("/api/rag/documents", json=notes())).status_code == 201
        for name in NAMES:
            assert (await caller.post("/api/rag/entities", json={"type": "person", "name": name})).status_code == 201
        await mention_refresh.settle("local", services)
        yield caller


async def answer_of(client: httpx.AsyncClient, path: str, request: dict[str, Any]) -> dict[str, Any]:
    response = await client.post(path, json=request)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def explained(client: httpx.AsyncClient, request: dict[str, Any]) -> list[dict[str, Any]]:
    """The hits of the first three pages, those in groups among them."""
    hits: list[dict[str, Any]] = []
    cursor = None
    for _ in range(3):
        answer = await answer_of(client, SEARCH, search_body(None, **request, explain=True, cursor=cursor))
        hits += [one for hit in answer["results"] for one in (hit, *hit.get("more", []))]
        if (cursor := answer["next_cursor"]) is None:
            break
    return hits


def fused(explain: dict[str, Any]) -> float:
    """The fused score by hand: the shares of the legs."""
    total = sum(leg["weight"] for leg in explain["legs"].values())
    shares = []
    for leg in explain["legs"].values():
        if explain["fusion"] == "convex":
            share = leg["weight"] * leg["scaled"] / total
        else:
            assert explain["fusion"] == "rrf"
            share = leg["weight"] / (explain["k"] + leg["rank"]) * (explain["k"] + 1) / total if leg["rank"] else 0.0
        assert leg["share"] == pytest.approx(share, abs=EXACTLY)
        shares.append(share)
    assert explain["fused"] == pytest.approx(sum(shares), abs=EXACTLY)
    return sum(shares)


def after(name: str, step: dict[str, Any], score: float) -> float:
    """The score after a step by hand."""
    if name == "boost":
        return float(score * step["factor"])
    if name == "entity":
        powered = (1 - step["weight"]) * score ** step["exponent"] + step["weight"] * step["parent_score"]
        return float(powered ** (1 / step["exponent"]))
    if name == "mmr":
        return score
    if name == "rerank" and step["value"] is not None:
        value = step["value"] if step["by"] == "provider" else min(1.0, max(0.0, step["value"]))
        return float(step["weight"] * value + (1 - step["weight"]) * score)
    if name == "rerank":
        return score if step["limit"] is None else min(score, step["limit"])
    if name == "cap":
        return min(1.0, max(0.0, score))
    assert name in ("kept", "page", "closer"), name
    return float(step["score"])


def check(hit: dict[str, Any]) -> list[str]:
    """Compute the score of a hit by hand; the names of its steps."""
    explain = hit["explain"]
    score = fused(explain)
    names = [name for name, step in explain.items() if isinstance(step, dict) and "score_before" in step]
    for name in names:
        step = explain[name]
        if name == "mmr":
            value = step["lambda"] * score - (1 - step["lambda"]) * step["nearest"]
            assert step["value"] == pytest.approx(value, abs=EXACTLY)
        assert step["score_before"] == pytest.approx(score, abs=EXACTLY), name
        score = after(name, step, score)
        assert step["score"] == pytest.approx(score, abs=EXACTLY), name
    assert explain["score"] == pytest.approx(score, abs=EXACTLY)
    assert hit["score"] == pytest.approx(score, abs=ROUNDED)
    return names


WEIGHTS = st.none() | st.fixed_dictionaries({"vector": st.sampled_from([0, 0.3, 2]), "text": st.sampled_from([0.5, 1])})
REQUESTS = st.fixed_dictionaries(
    {
        "query": st.sampled_from(QUERIES),
        "limit": st.integers(1, 6),
        "mode": st.sampled_from(enums.values(enums.Mode)),
        "fusion": st.sampled_from(enums.values(enums.Fusion)),
        "weights": WEIGHTS,
        "k": st.sampled_from([None, 1, 60]),
        "candidates": st.sampled_from([None, 10]),
        "hierarchy": st.sampled_from(enums.values(enums.GuidanceMode)),
        "alpha": st.sampled_from([None, 0.0, 0.7]),
        "boost": st.booleans(),
        "rerank": st.sampled_from(enums.values(enums.Rerank)),
        "mmr": st.booleans(),
        "group_size": st.sampled_from([None, 3]),
    }
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(request=REQUESTS)
async def test_the_components_of_every_search_add_up(client: httpx.AsyncClient, request: dict[str, Any]) -> None:
    for hit in await explained(client, request):
        check(hit)


@pytest.mark.parametrize(
    ("step", "options"),
    [
        ("boost", {}),
        ("entity", {"alpha": 0.0}),
        ("entity", {"mode": "hybrid"}),
        ("kept", {"alpha": 0.0, "query": "lanterns of the tide house of anna silvia", "hierarchy": "force"}),
        ("rerank", {"rerank": "cosine", "mode": "lexical"}),
        ("rerank", {"rerank": "provider"}),
        ("mmr", {"mmr": True}),
        ("page", {"candidates": 10, "query": "harbour buoys lanterns", "hierarchy": "off"}),
        ("cap", {"mode": "lexical", "query": "ana silva lime mortar harbour", "alpha": 1.0}),
    ],
)
async def test_each_step_is_shown(client: httpx.AsyncClient, step: str, options: dict[str, Any]) -> None:
    request = {"query": QUERIES[0], "limit": 12, **options}
    names = [name for hit in await explained(client, request) for name in check(hit)]
    assert step in names


def check_over_hops(hit: dict[str, Any]) -> None:
    """Compute the score of a hit of several hops by hand: what entities did in hop 1, the parts, the final steps."""
    explain = hit["explain"]
    score = explain.get("fused", 0.0)
    for name in [name for name in explain if name in ("boost", "entity", "kept")]:
        assert explain[name]["score_before"] == pytest.approx(score, abs=EXACTLY), name
        score = after(name, explain[name], score)
    if hit["hop"] == 1:
        assert explain["signals"].get("fused", 0.0) == pytest.approx(min(1.0, score), abs=EXACTLY)
    combined = sum(explain["parts"].values())
    assert hit["combined_score"] == pytest.approx(combined, abs=ROUNDED)
    score = combined / explain["best"]
    if "rerank" in explain:
        assert explain["rerank"]["score_before"] == pytest.approx(score, abs=EXACTLY)
        score = after("rerank", explain["rerank"], score)
    if "mmr" in explain:
        value = explain["mmr"]["lambda"] * score - (1 - explain["mmr"]["lambda"]) * explain["mmr"]["nearest"]
        assert explain["mmr"]["value"] == pytest.approx(value, abs=EXACTLY)
    assert explain["score"] == pytest.approx(min(1.0, score), abs=EXACTLY)
    assert hit["score"] == pytest.approx(min(1.0, score), abs=ROUNDED)


HOP_REQUESTS = st.fixed_dictionaries(
    {
        "query": st.sampled_from(QUERIES),
        "merge": st.sampled_from(enums.values(enums.HopMerge)),
        "limit": st.integers(1, 12),
        "max_hops": st.integers(2, 3),
        "hierarchy": st.sampled_from(enums.values(enums.GuidanceMode)),
        "rerank": st.sampled_from(enums.values(enums.Rerank)),
        "mmr": st.booleans(),
    }
)


@settings(max_examples=24, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(request=HOP_REQUESTS)
async def test_the_components_of_every_search_over_hops_add_up(client, request) -> None:
    hits = (await answer_of(client, MULTIHOP, search_body(None, **request, explain=True)))["results"]
    for hit in hits:
        check_over_hops(hit)
    if not request["mmr"]:
        assert hits == sorted(hits, key=lambda hit: -hit["score"])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    merge=st.sampled_from(enums.values(enums.ListMerge)),
    rerank=st.sampled_from(enums.values(enums.Rerank)),
    mmr=st.booleans(),
    k=st.sampled_from([1, 60]),
    weights=st.tuples(st.sampled_from([0.5, 1, 3]), st.sampled_from([0.5, 2])),
)
async def test_the_parts_of_a_merged_score_add_up(client, merge, rerank, mmr, k, weights) -> None:
    one, other = [(await answer_of(client, SEARCH, {"query": query, "limit": 8}))["results"] for query in QUERIES[1:3]]
    lists = [
        {"name": name, "weight": weight, "hits": [{"chunk_id": h["chunk_id"], "content": h["content"]} for h in hits]}
        for name, weight, hits in zip("ab", weights, (one, other), strict=True)
    ]
    request = {"lists": lists, "merge": merge, "rerank": rerank, "mmr": mmr, "k": k, "query": QUERIES[0]}
    for hit in (await answer_of(client, RERANK, request))["results"]:
        assert hit["combined_score"] == pytest.approx(sum(hit["parts"].values()), abs=EXACTLY)
        score = min(1.0, hit["combined_score"] / hit["explain"]["merge"]["best"])
        assert hit["explain"]["merge"]["score"] == pytest.approx(score, abs=EXACTLY)
        if "rerank" in hit["explain"]:
            score = after("rerank", hit["explain"]["rerank"], score)
        assert hit["score"] == pytest.approx(score, abs=EXACTLY)


async def test_the_query_is_shown_as_it_is_searched(client) -> None:
    query = "Hi Ana,\n\nWho signed the lease?\n\nBest regards\nTom Berg\nQuay Ltd.\n"
    answer = (await client.post("/api/rag/search", json={"query": query, "explain": True})).json()
    assert answer["explain"]["query"] == "Who signed the lease?"
