"""A key with filters sees and changes only the documents that pass them.

The property test draws documents for each restriction. Every read and every write of the contract, and every tool, is
compared with the same of a user who has stored only the visible documents: but for the fields of OBSERVABLE and the
reads of REFUSED they are equal. With STEPWELL_FAULTS=full every query is asked in every way.
"""

import json
import os
import random
import re
from collections.abc import AsyncIterator, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import harness
import httpx
import pytest
from api_caller import Caller
from fastapi import FastAPI
from openapi_operations import OPERATIONS

from app import capability
from app.agents import registry
from app.database.transactions import Database
from app.documents.store import visible_document_lists
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

NAMES = ("Ilse Brandt", "Tomas Vidal", "Mara Quint", "Oskar Lindqvist")
WORDS = ("copper", "lantern", "harbour", "meadow", "granite", "willow")
TEAMS = ("tide", "reef", "dune")
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
RAG = "/api/rag"
FULL = os.environ.get("STEPWELL_FAULTS") == "full"


@dataclass(frozen=True, slots=True)
class Note:
    """A document with a word, a title and a value of metadata that no other one has."""

    team: str
    acl: tuple[str, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    secret: str

    @property
    def uri(self) -> str:
        return f"{self.team}/{self.secret}.md"

    def body(self) -> dict[str, Any]:
        """The document as it is sent."""
        saw = f"{' and '.join(self.names)} saw the {self.words[0]}. "
        text = f"{' '.join(self.words)} {self.secret}. {saw}\n\n## About {self.secret}\n\n{saw * 12}"
        metadata = {"team": self.team, "acl": list(self.acl), "code": f"c{self.secret}", "author": self.names[0]}
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
class Side:
    """A caller, and what requests name that it sees."""

    caller: Caller
    document_id: str
    chunk_id: str
    entity_id: str


@dataclass(frozen=True, slots=True)
class World:
    """A user with all notes and a key of it that is restricted, and a user with only the visible notes.

    `alike` is a key of the second user with the same filters: it sees everything, and may write what the first may.
    """

    full: Caller
    restricted: Side
    other: Side
    alike: Side
    visible: list[Note]
    hidden: list[Note]
    hidden_id: str
    hidden_chunk: str
    hidden_entity: str

    @property
    def hidden_name(self) -> str:
        """A name that only hidden documents have."""
        return NAMES[3]

    def forbidden(self, asked: str) -> Iterator[str]:
        """What no answer to a request with this text may contain."""
        yield self.hidden_id
        yield from (note.secret for note in self.hidden if note.secret not in asked)
        if not set(self.hidden_name.lower().split()) & set(asked.lower().split()):
            yield self.hidden_name


@pytest.fixture(scope="module")
async def app(database: Database, embedder: FakeEmbedder) -> AsyncIterator[FastAPI]:
    """The application with every optional tool and the contracts of other platforms."""
    settings = Settings(auth="api_key", compat="dify, chatgpt", tools=", ".join(capability.optional_tools()))
    services = replace(await harness.services(database, embedder), tools=settings.optional_tools)
    async with harness.running(settings, services) as running:
        yield running


def _notes(kind: str) -> list[Note]:
    """Random notes, of which the first is hidden and alone has the last name; two have the same words."""
    dice, (_filters, passes) = random.Random(kind), RESTRICTIONS[kind]
    notes: list[Note] = []
    while len(notes) < 9:
        names = tuple(dice.sample(NAMES[:3], 1)) if notes else NAMES[3:]
        acl = tuple(dice.sample(("ana", "bob"), dice.randint(0, 2)))
        words = notes[-1].words if len(notes) == 8 else tuple(dice.sample(WORDS, 3))
        note = Note(dice.choice(TEAMS), acl, names, words, "".join(dice.choices("bdfgklmprtvz", k=11)))
        if notes or not passes(note):
            notes.append(note)
    return notes


async def _settle(caller: Caller) -> None:
    """Wait for the jobs of a user: a described entity is shown until it is linked to a hidden document."""
    while waiting := [job for job in (await _get(caller, "jobs"))["jobs"] if job["status"] in ("queued", "running")]:
        for job in waiting:
            await caller.finished(f"{RAG}/jobs/{job['job_id']}")


async def _world(callers: Any, kind: str) -> World:
    filters, passes = RESTRICTIONS[kind]
    user, second = harness.new_user(), harness.new_user()
    full, other = await callers(user), await callers(second)
    notes = _notes(kind)
    visible, hidden = [note for note in notes if passes(note)], [note for note in notes if not passes(note)]
    for caller, stored in ((full, notes), (other, visible)):
        await caller.client.post(f"{RAG}/documents", json=[note.body() for note in stored])
        described = [
            {"type": "team", "name": "Unseen Guild", "aliases": ["guild"]},
            {"type": "place", "name": "meadow"},
        ]
        if caller is full:
            described.append({"type": "project", "name": hidden[0].secret})
        assert (await caller.client.post(f"{RAG}/entities", json=described)).status_code == 201
        await caller.client.put(f"{RAG}/synonyms", json={"groups": [{"terms": ["copper", "bronze"]}]})
        await _settle(caller)
    of_hidden = await _side(full, hidden[0])
    return World(
        full=full,
        restricted=await _side(await callers(user, filters=filters, shows_entities=True), visible[0]),
        other=await _side(other, visible[0]),
        alike=await _side(await callers(second, filters=filters, shows_entities=True), visible[0]),
        visible=visible,
        hidden=hidden,
        hidden_id=of_hidden.document_id,
        hidden_chunk=of_hidden.chunk_id,
        hidden_entity=of_hidden.entity_id,
    )


async def _side(caller: Caller, note: Note) -> Side:
    """The ids of a note, a chunk of it and the author, as the caller sees them."""
    (document,) = (await _get(caller, "documents", uri=note.uri))["documents"]
    chunks = (await _get(caller, f"documents/{document['document_id']}/chunks"))["chunks"]
    named = (await _get(caller, "entities", q=note.names[0]))["entities"][0]
    assert named["name"] == note.names[0]
    return Side(caller, document["document_id"], chunks[0]["chunk_id"], named["entity_id"])


async def _get(caller: Caller, path: str, **params: Any) -> dict[str, Any]:
    response = await caller.client.get(f"/api/rag/{path}", params=params)
    assert response.status_code == 200, response.text
    return response.json()


Request = tuple[str, str, dict[str, Any] | None]
"""Method, path and body."""


def _searches(world: World, side: Side, query: str) -> Iterator[Request]:
    """A query, in every way in which it can be asked."""
    hidden = world.hidden[0]
    body = {"query": query, "limit": 50, "explain": True}
    missed = {"metadata": {"code": f"c{hidden.secret[:-1]}", "team": hidden.team.upper()}}
    for path, more in (
        ("search", {}),
        ("search", {"mode": "lexical", "detail": "compact"}),
        ("search", {"mode": "semantic", "filters": {"document_ids": [world.hidden_id]}}),
        ("search", {"filters": missed, "ranking": {"group": {"by": "document"}}}),
        ("search/two-pass", {}),
        ("search/multihop", {"limit": 10}),
    ):
        yield "POST", f"{RAG}/{path}", {**body, **more}
    yield "POST", f"{RAG}/entities/search", {"query": query}
    yield "POST", f"{RAG}/search/why", {"query": query, "document_id": world.hidden_id}
    yield "POST", f"{RAG}/search/why", {"query": query, "uri": world.visible[0].uri}
    yield "POST", "/retrieval", {"knowledge_id": "default", "query": query}
    for name, arguments in _arguments(query, world, side).items():
        if "query" in (arguments or {}):
            yield "POST", f"{RAG}/tools/{name}", arguments


def _reads(world: World, side: Side) -> Iterator[Request]:
    """What is read by an id, listed or counted."""
    hidden = world.hidden[0]
    listed = ("documents", "entities", "sources", "stats", "jobs", "facets", "synonyms", "tools")
    for path in (*listed, "tools/openapi.json"):
        yield "GET", f"{RAG}/{path}", None
    for key in ("code", "author", "team", "acl"):
        yield "GET", f"{RAG}/facets?key={key}&limit=100", None
    yield "GET", f"{RAG}/facets?key=code&prefix=c{hidden.secret[:3]}", None
    yield "GET", f"{RAG}/facets?of=files&limit=100", None
    yield "GET", f'{RAG}/facets?filters={{"metadata":{{"acl":"ana"}}}}', None
    for one in (side.document_id, world.hidden_id):
        yield "GET", f"{RAG}/documents/{one}", None
        yield "GET", f"{RAG}/documents/{one}/chunks", None
    yield "GET", f"{RAG}/documents?uri={hidden.uri}", None
    yield "GET", f"{RAG}/documents?query={hidden.secret}", None
    for one in (side.entity_id, world.hidden_entity):
        yield "GET", f"{RAG}/entities/{one}", None
        yield "GET", f"{RAG}/entities/{one}/documents", None
    for name in ("meadow", hidden.secret, world.hidden_name):
        yield "GET", f"{RAG}/entities?q={name}", None
    for path in (f"jobs/{world.hidden_id}", f"jobs/{world.hidden_id}/events", f"sources/{world.hidden_id}"):
        yield "GET", f"{RAG}/{path}", None
    yield from _posted_reads(world, side)


def _posted_reads(world: World, side: Side) -> Iterator[Request]:
    """Reads with a body and without a query, and calls of tools."""
    hidden, seen = world.hidden[0], world.visible[0]
    for chunk in (world.hidden_chunk, side.chunk_id):
        yield "POST", f"{RAG}/similar", {"chunk_id": chunk, "limit": 50}
        for options in ({"rerank": "cosine", "query": "copper"}, {}):
            yield "POST", f"{RAG}/rerank", {"lists": [{"name": "a", "hits": [{"chunk_id": chunk}]}], **options}
        yield "POST", f"{RAG}/feedback", {"query": "copper", "chunk_id": chunk, "helpful": True}
    for filters in ({"document_ids": [world.hidden_id]}, {"metadata": {"author": seen.names[0]}}):
        yield "POST", f"{RAG}/documents/delete", {"filters": filters, "dry_run": True}
    yield "POST", f"{RAG}/documents/reindex", {"filters": {"metadata": {"team": hidden.team}}, "dry_run": True}
    yield "POST", "/retrieval", {"knowledge_id": "nowhere", "query": "copper"}
    yield "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}
    for one in (side.document_id, world.hidden_id):
        uri = {"uri": f"stepwell://documents/{one}"}
        yield "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": uri}
    for only in (
        {"document_ids": [hidden.uri]},
        {"document_ids": [seen.uri, world.hidden_id]},
        {"folder": hidden.team},
    ):
        yield "POST", f"{RAG}/tools/search_documents", {"query": "copper", **only}
    for name, arguments in _arguments("copper", world, side).items():
        if "query" not in (arguments or {"query": ""}):
            yield "POST", f"{RAG}/tools/{name}", arguments


def _arguments(query: str, world: World, side: Side) -> dict[str, dict[str, Any] | None]:
    """What each tool is called with; None for one that changes what is stored."""
    return {
        "search_documents": {"query": query},
        "find_similar_chunks": {"chunk_id": side.chunk_id},
        "get_document": {"document_id": side.document_id},
        "list_documents": {},
        "list_facets": {},
        "rate_passage": {"chunk_id": world.hidden_chunk, "helpful": True, "query": "copper"},
        "search": {"query": query},
        "fetch": {"id": world.hidden_id},
        "list_entities": {"query": query},
        "knowledge_stats": {},
        "add_document": None,
        "delete_document": None,
        "list_sources": {},
        "add_source": None,
        "sync_source": None,
    }


def _writes(world: World, side: Side, name: str, number: int) -> Iterator[tuple[str, Request]]:
    """A write of each operation, by its name; the new documents name somebody."""
    team = {key: value for key, value in world.visible[0].body()["metadata"].items() if key in ("team", "acl")}

    def body(place: int, **metadata: Any) -> dict[str, Any]:
        return {
            "content": f"Note {number} {place}.",
            "uri": f"{world.visible[0].team}/{number}-{place}",
            "metadata": {**team, **metadata},
        }

    entity = {"type": "person", "name": name}
    seen, none = f"{RAG}/documents/{side.document_id}", UUID(int=7)
    yield "add_documents", ("POST", f"{RAG}/documents", body(1, author=name))
    yield "add_documents", ("POST", f"{RAG}/documents", [body(2, attendees=[name]), body(3, project=name)])  # type: ignore[misc]
    yield "add_documents", ("POST", f"{RAG}/documents", {**body(4), "title": name})
    yield "add_documents", ("POST", f"{RAG}/documents", {**body(5), "uri": None, "content": f"{name} {number}."})
    form = {"metadata": json.dumps({**team, "team_lead": name, "author": name}), "uri": body(6)["uri"]}
    yield "upload_documents", ("FORM", f"{RAG}/documents/upload", form)
    yield "replace_document", ("PUT", seen, {**body(7, vendor=name), "uri": world.visible[0].uri})
    yield "change_document", ("PATCH", seen, {"metadata": {"attendees": [name], "tags": [name]}})
    yield "change_document", ("PATCH", seen, {"title": name})
    yield "change_document", ("PATCH", seen, {"content": f"{name} wrote this."})
    yield "call_tool", ("POST", f"{RAG}/tools/add_document", body(8, people=[name]))
    yield "add_entities", ("POST", f"{RAG}/entities", entity)
    yield "upsert_entities", ("POST", f"{RAG}/entities/bulk", entity)
    yield "change_entity", ("PATCH", f"{RAG}/entities/{side.entity_id}", {"aliases": [name]})
    yield "delete_entity", ("DELETE", f"{RAG}/entities/{side.entity_id}", None)
    yield "merge_entities", ("POST", f"{RAG}/entities/{side.entity_id}/merge", {"entity_ids": [world.hidden_entity]})
    yield "set_synonyms", ("PUT", f"{RAG}/synonyms", {"groups": [{"terms": [name, "copper"]}]})
    yield "reindex_documents", ("POST", f"{RAG}/documents/reindex", {"filters": {"metadata": {"author": name}}})
    yield "add_source", ("POST", f"{RAG}/sources", {"path": "/tmp", "name": name})
    for operation, method, path in (
        ("change_source", "PATCH", f"sources/{none}"),
        ("sync_source", "POST", f"sources/{none}/sync"),
        ("delete_source", "DELETE", f"sources/{none}"),
        ("cancel_job", "POST", f"jobs/{none}/cancel"),
    ):
        yield operation, (method, f"{RAG}/{path}", {"watch": True} if method == "PATCH" else None)
    yield "call_tool", ("POST", f"{RAG}/tools/add_source", {"path": "/tmp"})
    yield "call_tool", ("POST", f"{RAG}/tools/sync_source", {"source_id": name})
    yield "call_tool", ("POST", f"{RAG}/tools/delete_document", {"document_id": world.hidden_id})
    yield "give_feedback", ("POST", f"{RAG}/feedback", {"query": name, "chunk_id": world.hidden_chunk, "helpful": True})
    yield "delete_document", ("DELETE", f"{RAG}/documents/{world.hidden_id}", None)
    yield "delete_document_by_uri", ("DELETE", f"{RAG}/documents?uri={body(3)['uri']}", None)
    yield "delete_documents", ("POST", f"{RAG}/documents/delete", {"filters": {"metadata": {"author": name}}})


OF_THE_SERVICE = {"healthz", "readyz", "metrics"}
"""Operations that show nothing of a user."""


def test_every_operation_and_tool_is_called_with_a_restricted_key() -> None:
    note = Note("tide", (), ("Ilse Brandt",), ("copper",), "secret")
    side = Side(None, "ID", "ID", "ID")  # type: ignore[arg-type]
    world = World(None, side, side, side, [note], [note], "ID", "ID", "ID")  # type: ignore[arg-type]
    read = [
        (method, path.partition("?")[0]) for method, path, _body in (*_searches(world, side, "a"), *_reads(world, side))
    ]
    of_operation = {
        (method.upper(), re.sub(r"{[a-z_]+_id}", "ID", path)): name for name, (method, path, _) in OPERATIONS.items()
    }
    named = {of_operation[request] for request in read if request in of_operation}
    written = {name for name, _request in _writes(world, side, "a", 1)}
    assert named | written | OF_THE_SERVICE >= OPERATIONS.keys()
    assert _arguments("a", world, side).keys() >= {tool.name for tool in registry.list_all()}


IDS = {"created_at", "updated_at", "took_ms", "request_id", "next_cursor", "timings"}
"""Fields that differ between any two answers, besides ids."""
OBSERVABLE = {
    "scores are made of the statistics of all documents": (
        *("score", "rrf_score", "text_score", "combined_score", "doc_score", "relevance", "answerable", "confidence"),
        *("legs", "rank", "text_rank", "convex_score", "fused", "signals", "parts", "reason"),
    ),
    "explain leaves the statistics out": ("df", "idf", "chunks", "times"),
    "explain does not name synonyms": ("synonyms",),
    "rare terms are followed, which the statistics tell": ("terms", "strategies", "strategies_matched"),
}
"""The fields of answers to queries in which a restricted key differs from a user with the visible documents only."""
SCORES = {name for names in OBSERVABLE.values() for name in names}
REFUSED = {f"GET {RAG}/synonyms": "Synonyms expand the queries of all keys, and need one without filters."}
"""Reads that a key with filters may not make."""
UUIDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _plain(value: Any, dropped: Set[str]) -> Any:
    """JSON without some fields; lists are sorted, because scores order them, and JSON in strings is read."""
    if isinstance(value, str):
        with suppress(ValueError):
            inner = json.loads(value)
            return _plain(inner, dropped) if isinstance(inner, dict | list) else value
        return UUIDS.sub("ID", value)
    if isinstance(value, dict):
        return {key: _plain(inner, dropped) for key, inner in value.items() if key not in dropped}
    if isinstance(value, list):
        return sorted((_plain(inner, dropped) for inner in value), key=lambda one: json.dumps(one, sort_keys=True))
    return value


@pytest.mark.parametrize("kind", sorted(RESTRICTIONS))
async def test_every_read_answers_as_if_only_the_visible_documents_were_stored(callers, kind, monkeypatch) -> None:
    place = sorted(RESTRICTIONS).index(kind)
    if place % 2:
        monkeypatch.setattr(visible_document_lists, "MOST_LISTED", 0)  # documents are looked up instead of being listed
    world = await _world(callers, kind)
    hidden, seen = world.hidden[0].secret, world.visible[0].secret
    # Stored words, a hidden word, its prefix, a typing error of each kind of word, and a hidden name.
    queries = (
        "copper lantern",
        "bronze -meadow",
        hidden,
        f"{hidden[:4]}*",
        f"{hidden[:-1]}x {seen[:-1]}x",
        NAMES[3],
        NAMES[0],
    )
    # Each way to ask is tried with each query under one kind of restriction, and each other read under two.
    for number, query in enumerate(queries):
        sides = (_searches(world, side, query) for side in (world.restricted, world.other))
        for way, pair in enumerate(zip(*sides, strict=True)):
            if FULL or (number + way + place) % len(RESTRICTIONS) == 0:
                await _compare(world, *pair, dropped=IDS | SCORES)
    reads = zip(_reads(world, world.restricted), _reads(world, world.other), strict=True)
    for way, pair in enumerate(reads):
        if FULL or (way + place) % 2 == 0:
            await _compare(world, *pair, dropped=IDS)


async def _compare(
    world: World, request: Request, counterpart: Request, *, dropped: Set[str], written: str = ""
) -> None:
    """Compares the answer to the restricted key with that to the user who has the visible documents only.

    `written` is a name that the restricted key has stored.
    """
    method, path, _body = request
    if f"{method} {path}" in REFUSED:
        return
    sides = ((world.restricted, request), (world.other, counterpart))
    answers = [await _send(side.caller, *one) for side, one in sides]
    asked = json.dumps([*request, written])
    assert not [mark for mark in world.forbidden(asked) if mark in answers[0].text and mark not in asked], request
    one, other = ((answer.status_code, _plain(_json(answer), dropped)) for answer in answers)
    assert one == other, request


async def _send(caller: Caller, method: str, path: str, body: Any) -> httpx.Response:
    if method == "FORM":
        return await caller.client.post(path, files=[("files", ("a.md", "An upload."))], data=body)
    headers = {**HEADERS, "Content-Type": "application/x-ndjson"} if path.endswith("/bulk") else HEADERS
    content = None if body is None else json.dumps(body)
    return await caller.client.request(method, path, content=content, headers=headers)


def _json(answer: httpx.Response) -> Any:
    is_json = answer.headers.get("content-type", "").partition(";")[0].endswith("json")
    return answer.json() if is_json else answer.text


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
        ("POST", "entities", {"name": "Ilse Brandt", "type": "person"}, OUTSIDE),
        ("PATCH", f"entities/{uuid4()}", {"role": "diver"}, GONE),
        ("DELETE", f"entities/{uuid4()}", None, OUTSIDE),
        ("POST", "documents/reindex", {"filters": tide}, OUTSIDE),
        ("POST", f"jobs/{uuid4()}/cancel", None, GONE),
    ]
    for method, path, body, error in expected:
        response = await key.client.request(method, f"/api/rag/{path}", json=body)
        assert (response.status_code, response.json()["code"]) == error, (method, path, response.text)
        if error == GONE and path.startswith("documents"):
            unknown = await key.client.request(method, f"/api/rag/{_unknown(path)}", json=body)
            assert unknown.json()["detail"] == response.json()["detail"], "the answer says that it exists"
    mixed = [{"content": "One.", "uri": "one", **tide}, {"content": "Two.", "uri": "two", **reef}]
    several = (await key.client.post("/api/rag/documents", json=mixed)).json()
    assert (several["added"], [failed["code"] for failed in several["failed"]]) == (1, ["outside_of_key"])
    again = (await key.client.post("/api/rag/documents", json=mixed)).json()
    assert (again["unchanged"], [failed["code"] for failed in again["failed"]]) == (1, ["outside_of_key"])
    refused = await key.client.post("/api/rag/documents", json=mixed[-1:])
    assert (refused.status_code, refused.json()["code"]) == (403, "outside_of_key")
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


@pytest.mark.parametrize("kind", sorted(RESTRICTIONS) if FULL else ["a group"])
async def test_every_write_answers_alike_whichever_names_it_has_and_leaves_the_same(callers, kind) -> None:
    world = await _world(callers, kind)
    for number, name in enumerate(("Otto Lind", NAMES[0], world.hidden_name)[0 if FULL else 1 :]):
        for side in (world.restricted, world.alike):
            await side.caller.client.post(f"{RAG}/search", json={"query": "tide"})  # which caches the names
        pairs = zip(
            _writes(world, world.restricted, name, number), _writes(world, world.alike, name, number), strict=True
        )
        for (operation, request), (_operation, counterpart) in pairs:
            sides = ((world.restricted, request), (world.alike, counterpart))
            answers = [await _send(side.caller, *one) for side, one in sides]
            one, other = ((answer.status_code, _plain(_json(answer), IDS)) for answer in answers)
            assert one == other, (operation, request)
            assert one[0] < 500
    for side in (world.restricted, world.other):
        await _settle(side.caller)
    for pair in zip(_reads(world, world.restricted), _reads(world, world.other), strict=True):
        await _compare(world, *pair, dropped=IDS, written=world.hidden_name)


async def test_hidden_names_take_no_place_of_visible_ones(callers) -> None:
    user = harness.new_user()
    full, restricted = await callers(user), await callers(user, filters={"metadata": {"team": "tide"}})
    shown = ["Nightingala", "Nightingalo", "Nightingalu", "Nightingali", "Nightingzzle"]
    await full.client.post(f"{RAG}/documents", json=[_naming(name, "tide") for name in shown])
    asked = {"query": "nightingale", "limit": 50}

    async def found() -> tuple[list[str], list[str]]:
        searched = (await restricted.client.post(f"{RAG}/entities/search", json=asked)).json()["entities"]
        listed = (await restricted.client.get(f"{RAG}/entities", params={"q": "nightingale", "limit": 50})).json()
        return [one["name"] for one in searched], [one["name"] for one in listed["entities"]]

    before = await found()
    assert "Nightingzzle" in before[0]
    hidden = ["Nightingale", *(f"Nightingale {letter}" for letter in "abcdefghijklmnopqrstuvwxy")]
    await full.client.post(f"{RAG}/documents", json=[_naming(name, "reef") for name in hidden])
    assert await found() == before


async def test_a_name_of_hidden_metadata_in_visible_texts_is_no_error_over_hops(callers) -> None:
    user = harness.new_user()
    full, restricted = await callers(user), await callers(user, filters={"metadata": {"floor": "low"}})
    shown = ["Copper lanterns were bought by Ilse Brandt.", "A granite meadow belongs to Ilse Brandt."]
    noted = [{"content": text, "uri": f"{place}", "metadata": {"floor": "low"}} for place, text in enumerate(shown)]
    author = {"content": "A willow.", "uri": "hidden", "metadata": {"floor": "high", "author": "Ilse Brandt"}}
    await full.client.post(f"{RAG}/documents", json=[author, *noted])
    await _settle(full)
    found = [
        {hit["uri"]: (hit.get("via") or {}).get("name") for hit in answer["results"]}
        for caller in (full, restricted)
        for answer in [await caller.post(f"{RAG}/search/multihop", {"query": "copper lanterns", "mode": "lexical"})]
    ]
    assert found == [{"0": None, "1": "Ilse Brandt", "hidden": "Ilse Brandt"}, {"0": None, "1": "Ilse Brandt"}]


async def test_a_title_that_only_hidden_texts_use_is_no_name(callers) -> None:
    user = harness.new_user()
    full, restricted = await callers(user), await callers(user, filters={"metadata": {"team": "tide"}})
    note = {"content": "The lamp is lit.", "title": "Ilse Brandt", "uri": "note", "metadata": {"team": "tide"}}
    letter = {"content": "Then we met Ilse Brandt.", "uri": "letter", "metadata": {"team": "reef"}}

    async def found() -> list[str]:
        entities = await restricted.post(f"{RAG}/entities/search", {"query": "Ilse Brandt lamp"})
        answer = await restricted.search("Ilse Brandt lamp", ranking={"guidance": {"mode": "force"}})
        return [one["name"] for one in (*entities["entities"], *answer["pass1_entities"])]

    await full.client.post(f"{RAG}/documents", json=[note, letter])
    await _settle(full)
    assert await found() == []
    await full.add(letter["content"], uri="seen", metadata={"team": "tide"})
    assert await found() == ["Ilse Brandt", "Ilse Brandt"]


def _naming(name: str, team: str) -> dict[str, Any]:
    return {"content": f"About {name}.", "uri": name, "metadata": {"team": team, "project": name}}
