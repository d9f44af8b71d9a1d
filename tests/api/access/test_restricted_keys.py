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
    queries = ["copper lantern", secret, f"{secret[:4]}*", f"{secret[:-1]}x", f"{seen[:-1]}x", f'"{secret}"', NAMES[3]]
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
        for tool in registry.TOOLS:
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
