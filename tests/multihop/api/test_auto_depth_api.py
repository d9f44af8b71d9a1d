"""Tests over REST which depth `auto` chooses, and why."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from api_caller import Caller

Newcomer = Callable[..., Awaitable[Caller]]

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


def chosen(answer: dict[str, Any]) -> tuple[str, str]:
    """The depth that was used, and why."""
    return answer["explain"]["depth"], answer["explain"]["depth_reason"]


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
async def test_auto_follows_names_only_if_the_first_search_shows_a_divided_answer(reader, query, depth, reason) -> None:
    answer = await reader.search(query, depth="auto", explain=True)
    assert chosen(answer) == (depth, reason)
    assert ("hops" in answer) == (depth == "thorough")


async def test_auto_leaves_a_question_about_a_described_entity_to_guidance(caller: Caller) -> None:
    reader = await filled(caller)
    added = await reader.client.post("/api/rag/entities", json={"type": "person", "name": "Ilse Brandt"})
    assert added.status_code == 201
    answer = await reader.search("What did Ilse Brandt direct?", depth="auto", explain=True)
    assert chosen(answer) == ("fast", "entity")


@pytest.mark.parametrize("fields", [{"min_confidence": "low"}, {"limit": 21}])
async def test_an_option_that_hops_do_not_support_decides(reader: Caller, fields: dict[str, Any]) -> None:
    assert chosen(await reader.search(QUESTION, depth="auto", explain=True, **fields)) == ("fast", "options")
