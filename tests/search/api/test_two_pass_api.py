"""Tests of searches that use entities."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from api_caller import Caller
from requests_of import search_body

Newcomer = Callable[..., Awaitable[Caller]]

ENTITIES, SEARCH, TWO_PASS = "/api/rag/entities", "/api/rag/search", "/api/rag/search/two-pass"


@pytest.fixture(scope="module")
async def crew(new_caller: Newcomer) -> Caller:
    """A user with an entity and notes, most of them about others."""
    caller = await new_caller("search", "write")
    ana = {"type": "person", "name": "Ana Torres", "aliases": ["Anita"]}
    assert (await caller.client.post(ENTITIES, json=ana)).status_code == 201
    await caller.add("Ana Torres calibrated the buoy batteries.", "batteries")
    await caller.add("We talked about lights.", "lights", metadata={"attendees": ["Anita", "Ben Okafor"]})
    await caller.add("Ben Okafor calibrated the buoy batteries twice.", "ben")
    await caller.add("Lime mortar below the third landing.", "lime")
    return caller


async def test_two_pass_uses_entities_below_the_threshold_of_auto(crew: Caller) -> None:
    auto = await crew.post(SEARCH, search_body("batteries Torrez", threshold=0.99, explain=True))
    assert (auto["explain"]["search_mode"], auto["explain"]["fallback_reason"]) == ("flat", "not_entity_centric")
    forced = await crew.post(TWO_PASS, search_body("batteries of Anita Torrez", threshold=0.99))
    assert forced["search_mode"] == "two_pass"
    same = await crew.post(SEARCH, search_body("batteries of Anita Torrez", threshold=0.99, hierarchy="force"))
    assert same["results"] == forced["results"]
    nobody = await crew.post(TWO_PASS, search_body("lime mortar"))
    assert (nobody["search_mode"], nobody["pass1_entities"]) == ("flat", [])
    assert nobody["hints"] == ["The query names no known entity, so all documents were searched."]
    assert nobody["results"][0]["uri"] == "lime"


async def test_another_users_names_do_not_guide_a_search(crew: Caller, new_caller: Any) -> None:
    stranger = await new_caller("search", "write")
    await stranger.add("A letter to Ana Torres about batteries.", "letter")
    for path in (SEARCH, TWO_PASS):
        answer = (await stranger.client.post(path, json={"query": "Ana Torres batteries Anita"})).json()
        assert ([hit["uri"] for hit in answer["results"]], answer.get("pass1_entities", [])) == (["letter"], [])
