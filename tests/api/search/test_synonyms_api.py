"""Synonyms are replaced as a whole, checked field by field, and take effect in the next search."""

from __future__ import annotations

from typing import Any

import pytest
from api_caller import Caller
from example_app import assert_problem

URL = "/api/rag/synonyms"


async def test_synonyms_are_replaced_read_and_applied(caller: Caller) -> None:
    await caller.add("The furnace burns.", "furnace.md")
    assert (await caller.client.get(URL)).json() == {"groups": []}
    groups = [{"terms": ["boiler", "furnace", "Boiler"]}, {"terms": [" lamp "], "expand_to": ["oil  lamp"]}]
    response = await caller.client.put(URL, json={"groups": groups})
    assert (response.status_code, response.json()) == (200, {"groups": 2, "terms": 4})
    stored = [{"terms": ["boiler", "furnace"], "expand_to": []}, {"terms": ["lamp"], "expand_to": ["oil lamp"]}]
    read = await caller.client.get(URL)
    assert read.json() == {"groups": stored}
    assert int(read.headers["X-Stepwell-Version"]) == int(response.headers["X-Stepwell-Version"])
    answer = await caller.search("boiler", mode="lexical", explain=True)
    assert (answer["results"][0]["uri"], answer["explain"]["synonyms"]) == ("furnace.md", {"boiler": ["furnace"]})
    why = {"query": "boiler", "mode": "lexical", "uri": "furnace.md"}
    placed = (await caller.client.post("/api/rag/search/why", json=why)).json()
    assert placed["legs"]["text"]["rank"] == 1
    assert (await caller.client.put(URL, json={"groups": []})).json() == {"groups": 0, "terms": 0}
    assert (await caller.search("boiler", explain=True))["explain"]["synonyms"] == {}


@pytest.mark.parametrize(
    ("groups", "field"),
    [
        ([{"terms": ["a", "b"]}, {"terms": ["boiler", "x" * 101]}], "groups[1].terms[1]"),
        ([{"terms": ["boiler", " … "]}], "groups[0].terms[1]"),
        ([{"terms": ["boiler", "Boiler"]}], "groups[0]"),
        ([{"terms": []}], "groups[0].terms"),
        ([{"terms": ["a"], "expand_to": ["b"] * 21}], "groups[0].expand_to"),
        ([{"terms": ["a", "b"]}] * 501, "groups"),
        (None, "groups"),
        ([{"terms": ["a", "b"], "words": []}], "groups[0].words"),
    ],
)
async def test_wrong_groups_are_refused_with_their_field(caller: Caller, groups: Any, field: str) -> None:
    response = await caller.client.put(URL, json={"groups": groups})
    assert response.status_code == 422
    assert_problem(response, 422, response.json()["code"], field)
    assert (await caller.client.get(URL)).json() == {"groups": []}
