"""A key with filters sees and changes only the documents that pass them.

The property test draws documents for each restriction, and calls every read of the contract and every tool: listings
equal those of a user who has stored only the visible documents, and no answer contains anything of the others.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import harness
import pytest
from api_caller import Caller
from fastapi import FastAPI

from app.store.connection.transactions import Database
from app.tools import registry

NAMES = ("Ilse Brandt", "Tomas Vidal", "Mara Quint", "Oskar Lindqvist")
WORDS = ("copper", "lantern", "harbour", "meadow", "granite", "willow")
TEAMS = ("tide", "reef", "dune")
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Note:
    """A document with a word, a title and a value of metadata that no other one has."""

    place: int
    team: str
    acl: tuple[str, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    secret: str = field(default_factory=lambda: "".join(random.Random(uuid4().int).choices("bdfgklmprtvz", k=11)))

    @property
    def uri(self) -> str:
        return f"{self.team}/{self.secret}.md"

    def body(self) -> dict[str, Any]:
        """The document as it is sent."""
        text = f"{' '.join(self.words)} {self.secret}. {' and '.join(self.names)} saw the {self.words[0]}."
        metadata = {"team": self.team, "acl": list(self.acl), "code": f"c{self.secret}"}
        return {"content": text, "uri": self.uri, "title": f"Report {self.secret}", "metadata": metadata}


RESTRICTIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "a value": ({"metadata": {"team": "tide"}}, lambda note: note.team == "tide"),
    "a list": ({"metadata": {"acl": {"in": ["ana"]}}}, lambda note: "ana" in note.acl),
    "a group": (
        {"any": [{"metadata": {"team": "reef"}}, {"not": {"metadata": {"acl": "bob"}}}]},
        lambda note: note.team == "reef" or "bob" not in note.acl,
    ),
    "a time and a prefix": (
        {"not": {"uri_prefix": "dune/"}, "created_after": "2020-01-01"},
        lambda note: note.team != "dune",
    ),
}


@dataclass(frozen=True, slots=True)
class World:
    """A user with all notes, a key of it that is restricted, and another user with only the visible notes."""

    full: Caller
    restricted: Caller
    other: Caller
    filters: dict[str, Any]
    visible: list[Note]
    hidden: list[Note]
    ids: Mapping[str, str]

    @property
    def hidden_names(self) -> list[str]:
        return [name for name in NAMES if not any(name in note.names for note in self.visible)]

    def forbidden(self, asked: str) -> Iterator[str]:
        """What no answer to a request with this text may contain."""
        for note in self.hidden:
            yield self.ids[note.uri]
            yield from (mark for mark in (note.secret,) if mark not in asked)
        yield from (name for name in self.hidden_names if not set(name.lower().split()) & set(asked.lower().split()))


@pytest.fixture
async def callers(app: FastAPI, database: Database) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:

        async def caller(user: str, *scopes: str, **fields: Any) -> Caller:
            key = await harness.create_key(database, user, *scopes, **fields)
            return Caller(
                user, key, await stack.enter_async_context(harness.client(app, Authorization=f"Bearer {key}"))
            )

        yield caller


async def _world(callers: Any, notes: list[Note], kind: str) -> World:
    filters, passes = RESTRICTIONS[kind]
    user = harness.new_user()
    full, restricted = await callers(user), await callers(user, filters=filters)
    other = await callers(harness.new_user())
    visible = [note for note in notes if passes(note)]
    ids = {}
    for note in notes:
        ids[note.uri] = (await full.add(**note.body()))["document_id"]
        if note in visible:
            await other.add(**note.body())
    hidden = [note for note in notes if note not in visible]
    return World(full, restricted, other, filters, visible, hidden, ids)


async def _get(caller: Caller, path: str, **params: Any) -> dict[str, Any]:
    response = await caller.client.get(f"/api/rag/{path}", params=params)
    assert response.status_code == 200, response.text
    return response.json()


def _without(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    kept = [{name: value for name, value in row.items() if name not in names} for row in rows]
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


async def _listings(caller: Caller) -> dict[str, Any]:
    """Everything that is listed, without ids and times, which differ between two users."""
    varying = ("document_id", "chunk_id", "entity_id", "created_at", "updated_at")
    documents = (await _get(caller, "documents", limit=100))["documents"]
    entities = (await _get(caller, "entities", limit=100))["entities"]
    found: dict[str, Any] = {
        "documents": _without(documents, *varying),
        "entities": _without(entities, *varying),
        "sources": (await _get(caller, "sources"))["sources"],
        "stats": await _get(caller, "stats"),
        "facets": await _get(caller, "facets"),
    }
    found["stats"].pop("cache", None)
    for document in documents:
        chunks = await _get(caller, f"documents/{document['document_id']}/chunks")
        found[document["uri"]] = _without(chunks["chunks"], *varying)
    for entity in entities:
        linked = await _get(caller, f"entities/{entity['entity_id']}/documents")
        found[f"{entity['type']} {entity['name']}"] = _without(linked["documents"], *varying)
    return found


def _requests(world: World, query: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every read with a body, for a query."""
    body = {"query": query, "limit": 50, "explain": True}
    hidden = world.hidden[0] if world.hidden else None
    yield "search", body
    yield "search", {**body, "mode": "lexical", "snippets": True}
    yield "search", {**body, "mode": "semantic"}
    yield "search/two-pass", body
    yield "search/multihop", {**body, "limit": 10}
    yield "entities/search", {"query": query}
    yield "search", {**body, "filters": {"metadata": {"code": f"c{world.hidden[0].secret[:-1]}"}}}
    if hidden is not None:
        yield "search/why", {"query": query, "document_id": world.ids[hidden.uri]}
        yield "search/why", {"query": query, "uri": hidden.uri}
        yield "documents/delete", {"filters": {"document_ids": [world.ids[hidden.uri]]}, "dry_run": True}
        yield "documents/reindex", {"filters": {"metadata": {"team": hidden.team}}, "dry_run": True}
        yield "search", {**body, "filters": {"document_ids": [world.ids[hidden.uri]]}}
    if world.visible:
        yield "search/why", {"query": query, "uri": world.visible[0].uri}


@pytest.mark.parametrize("kind", sorted(RESTRICTIONS))
async def test_every_read_answers_as_if_only_the_visible_documents_were_stored(callers, kind) -> None:
    rng = random.Random(kind)
    notes = [
        Note(
            place,
            rng.choice(TEAMS),
            tuple(rng.sample(("ana", "bob"), rng.randint(0, 2))),
            tuple(rng.sample(NAMES[:3] if place else NAMES[3:], 1)),
            tuple(rng.sample(WORDS, 3)),
        )
        for place in range(8)
    ]
    world = await _world(callers, notes, kind)
    assert world.visible
    assert world.hidden
    assert await _listings(world.restricted) == await _listings(world.other)
    secret, seen = world.hidden[0].secret, world.visible[0].secret
    # A stored word, a hidden word, its prefix and a typing error of each kind of word, and a hidden name.
    queries = ["copper lantern", secret, f"{secret[:4]}*", f"{secret[:-1]}x {seen[:-1]}x", NAMES[3]]
    for query in queries:
        for path, body in _requests(world, query):
            response = await world.restricted.client.post(f"/api/rag/{path}", json=body)
            text = response.text
            assert response.status_code in (200, 404), (path, body, text)
            leaked = [
                mark for mark in world.forbidden(json.dumps(body)) if mark in text and mark not in json.dumps(body)
            ]
            assert not leaked, (path, body, leaked)
            if path == "search" and "filters" not in body:
                asked = {**body, "filters": world.filters}
                expected = (await world.full.client.post("/api/rag/search", json=asked)).json()["results"]
                found = {hit["uri"] for hit in response.json()["results"]}
                assert found >= {hit["uri"] for hit in expected}, (path, body)
        for tool in registry.TOOLS if query in queries[:2] else ():
            arguments = _arguments(tool.name, query, world)
            if arguments is not None:
                response = await world.restricted.client.post(f"/api/rag/tools/{tool.name}", json=arguments)
                assert response.status_code in (200, 403, 404), response.text
                asked = json.dumps(arguments)
                leaked = [mark for mark in world.forbidden(asked) if mark in response.text and mark not in asked]
                assert not leaked, (tool.name, arguments, leaked)
    for note in world.hidden:
        for path in (f"documents/{world.ids[note.uri]}", f"documents/{world.ids[note.uri]}/chunks"):
            unknown = await world.restricted.client.get(f"/api/rag/{path}")
            assert (unknown.status_code, unknown.json()["detail"]) == (404, "No such document.")
    listed = await world.restricted.client.post(
        "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, headers=HEADERS
    )
    assert not [mark for mark in world.forbidden("") if mark in listed.text]
    assert all(note.secret in listed.text for note in world.visible)


def _arguments(tool: str, query: str, world: World) -> dict[str, Any] | None:
    """What a tool is called with; None for one that changes something."""
    hidden = world.ids[world.hidden[0].uri]
    return {
        "search_documents": {"query": query},
        "search_documents_multihop": {"query": query},
        "search_documents_by_entity": {"query": query},
        "find_similar_chunks": {"chunk_id": hidden},
        "get_document": {"document_id": hidden},
        "list_documents": {},
        "list_facets": {},
        "search": {"query": query},
        "fetch": {"id": hidden},
        "list_entities": {"query": query},
        "knowledge_stats": {},
        "delete_document": {"document_id": hidden},
        "list_sources": {},
        "add_source": {"path": "/tmp"},
    }.get(tool)


OUTSIDE, GONE = (403, "outside_of_key"), (404, "not_found")


async def test_a_write_concerns_only_documents_that_pass_before_and_after(callers) -> None:
    user = harness.new_user()
    full = await callers(user)
    key = await callers(user, filters={"metadata": {"team": "tide"}})
    seen = await full.add("The copper lantern burns.", uri="seen", metadata={"team": "tide"})
    hidden = await full.add("The granite lantern burns.", uri="hidden", metadata={"team": "reef"})
    tide, reef = {"metadata": {"team": "tide"}}, {"metadata": {"team": "reef"}}
    large = "A willow. " * 110_000
    unseen, known = f"documents/{hidden['document_id']}", f"documents/{seen['document_id']}"
    expected: list[tuple[str, str, Any, Any]] = [
        ("POST", "documents", {"content": "New."}, OUTSIDE),
        ("POST", "documents", {"content": "New.", **reef}, OUTSIDE),
        ("POST", "documents", {"content": "New.", "uri": "hidden", **tide}, OUTSIDE),
        ("POST", "documents", {"content": large, "uri": "large", **reef}, OUTSIDE),
        ("POST", "documents", {"content": large, "uri": "hidden", **tide}, OUTSIDE),
        ("PUT", known, {"content": "Other.", **reef}, OUTSIDE),
        ("PUT", unseen, {"content": "Other.", **tide}, GONE),
        ("PATCH", known, {"metadata": {"team": "reef"}}, OUTSIDE),
        ("PATCH", known, {"content": "Other.", "metadata": {"team": None}}, OUTSIDE),
        ("PATCH", unseen, tide, GONE),
        ("DELETE", unseen, None, GONE),
        ("DELETE", "documents?uri=hidden", None, GONE),
        ("POST", "feedback", {"query": "lantern", "document_id": hidden["document_id"], "helpful": True}, GONE),
        ("POST", "entities", {"name": "Ilse Brandt", "type": "person"}, OUTSIDE),
        ("POST", "documents/reindex", {"filters": tide}, OUTSIDE),
        ("GET", "synonyms", None, OUTSIDE),
    ]
    for method, path, body, error in expected:
        response = await key.client.request(method, f"/api/rag/{path}", json=body)
        assert (response.status_code, response.json()["code"]) == error, (method, path, response.text)
        if error == GONE and path != "feedback":
            unknown = await key.client.request(method, f"/api/rag/{_unknown(path)}", json=body)
            assert unknown.json()["detail"] == response.json()["detail"], "the answer says that it exists"
    mixed = [{"content": "One.", "uri": "one", **tide}, {"content": "Two.", "uri": "two", **reef}]
    several = (await key.client.post("/api/rag/documents", json=mixed)).json()
    assert (several["added"], [failed["code"] for failed in several["failed"]]) == (1, ["outside_of_key"])
    assert (await key.client.patch(f"/api/rag/{known}", json={"title": "Lamp"})).status_code == 200
    everything = {"filters": {"metadata": {"team": {"exists": True}}}}
    assert (await key.client.post("/api/rag/documents/delete", json=everything)).json()["documents_deleted"] == 2
    assert [document["uri"] for document in (await _get(full, "documents"))["documents"]] == ["hidden"]


def _unknown(path: str) -> str:
    return "documents?uri=none" if "uri=" in path else f"documents/{uuid4()}"


async def test_what_a_caller_started_is_of_its_audience(callers) -> None:
    user, filters = harness.new_user(), {"metadata": {"team": "tide"}}
    full = await callers(user)
    one, same = await callers(user, filters=filters), await callers(user, filters=filters)
    other = await callers(user, filters={"metadata": {"team": {"in": ["tide", "reef"]}}})
    body = {"content": "A willow. " * 110_000, "uri": "large", **filters}
    header = {"Idempotency-Key": "k"}
    queued = await one.client.post("/api/rag/documents", json=body, headers=header)
    assert queued.status_code == 202, queued.text
    job = queued.json()["job_id"]
    shown = [(await caller.client.get(f"/api/rag/jobs/{job}")).status_code for caller in (full, one, same, other)]
    assert shown == [200, 200, 200, 404]
    again = [await caller.client.post("/api/rag/documents", json=body, headers=header) for caller in (same, other)]
    assert [answer.headers.get("Idempotent-Replayed") for answer in again] == ["true", None]
    for number in range(3):
        await full.add(f"Copper {number}.", **filters)
    page = (await one.search("copper", limit=1))["next_cursor"]
    asked = {"query": "copper", "limit": 1, "cursor": page}
    statuses = [(await c.client.post("/api/rag/search", json=asked)).status_code for c in (same, other, full)]
    assert statuses[0] in (200, 409), "409: the job has changed the documents meanwhile"
    assert statuses[1:] == [422, 422]
