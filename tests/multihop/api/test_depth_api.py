"""A search follows names over several hops on request, or if the first search shows that it should."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from api_caller import Caller
from requests_of import search_body

Newcomer = Callable[..., Awaitable[Caller]]

SEARCH, MULTIHOP = "/api/rag/search", "/api/rag/search/multihop"
QUESTION = "Where was the director of Silent Harbour born?"


@pytest.fixture(scope="module")
async def reader(new_caller: Newcomer) -> Caller:
    """A user with notes of which two are linked by a name."""
    return await filled(await new_caller("search", "write"))


async def filled(caller: Caller) -> Caller:
    await caller.add("Silent Harbour is a film whose director is Ilse Brandt.", title="Silent Harbour")
    await caller.add("Trained as a painter, her youth went by in Lundby.", title="Ilse Brandt")
    for number in range(8):
        await caller.add(f"Where the director of the harbour was born, {number}.", title=f"note {number}")
    return caller


async def ask(caller: Caller, path: str = SEARCH, **fields: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await caller.post(
        path, search_body(fields.pop("query", QUESTION), **{"explain": True, **fields})
    )
    return answer


def chosen(answer: dict[str, Any]) -> tuple[str, str]:
    """The depth that was used, and why."""
    return answer["explain"]["depth"], answer["explain"]["depth_reason"]


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["chunk_id"] for hit in answer["results"]]


async def test_a_thorough_search_returns_what_a_search_over_several_hops_returns(reader: Caller) -> None:
    thorough, hops = await ask(reader, depth="thorough"), await ask(reader, MULTIHOP)
    assert ids(thorough) == ids(hops)
    assert chosen(thorough) == ("thorough", "requested")
    assert thorough["explain"]["search_mode"] == "multihop"
    assert [hop["hop"] for hop in thorough["hops"]] == [1, 2]
    reached = next(hit for hit in thorough["results"] if hit["title"] == "Ilse Brandt")
    assert (reached["hop"], reached["via"]["name"]) == (2, "Ilse Brandt")


@pytest.mark.parametrize(
    ("query", "depth", "reason"),
    [
        (QUESTION, "thorough", "divided"),
        ("where was the director of silent harbour born?", "thorough", "divided"),
        ("where was the director of that film born?", "fast", "no_names"),
        ("Silent Harbour", "fast", "together"),
        ("Who is the director of Silent Harbour?", "fast", "together"),
        ("Where was the director of Loud Harbour born?", "fast", "together"),
        ("Silent Harbour ERR_4012", "fast", "literal"),
        ('"Silent Harbour" director', "fast", "literal"),
        ("+director Silent Harbour", "fast", "literal"),
    ],
)
async def test_auto_follows_names_only_if_the_first_search_shows_a_divided_answer(
    reader: Caller, query: str, depth: str, reason: str
) -> None:
    answer = await ask(reader, query=query, depth="auto")
    assert chosen(answer) == (depth, reason)
    assert ("hops" in answer) == (depth == "thorough")


async def test_auto_leaves_a_question_about_a_described_entity_to_guidance(caller: Caller) -> None:
    reader = await filled(caller)
    added = await reader.client.post("/api/rag/entities", json={"type": "person", "name": "Ilse Brandt"})
    assert added.status_code == 201
    answer = await ask(reader, query="What did Ilse Brandt direct?", depth="auto")
    assert chosen(answer) == ("fast", "entity")


@pytest.mark.parametrize(
    ("fields", "field"), [({"min_confidence": "low"}, "ranking.min_confidence"), ({"limit": 21}, "limit")]
)
async def test_an_option_that_hops_do_not_support_is_named_or_decides(
    reader: Caller, fields: dict[str, Any], field: str
) -> None:
    refused = await reader.client.post(SEARCH, json=search_body(QUESTION, depth="thorough", **fields))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == field
    answer = await ask(reader, depth="auto", **fields)
    assert chosen(answer) == ("fast", "options")
