"""Synonyms over HTTP and on the command line: wrong groups are refused, and only a key without filters reads them."""

from pathlib import Path
from typing import Any

import harness
from api_caller import Caller
from example_app import assert_problem
from stepwell_client import AsyncClient

SYNONYMS = "/api/rag/synonyms"


async def test_wrong_groups_are_refused_with_their_place(caller: Caller) -> None:
    for groups, code, field in (
        ([{"terms": ["a", "b"]}, {"terms": ["boiler", "x" * 101]}], "invalid_request", "groups[1].terms[1]"),
        ([{"terms": ["boiler", " … "]}], "blank_term", "groups[0].terms[1]"),
        ([{"terms": ["boiler", "Boiler"]}], "one_term", "groups[0]"),
        ([{"terms": ["a", "b"]}] * 501, "invalid_request", "groups"),
        (None, "invalid_request", "groups"),
    ):
        assert_problem(await caller.client.put(SYNONYMS, json={"groups": groups}), 422, code, field)
    assert (await caller.client.get(SYNONYMS)).json() == {"groups": []}


async def test_the_client_replaces_and_reads_them(caller: Caller) -> None:
    client = AsyncClient(http=caller.client)
    groups = [["lime", "quicklime"], {"terms": ["wall"], "expand_to": ["rampart"]}]
    assert (await client.synonyms.set(groups)).terms == 4
    assert [one.terms for one in (await client.synonyms.get()).groups] == [["lime", "quicklime"], ["wall"]]


async def test_a_key_with_filters_neither_reads_nor_replaces_them(callers: Any) -> None:
    restricted = await callers(harness.new_user(), filters={"metadata": {"team": "tide"}})
    assert_problem(await restricted.client.get(SYNONYMS), 403, "outside_of_key")
    groups = {"groups": [{"terms": ["lantern", "lamp"]}]}
    assert_problem(await restricted.client.put(SYNONYMS, json=groups), 403, "outside_of_key")


async def test_explain_does_not_name_them_to_a_key_with_filters_and_they_are_searched(callers: Any) -> None:
    user, team = harness.new_user(), {"team": "tide"}
    full, restricted = await callers(user), await callers(user, filters={"metadata": team})
    await full.add("The furnace was serviced.", "furnace.md", metadata=team)
    groups = [{"terms": ["boiler", "furnace", "merger"]}]
    assert (await full.client.put(SYNONYMS, json={"groups": groups})).status_code == 200
    for caller, shown in ((full, {"furnac", "merger"}), (restricted, set())):
        asked = {"query": "boiler", "mode": "lexical", "explain": True}
        answer = (await caller.client.post("/api/rag/search", json=asked)).json()
        assert [hit["uri"] for hit in answer["results"]] == ["furnace.md"]
        assert {term["lexeme"] for term in answer["explain"]["terms"]} == {"boiler"} | shown
        assert bool(answer["explain"]["synonyms"]) == bool(shown)


async def test_the_command_names_a_wrong_line_and_prints_what_is_stored(remote: Any, tmp_path: Path) -> None:
    file = tmp_path / "synonyms.txt"
    file.write_text("boiler, furnace\n\nalone\n")
    wrong = await remote("synonyms", "set", file)
    assert (wrong.code, "(line 3)" in wrong.err) == (2, True)
    file.write_text("boiler, furnace\nvehicle => car, lorry\n")
    assert (await remote("synonyms", "set", file)).out == "2 groups, 5 words and phrases.\n"
    assert (await remote("synonyms", "list")).out == "boiler, furnace\nvehicle => car, lorry\n"
    assert (await remote("synonyms", "clear", "--json")).json == {"groups": 0, "terms": 0}
