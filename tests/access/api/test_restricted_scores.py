"""A search with a key that sees few documents is scored as in a knowledge base that has only these."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import harness
import pytest
from api_caller import Caller

RAG = "/api/rag"
NAMES = ("Ilse Brandt", "Tomas Vidal", "Mara Quint", "Oskar Lindqvist")
WORDS = ("copper", "lantern", "harbour", "meadow", "granite", "willow")
QUERIES = [
    "copper lantern",
    "Where did Ilse Brandt see the copper?",
    "tomas vidal granite",
    "Mara Quint",
    "+harbour willow",
    "coper lantern",
    "ferry",
]
COUNTED = [
    "Ana Costa",  # a name that metadata give and no visible text contains
    "stoxe willow",  # two words differ by one letter: hidden documents would change which is the commoner
    "wieder lantern",  # a word that the language of hidden documents ignores, and no error in that of visible ones
    "lantern qu*",  # more words than are scored
]
"""Queries that depend on how many documents contain a word."""
OPTIONS: list[dict[str, Any]] = [
    {"limit": 40},
    {"mode": "hybrid", "limit": 40},
    {"mode": "lexical", "limit": 40},
    {"mode": "semantic", "limit": 40},
    {"filters": {"metadata": {"acl": "bob"}}},
    {"ranking": {"guidance": {"mode": "force"}}},
]
RESTRICTIONS: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]] = {
    "a value": ({"metadata": {"team": "tide"}}, lambda metadata: metadata["team"] == "tide"),
    "a group": (
        {"any": [{"metadata": {"team": "reef"}}, {"not": {"metadata": {"acl": "bob"}}}]},
        lambda metadata: metadata["team"] == "reef" or "bob" not in metadata["acl"],
    ),
}
PREFIXED = [f"qu{one}{other}" for one in "bdfgkm" for other in "bdfgkmprs"]
HIDDEN: list[dict[str, Any]] = [
    {"content": "The ferry and Ilse Brandt left.", "uri": "ferry", "metadata": {"author": "Ferry"}},
    {"content": "Copper and a lantern.", "uri": "names", "metadata": {"attendees": ["Mara Quint", "Ilse Brandt"]}},
    {"content": "Ana Costa ist wieder da.", "uri": "german", "language": "de"},
    *({"content": f"A store of {' '.join(PREFIXED[-9:])}, {number}.", "uri": f"store{number}"} for number in range(40)),
]
"""Documents with words that are asked for, and whose metadata name what visible texts contain."""


def _documents(rng: random.Random) -> list[dict[str, Any]]:
    """Texts of which no two have one length, because equal scores are ranked by ids, which differ between users."""
    found = []
    for number in range(30):
        rare = ["store", "wiedex"][: number % 3]
        words = " ".join([*rng.sample(WORDS, 3), *rng.sample(PREFIXED, 9), *["stone"] * number, *rare])
        names = " and ".join(rng.sample(NAMES, 1 + number % 2))
        metadata = {"team": rng.choice(("tide", "reef", "dune")), "acl": rng.sample(("ana", "bob"), rng.randint(0, 2))}
        if number % 5 == 0:
            metadata["author"] = rng.choice((*NAMES, "Ana Costa"))
        found.append({"content": f"{words}. {names} saw it.", "uri": f"note{number}", "metadata": metadata})
    return found


@pytest.mark.parametrize("kind", RESTRICTIONS)
async def test_a_search_is_scored_as_if_only_the_visible_documents_were_stored(callers, kind) -> None:
    """Scores, relevance, confidence, entities and reasons."""
    filters, passes = RESTRICTIONS[kind]
    full, alone = await callers(harness.new_user()), await callers(harness.new_user())
    restricted = await callers(full.user_id, filters=filters)
    documents = _documents(random.Random(kind))
    hidden = [{**one, "metadata": {"team": "dune", "acl": ["bob"], **one.get("metadata", {})}} for one in HIDDEN]
    await full.client.post(f"{RAG}/documents", json=[*documents, *hidden])
    await alone.client.post(f"{RAG}/documents", json=[one for one in documents if passes(one["metadata"])])
    for query, options in (*itertools.product(QUERIES, OPTIONS), *itertools.product(COUNTED, OPTIONS[:1])):
        body = {"query": query, "explain": True, **options}
        assert await _scored(restricted, body) == await _scored(alone, body), body


async def _scored(caller: Caller, body: dict[str, Any]) -> dict[str, Any]:
    """What an answer says of the query and of each hit, without ids, which differ between users."""
    response = await caller.client.post(f"{RAG}/search", json=body)
    assert response.status_code == 200, response.text
    answer = response.json()
    names = ("score", "relevance", "confidence", "rrf_score", "vector_score", "text_score")
    explained = answer["explain"]
    matched = [{**one, "entity_id": None} for one in explained["entities"]["pass1"]]
    said = ("answerable", "hints", "relaxed", "degraded", "excluded", "search_mode")
    of_query = ("query_type", "confidence", "fallback_reason", "corrections", "relevance", "chunks_in_scope")
    return {
        "hits": {hit["uri"]: [hit[name] for name in names] for hit in answer["results"]},
        "entities": {**explained["entities"], "pass1": sorted(matched, key=lambda one: (one["name"], one["type"]))},
        **{name: answer.get(name) for name in said},
        **{name: explained.get(name) for name in of_query},
    }
