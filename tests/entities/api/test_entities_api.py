"""Entities are added, changed, merged, and stored from lines, over HTTP."""

import json
from typing import Any
from uuid import uuid4

from api_caller import Caller
from example_app import assert_problem

ENTITIES = "/api/rag/entities"
ANA = {
    "type": "person",
    "name": "Ana Silva",
    "aliases": ["Ana", "asilva"],
    "role": "mason",
    "facts": ["Ana repaired the third landing."],
    "description": "Head of masonry.",
    "metadata": {"office": 3},
}


async def _added(caller: Caller, **fields: Any) -> dict[str, Any]:
    response = await caller.client.post(ENTITIES, json={"type": "person", **fields})
    assert response.status_code == 201, response.text
    stored: dict[str, Any] = response.json()
    return stored


async def _bulk(caller: Caller, *lines: Any) -> dict[str, Any]:
    raw = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    headers = {"Content-Type": "application/x-ndjson"}
    response = await caller.client.post(f"{ENTITIES}/bulk", content=raw.encode(), headers=headers)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def _names(caller: Caller, **params: Any) -> list[str]:
    response = await caller.client.get(ENTITIES, params=params)
    assert response.status_code == 200, response.text
    return [entity["name"] for entity in response.json()["entities"]]


async def test_a_list_is_stored_as_a_whole_or_not_at_all(caller: Caller) -> None:
    response = await caller.client.post(ENTITIES, json=[ANA, {"type": "team", "name": "Masons"}])
    assert response.status_code == 201
    assert [entity["name"] for entity in response.json()["entities"]] == ["Ana Silva", "Masons"]
    clash = await caller.client.post(ENTITIES, json=[{"type": "team", "name": "Divers"}, ANA])
    assert_problem(clash, 409, "conflict", "[1].name")
    twice = await caller.client.post(ENTITIES, json=[{"type": "team", "name": n} for n in ("Divers", "DIVERS")])
    assert_problem(twice, 409, "conflict", "[1].name")
    assert await _names(caller) == ["Ana Silva", "Masons"]


async def test_names_hold_something_to_match_and_are_unique_by_type_ignoring_case(caller: Caller) -> None:
    for name in ("x" * 200, "X", "IT", "陈", "O'Brien-Łukasz 3", "👩 Ana"):
        assert (await _added(caller, name=f"  {name}\n"))["name"] == name
    first = await _added(caller, name="Ana Silva")
    clash = await caller.client.post(ENTITIES, json={"type": "person", "name": "ÁNA  silva"})
    assert_problem(clash, 409, "conflict", "name")
    assert first["entity_id"] not in clash.text
    await _added(caller, name="Ana Silva", type="place")
    other = await _added(caller, name="Ana B", aliases=["Ana Silva", "ana silva"])
    assert other["aliases"] == ["Ana Silva"], "aliases may be shared, and are kept once"


async def test_a_patch_changes_what_it_names_and_nothing_else(caller: Caller) -> None:
    stored = await _added(caller, **ANA)
    path = f"{ENTITIES}/{stored['entity_id']}"
    changed = (await caller.client.patch(path, json={"name": "Ana Costa", "role": None, "facts": []})).json()
    assert changed["updated_at"] >= stored["updated_at"]
    expected = {**stored, "name": "Ana Costa", "role": None, "facts": [], "updated_at": changed["updated_at"]}
    assert changed == expected
    assert (await caller.client.get(path)).json() == expected
    assert (await caller.client.patch(path, json={})).json()["name"] == "Ana Costa"
    for field in ("name", "type", "aliases", "facts", "metadata", "members"):
        assert_problem(await caller.client.patch(path, json={field: None}), 422, "not_null", field)


async def test_namesakes_with_ids_are_stored_changed_and_deleted_apart(caller: Caller) -> None:
    first, chosen = await _added(caller, name="John Smith", role="mason"), str(uuid4())
    clash = await caller.client.post(ENTITIES, json={"type": "person", "name": "john smith"})
    assert_problem(clash, 409, "conflict", "name")
    assert "`entity_id`" in clash.json()["detail"], "the error says how to store a namesake"
    second = await _added(caller, name="John Smith", role="accountant", entity_id=chosen)
    assert second["entity_id"] == chosen
    assert_problem(await caller.client.post(ENTITIES, json=second_again(second)), 409, "conflict", "entity_id")
    paths = [f"{ENTITIES}/{entity['entity_id']}" for entity in (first, second)]
    assert (await caller.client.patch(paths[1], json={"role": "auditor"})).json()["role"] == "auditor"
    assert (await caller.client.get(paths[0])).json() == first
    assert await _names(caller, q="jon smith") == ["John Smith"] * 2
    paged = [one["entity_id"] async for page in caller.pages(ENTITIES, limit=1) for one in page["entities"]]
    assert sorted(paged) == sorted([first["entity_id"], chosen])
    team = {"type": "team", "name": "Roads", "members": [chosen]}
    together = await caller.client.post(
        ENTITIES,
        json=[{**team, "members": [str(new := uuid4())]}, {"type": "person", "name": "Ana", "entity_id": str(new)}],
    )
    assert together.status_code == 201, "an entity of the same request is a member by its chosen id"
    named = [{**team, "name": "Bridges", "members": ["ANA", "Piers"]}, {"type": "team", "name": "Piers"}]
    bridges, piers = (await caller.client.post(ENTITIES, json=named)).json()["entities"]
    assert {*bridges["members"]} == {str(new), piers["entity_id"]}, "by names, of stored entities and of the request"
    changed = await caller.client.patch(f"{ENTITIES}/{bridges['entity_id']}", json={"members": ["Piers"]})
    assert changed.json()["members"] == [piers["entity_id"]]
    several = {**team, "name": "Canals", "members": ["Ana", "John Smith"]}
    assert_problem(await caller.client.post(ENTITIES, json=several), 422, "invalid_request", "members[1]")
    assert (await caller.client.delete(paths[0])).json()["entities_deleted"] == 1
    assert (await caller.client.get(paths[1])).json()["role"] == "auditor"
    renamed = await caller.client.patch(f"{ENTITIES}/{new}", json={"name": "John Smith"})
    assert renamed.json()["name"] == "John Smith", "a change gives the id, so the name need not be unique"
    assert_problem(
        await caller.client.post(ENTITIES, json={"type": "person", "name": "John Smith"}), 409, "conflict", "name"
    )


def second_again(stored: dict[str, Any]) -> dict[str, Any]:
    """A request to add an entity that is stored."""
    return {name: stored[name] for name in ("type", "name", "role", "entity_id")}


async def test_lines_with_ids_keep_namesakes_apart_and_are_idempotent(caller: Caller) -> None:
    other, john = str(uuid4()), {"type": "person", "name": "John Smith"}
    lines = [{**john, "role": "mason"}, {**john, "role": "accountant", "entity_id": other}]
    team = {"type": "team", "name": "Roads", "members": [other]}
    first = await _bulk(caller, team, *lines)
    assert [line["status"] for line in first["lines"]] == ["added"] * 3
    assert (await _bulk(caller, team, *lines))["unchanged"] == 3
    by_name = await _bulk(caller, {"type": "team", "name": "Masons", "members": ["John Smith"]}, john, john)
    assert [line["field"] for line in by_name["lines"]] == ["members[0]", None, "name"]
    assert by_name["lines"][1]["entity_id"] == first["lines"][1]["entity_id"], "without an id: the one of type and name"
    await caller.client.delete(f"{ENTITIES}/{first['lines'][1]['entity_id']}")
    (alone,) = (await _bulk(caller, {**john, "role": "auditor"}))["lines"]
    assert (alone["status"], alone["entity_id"]) == ("updated", other), "as long as there is one of type and name"
    third = (await _bulk(caller, {**john, "entity_id": str(uuid4())}))["lines"]
    (unclear,) = (await _bulk(caller, john))["lines"]
    assert (third[0]["status"], unclear["status"], unclear["field"]) == ("added", "refused", "name")
    assert "`entity_id`" in unclear["detail"]


async def test_the_id_of_an_entity_found_in_documents_cannot_be_chosen(caller: Caller) -> None:
    await caller.client.post("/api/rag/documents", json={"content": "Stone.", "metadata": {"author": "Ana Silva"}})
    (found,) = (await caller.client.get(ENTITIES, params={"origin": "metadata"})).json()["entities"]
    for name in ("Ana Silva", "Somebody else"):
        person = {"type": "person", "name": name, "entity_id": found["entity_id"]}
        assert_problem(await caller.client.post(ENTITIES, json=person), 409, "conflict", "entity_id")
        (line,) = (await _bulk(caller, person))["lines"]
        assert (line["code"], line["field"]) == ("conflict", "entity_id")
    reserved = {"type": "person", "name": "Ana Silva", "entity_id": found["entity_id"]}
    await caller.client.delete("/api/rag/documents", params={"all": "true"})
    assert_problem(await caller.client.post(ENTITIES, json=reserved), 409, "conflict", "entity_id")


async def test_entities_contain_entities_even_in_a_circle(caller: Caller) -> None:
    ana = await _added(caller, name="Ana")
    team = await _added(caller, type="team", name="Masons", members=[ana["entity_id"]])
    assert team["members"] == [ana["entity_id"]]
    circle = await caller.client.patch(f"{ENTITIES}/{ana['entity_id']}", json={"members": [team["entity_id"]]})
    assert circle.json()["members"] == [team["entity_id"]]
    assert (await caller.client.delete(f"{ENTITIES}/{ana['entity_id']}")).status_code == 200
    assert (await caller.client.get(f"{ENTITIES}/{team['entity_id']}")).json()["members"] == []


async def test_a_merged_entity_has_the_names_facts_members_and_teams_of_the_others(caller, new_caller) -> None:
    ana = await _added(caller, name="Ana Silva", aliases=["Ana"], facts=["Ana splices."], metadata={"office": 3})
    lea = await _added(caller, name="Lea", members=[ana["entity_id"]])
    twin = {"aliases": ["ana", "asilva"], "role": "mason", "facts": ["Ana splices.", "Ana sails."]}
    twin |= {"description": "Head of masonry.", "metadata": {"office": 4, "floor": 1}}
    other = await _added(caller, name="A. Silva", **twin, members=[ana["entity_id"], lea["entity_id"]])
    both = [ana["entity_id"], other["entity_id"]]
    teams = [await _added(caller, type="team", name=name, members=both[at:]) for at, name in enumerate("bc")]
    await caller.add("Ask quillon99.", uri="found", metadata={"author": "Quillon Wort"})
    (found,) = (await caller.client.get(ENTITIES, params={"origin": "metadata"})).json()["entities"]
    path = f"{ENTITIES}/{ana['entity_id']}/merge"
    for wrong, field in ((ana["entity_id"], "entity_ids"), (str(uuid4()), "entity_ids[1]")):
        refused = await caller.client.post(path, json={"entity_ids": [found["entity_id"], wrong]})
        assert_problem(refused, 422, "invalid_request", field)
    stranger = await new_caller("search", "write")
    theirs = await _added(stranger, name="Theirs")
    stolen = await stranger.client.post(f"{ENTITIES}/{theirs['entity_id']}/merge", json={"entity_ids": both})
    assert_problem(stolen, 422, "invalid_request", "entity_ids[0]")
    into_found = await caller.client.post(f"{ENTITIES}/{found['entity_id']}/merge", json={"entity_ids": both})
    assert_problem(into_found, 409, "conflict")
    many = await _added(caller, name="Many", facts=[f"Fact {n}." for n in range(200)])
    refused = await caller.client.post(path, json={"entity_ids": [many["entity_id"]]})
    assert_problem(refused, 422, "invalid_request", "entity_ids")
    assert "201 facts" in refused.text
    response = await caller.client.post(path, json={"entity_ids": [other["entity_id"], found["entity_id"]]})
    assert response.status_code == 200, response.text
    merged = response.json()
    expected = {"name": "Ana Silva", "aliases": ["Ana", "A. Silva", "asilva", "Quillon Wort"], "role": "mason"}
    expected |= {"facts": ["Ana splices.", "Ana sails."], "description": "Head of masonry."}
    expected |= {"metadata": {"office": 3, "floor": 1}, "members": [lea["entity_id"]]}
    assert {name: merged[name] for name in expected} == expected
    assert_problem(await caller.client.get(f"{ENTITIES}/{other['entity_id']}"), 404, "not_found")
    assert await _names(caller, origin="metadata") == []
    for team in (*teams, lea):
        members = (await caller.client.get(f"{ENTITIES}/{team['entity_id']}")).json()["members"]
        assert members == [ana["entity_id"]], team["name"]
    for query in ("asilva", "quillon wort", "Ana Silva"):
        answer = (await caller.client.post(f"{ENTITIES}/search", json={"query": query})).json()
        assert answer["entities"][0]["entity_id"] == ana["entity_id"], query


async def test_documents_of_equally_strong_links_are_paged_without_gaps(caller: Caller) -> None:
    ana = await _added(caller, name="Ana Silva")
    for number in range(3):
        await caller.add(f"Ana Silva laid stone {number}.", uri=f"{number}")
    pages = caller.pages(f"{ENTITIES}/{ana['entity_id']}/documents", limit=1)
    assert sorted([one["uri"] async for page in pages for one in page["documents"]]) == ["0", "1", "2"]


async def test_a_bad_line_is_reported_and_the_others_are_stored(caller: Caller) -> None:
    told = await _bulk(
        caller,
        "{not json",
        {"type": "person"},
        {"type": "person", "name": "!!"},
        {"type": "team", "name": "T", "members": ["Nobody"]},
        {"type": "team", "name": "U", "members": ["T"]},
        {"type": "person", "name": "Ana", "entity_id": "ana"},
        {"type": "person", "name": "Ben"},
        {"type": "person", "name": "BEN"},
        '{"type": "person", "name": "\\ud800"}',
    )
    assert [line["status"] for line in told["lines"]] == ["refused"] * 6 + ["added", "refused", "refused"]
    fields = [line["field"] for line in told["lines"]]
    assert fields == ["body", "name", "name", "members[0]", "members", "entity_id", None, "name", "name"]
    assert (told["added"], told["refused"]) == (1, 8)
    assert await _names(caller) == ["Ben"]


async def test_without_the_model_nothing_is_stored_and_the_answer_is_503(caller, embedder) -> None:
    embedder.failing = True
    try:
        one = await caller.client.post(ENTITIES, json=ANA)
        plain = await _added(caller, name="No description")
        headers = {"Content-Type": "application/x-ndjson"}
        lines = await caller.client.post(f"{ENTITIES}/bulk", content=json.dumps(ANA), headers=headers)
        patched = await caller.client.patch(f"{ENTITIES}/{plain['entity_id']}", json={"description": "New."})
    finally:
        embedder.failing = False
    for response in (one, lines, patched):
        assert_problem(response, 503, "unavailable")
    assert await _names(caller) == ["No description"]


async def test_a_change_is_found_by_its_new_words_and_no_longer_by_the_old_ones(caller, owner) -> None:
    stored = await _added(caller, **ANA)
    vectors, seen = "SELECT embedding::text FROM stepwell.entity_vectors WHERE user_id = $1", set()
    for change in ({}, {"facts": ["Sings in bars."]}, {"role": "singer"}, {"description": "Another."}):
        await caller.client.patch(f"{ENTITIES}/{stored['entity_id']}", json=change)
        seen.add(await owner.fetchval(vectors, caller.user_id))
    assert len(seen) == 4
    for query, matched in (("the singer", ["role"]), ("the mason", [])):
        found = (await caller.post(f"{ENTITIES}/search", {"query": query}))["entities"]
        assert [one["matched_by"] for one in found] == matched
