"""Ids of documents, chunks and entities are derived from what identifies them: stored again, they have the same id."""

import json
from typing import Any

from api_caller import Caller

DOCUMENTS, ENTITIES = "/api/rag/documents", "/api/rag/entities"
LIME = "# Lime mortar\n\nWe use lime mortar, never cement."
ANA = {"type": "person", "name": "Ana Silva"}


async def ids_of(caller: Caller, document_id: str) -> list[str]:
    """The ids of a document and of its chunks."""
    chunks = (await caller.client.get(f"{DOCUMENTS}/{document_id}/chunks")).json()["chunks"]
    return [document_id, *(chunk["chunk_id"] for chunk in chunks)]


async def entity_id(caller: Caller, **fields: Any) -> str:
    """The id of an entity that is stored by its own request."""
    response = await caller.client.post(ENTITIES, json={**ANA, **fields})
    assert response.status_code == 201, response.text
    return str(response.json()["entity_id"])


async def line_ids(caller: Caller, *lines: dict[str, Any]) -> list[str]:
    """The ids of entities that are stored as JSON lines."""
    raw = "\n".join(map(json.dumps, lines))
    headers = {"Content-Type": "application/x-ndjson"}
    answer = (await caller.client.post(f"{ENTITIES}/bulk", content=raw, headers=headers)).json()
    assert answer["refused"] == 0
    return [line["entity_id"] for line in answer["lines"]]


async def test_a_document_that_a_user_stores_again_has_the_same_ids(new_caller: Any) -> None:
    one, other = await new_caller("search", "write"), await new_caller("search", "write")
    first = await ids_of(one, (await one.add(LIME, uri="lime.md"))["document_id"])
    assert len(first) == 2
    await one.client.delete(f"{DOCUMENTS}/{first[0]}")
    assert await ids_of(one, (await one.add(LIME, uri="lime.md"))["document_id"]) == first
    others = await ids_of(other, (await other.add(LIME, uri="lime.md"))["document_id"])
    assert not set(others) & set(first)
    assert (await one.add(LIME))["document_id"] == (await one.add(LIME))["document_id"] != first[0]


async def test_a_uri_that_a_document_has_given_up_identifies_a_new_document(caller: Caller) -> None:
    moved = (await caller.add(LIME, uri="old.md"))["document_id"]
    assert (await caller.client.put(f"{DOCUMENTS}/{moved}", json={"content": LIME, "uri": "new.md"})).status_code == 200
    added = await caller.add("# Cement\n\nFor the bridge.", uri="old.md")
    assert (added["status"], added["document_id"] != moved) == ("added", True)
    assert (await caller.client.get(f"{DOCUMENTS}/{moved}")).json()["uri"] == "new.md"


async def test_an_entity_that_is_stored_again_has_the_same_id_however_it_is_sent(new_caller: Any) -> None:
    one, other = await new_caller("search", "write"), await new_caller("search", "write")
    first = await entity_id(one)
    await one.client.delete(f"{ENTITIES}/{first}")
    assert await line_ids(one, {**ANA, "role": "mason"}) == [first]
    assert await entity_id(other, name="ana  SILVA") != first
    assert await entity_id(one, type="project") != first


async def test_a_name_that_an_entity_has_given_up_identifies_a_new_entity(caller: Caller) -> None:
    renamed = await entity_id(caller)
    assert (await caller.client.patch(f"{ENTITIES}/{renamed}", json={"name": "Ana Costa"})).status_code == 200
    second = await entity_id(caller)
    assert second != renamed
    (third,) = await line_ids(caller, {"entity_id": second, **ANA, "name": "Ana Reis"})
    assert third == second
    (fourth,) = await line_ids(caller, ANA)
    names = {e["entity_id"]: e["name"] for e in (await caller.client.get(ENTITIES)).json()["entities"]}
    assert names == {renamed: "Ana Costa", second: "Ana Reis", fourth: "Ana Silva"}
