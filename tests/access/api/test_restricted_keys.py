"""A key with filters sees and changes only the documents that pass them.

The property test draws documents for each restriction, and calls every read of the contract and every tool: listings
equal those of a user who has stored only the visible documents, and no answer contains anything of the others.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import harness
import pytest
from api_caller import Caller
from fastapi import FastAPI
from openapi_operations import OPERATIONS

from app.agents import registry
from app.database.transactions import Database
from app.documents.store import visible_documents
from app.relevance import relevance
from app.settings import Settings
from app.tools.optional_tools import OPTIONAL_TOOLS
from benchmarks.fake_embedder import FakeEmbedder

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
    hidden_entity: str
    hidden_chunk: str
    seen_chunk: str

    @property
    def hidden_names(self) -> list[str]:
        return [name for name in NAMES if not any(name in note.names for note in self.visible)]

    def forbidden(self, asked: str) -> Iterator[str]:
        """What no answer to a request with this text may contain."""
        for note in self.hidden:
            yield self.ids[note.uri]
            yield from (mark for mark in (note.secret,) if mark not in asked)
        yield from (name for name in self.hidden_names if not set(name.lower().split()) & set(asked.lower().split()))


@pytest.fixture(scope="module")
async def app(database: Database, embedder: FakeEmbedder) -> AsyncIterator[FastAPI]:
    """The application with every optional tool and the contracts of other platforms."""
    settings = Settings(auth="api_key", compat="dify, chatgpt", tools=", ".join(OPTIONAL_TOOLS))
    services = replace(await harness.services(database, embedder), tools=settings.optional_tools)
    async with harness.running(settings, services) as running:
        yield running


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
    hidden = [note for note in notes if note not in visible]
    await full.client.post(f"{RAG}/documents", json=[note.body() for note in notes])
    ids = {each["uri"]: each["document_id"] for each in (await _get(full, "documents"))["documents"]}
    await other.client.post(f"{RAG}/documents", json=[note.body() for note in visible])
    entities = (await _get(full, "entities", limit=100))["entities"]
    unseen = [each["entity_id"] for each in entities if hidden[0].secret in each["name"]]
    chunks = [
        (await _get(full, f"documents/{ids[note.uri]}/chunks"))["chunks"][0]["chunk_id"]
        for note in (hidden[0], visible[0])
    ]
    return World(full, restricted, other, filters, visible, hidden, ids, unseen[0] if unseen else str(uuid4()), *chunks)


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
        "values": await _get(caller, "facets", key="code", prefix="c", limit=100),
    }
    found["stats"].pop("cache", None)
    for document in documents[:3]:
        chunks = await _get(caller, f"documents/{document['document_id']}/chunks")
        found[document["uri"]] = _without(chunks["chunks"], *varying)
    for entity in entities[:3]:
        linked = await _get(caller, f"entities/{entity['entity_id']}/documents")
        found[f"{entity['type']} {entity['name']}"] = _without(linked["documents"], *varying)
    return found


Request = tuple[str, str, dict[str, Any] | None]
"""Method, path and body."""
RAG = "/api/rag"


def _searches(world: World, query: str) -> Iterator[Request]:
    """A query, in every way in which it can be asked."""
    hidden = world.hidden[0]
    body = {"query": query, "limit": 50, "explain": True}
    missed = {"metadata": {"code": f"c{hidden.secret[:-1]}", "team": hidden.team.upper()}}
    for path, more in (
        ("search", {}),
        ("search", {"mode": "lexical", "detail": "compact"}),
        ("search", {"mode": "semantic", "filters": {"document_ids": [world.ids[hidden.uri]]}}),
        ("search", {"filters": missed, "ranking": {"group": {"by": "document"}}}),
        ("search/two-pass", {}),
        ("search/multihop", {"limit": 10}),
    ):
        yield "POST", f"{RAG}/{path}", {**body, **more}
    yield "POST", f"{RAG}/entities/search", {"query": query}
    yield "POST", f"{RAG}/search/why", {"query": query, "document_id": world.ids[hidden.uri]}
    yield "POST", f"{RAG}/search/why", {"query": query, "uri": world.visible[0].uri}
    yield "POST", "/retrieval", {"knowledge_id": "default", "query": query}
    for name, arguments in _arguments(query, world).items():
        if "query" in (arguments or {}):
            yield "POST", f"{RAG}/tools/{name}", arguments


def _reads(world: World) -> Iterator[Request]:
    """What is read by an id, listed or counted."""
    hidden, other = world.hidden[0], world.ids[world.hidden[0].uri]
    by_team = [{"name": "team", "comparison_operator": "is", "value": hidden.team}]
    yield "GET", f"{RAG}/documents/{other}", None
    yield "GET", f"{RAG}/documents/{other}/chunks", None
    yield "GET", f"{RAG}/documents?uri={hidden.uri}", None
    yield "GET", f"{RAG}/facets?key=code&prefix=c{hidden.secret[:3]}", None
    yield "GET", f"{RAG}/entities/{world.hidden_entity}", None
    yield "GET", f"{RAG}/entities/{world.hidden_entity}/documents", None
    yield "GET", f"{RAG}/jobs", None
    yield "GET", f"{RAG}/jobs/{other}", None
    yield "GET", f"{RAG}/jobs/{other}/events", None
    yield "GET", f"{RAG}/sources/{other}", None
    yield "GET", f"{RAG}/synonyms", None
    yield "GET", f"{RAG}/tools", None
    yield "GET", f"{RAG}/tools/openapi.json", None
    yield "POST", f"{RAG}/similar", {"chunk_id": world.hidden_chunk}
    yield "POST", f"{RAG}/similar", {"chunk_id": world.seen_chunk, "limit": 50}
    for options in ({"rerank": "cosine", "query": "copper"}, {}):
        yield "POST", f"{RAG}/rerank", {"lists": [{"name": "a", "hits": [{"chunk_id": world.hidden_chunk}]}], **options}
    yield "POST", f"{RAG}/documents/delete", {"filters": {"document_ids": [other]}, "dry_run": True}
    yield "POST", f"{RAG}/documents/reindex", {"filters": {"metadata": {"team": hidden.team}}, "dry_run": True}
    yield "POST", f"{RAG}/feedback", {"query": "copper", "chunk_id": world.hidden_chunk, "helpful": True}
    yield "POST", "/retrieval", {"knowledge_id": "nowhere", "query": "copper"}
    yield (
        "POST",
        "/retrieval",
        {"knowledge_id": "default", "query": "copper", "metadata_condition": {"conditions": by_team}},
    )
    yield "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}
    yield (
        "POST",
        "/mcp",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "resources/read",
            "params": {"uri": f"stepwell://documents/{other}"},
        },
    )
    for name, arguments in _arguments("copper", world).items():
        if "query" not in (arguments or {"query": ""}):
            yield "POST", f"{RAG}/tools/{name}", arguments


LISTED = {"list_documents", "list_chunks", "list_entities", "list_entity_documents", "list_sources", "stats"}
"""Operations of `_listings`, whose answers are compared with those of a user who has nothing else."""
WRITES = {
    *("add_documents", "upload_documents", "replace_document", "change_document", "delete_document"),
    *("delete_document_by_uri", "add_entities", "upsert_entities", "change_entity", "delete_entity", "set_synonyms"),
    "merge_entities",
    *("add_source", "change_source", "delete_source", "sync_source", "cancel_job"),
}
"""Operations that change something: see the tests below."""
OF_THE_SERVICE = {"healthz", "readyz", "metrics"}
"""Operations that show nothing of a user."""


def test_every_operation_and_tool_is_called_with_a_restricted_key() -> None:
    note = Note(0, "tide", (), (), ("copper",))
    world = World(*(None,) * 3, {}, [note], [note], {note.uri: "ID"}, "ENTITY", "CHUNK", "CHUNK")  # type: ignore[arg-type]
    called = {(method, path.partition("?")[0]) for method, path, _body in (*_searches(world, "a"), *_reads(world))}
    paths = re.compile("ID|ENTITY|CHUNK")
    named = LISTED | {
        name
        for name, (method, path, _operation) in OPERATIONS.items()
        if (method.upper(), re.sub(r"{[a-z_]+_id}", "*", path)) in {(m, paths.sub("*", p)) for m, p in called}
    }
    assert named | WRITES | OF_THE_SERVICE == OPERATIONS.keys() - {"call_tool"}
    assert not named & WRITES
    assert _arguments("a", world).keys() == {tool.name for tool in registry.every()}


@pytest.mark.parametrize("kind", sorted(RESTRICTIONS))
async def test_every_read_answers_as_if_only_the_visible_documents_were_stored(callers, kind, monkeypatch) -> None:
    rng, place = random.Random(kind), sorted(RESTRICTIONS).index(kind)
    if place % 2:
        monkeypatch.setattr(visible_documents, "MOST_LISTED", 0)  # documents are looked up instead of being listed
    notes = [
        Note(
            number,
            rng.choice(TEAMS),
            tuple(rng.sample(("ana", "bob"), rng.randint(0, 2))),
            tuple(rng.sample(NAMES[:3] if number else NAMES[3:], 1)),
            tuple(rng.sample(WORDS, 3)),
        )
        for number in range(8)
    ]
    world = await _world(callers, notes, kind)
    assert world.visible
    assert world.hidden
    assert await _listings(world.restricted) == await _listings(world.other)
    secret, seen = world.hidden[0].secret, world.visible[0].secret
    # A stored word, a hidden word, its prefix and a typing error of each kind of word, and a hidden name.
    queries = ["copper lantern", secret, f"{secret[:4]}*", f"{secret[:-1]}x {seen[:-1]}x", NAMES[3]]
    # Each pair of a query and a way to ask it is tried with one kind of restriction, the first query with all of them.
    pairs = [
        (query, request)
        for number, query in enumerate(queries)
        for way, request in enumerate(_searches(world, query))
        if not number or (number + way + place) % 4 == 0
    ]
    for query, request in [*pairs, *(("", read) for read in _reads(world))]:
        await _ask(world, query, request)
    for note in world.hidden:
        unknown = await world.restricted.client.get(f"{RAG}/documents/{world.ids[note.uri]}")
        assert (unknown.status_code, unknown.json()["detail"]) == (404, "No such document.")


ASKED = [
    "copper lantern",
    "Where did Ilse Brandt see the copper?",
    "tomas vidal granite",
    "Mara Quint",
    "+harbour willow",
    "coper lantern",
    "ferry",
]


@pytest.mark.parametrize("kind", ["a value", "a group"])
async def test_a_search_is_scored_as_if_only_the_visible_documents_were_stored(
    callers, embedder, kind, monkeypatch
) -> None:
    """Scores, relevance, confidence, entities and reasons, beside hidden documents with the words and names asked."""
    monkeypatch.setattr(relevance, "MODELS", {embedder.model.name: relevance.MODELS["all-MiniLM-L6-v2"]})
    rng = random.Random(kind)
    notes = [
        Note(
            number,
            rng.choice(TEAMS),
            tuple(rng.sample(("ana", "bob"), rng.randint(0, 2))),
            tuple(rng.sample(NAMES, 1 + number % 2)),
            (*rng.sample(WORDS, 3), *["stone"] * number),  # no two of one length, whose scores are equal
        )
        for number in range(30)
    ]
    world = await _world(callers, notes, kind)
    ferry = {"content": "The ferry and Ilse Brandt left.", "uri": "hidden/ferry", "title": "Ilse Brandt"}
    for metadata in ({"author": "Ferry"}, {"attendees": ["Granite Willow", "Ilse Brandt"]}):
        response = await world.full.client.post(
            f"{RAG}/documents", json={**ferry, "metadata": {**metadata, "acl": ["bob"]}}
        )
        assert response.status_code in (200, 201)
    for query in ASKED:
        for options in (
            {},
            {"mode": "hybrid", "limit": 3},
            {"mode": "lexical"},
            {"mode": "semantic"},
            {"filters": {"metadata": {"acl": "bob"}}},
            {"ranking": {"guidance": {"mode": "force"}}},
        ):
            body = {"query": query, "explain": True, **options}
            seen, alone = [await _scored(caller, body) for caller in (world.restricted, world.other)]
            assert seen == alone, body


async def _scored(caller: Caller, body: dict[str, Any]) -> dict[str, Any]:
    """What an answer says of the query and of each hit, without ids, which differ between users."""
    response = await caller.client.post(f"{RAG}/search", json=body)
    assert response.status_code == 200, response.text
    answer = response.json()
    names = ("score", "relevance", "confidence", "rrf_score", "vector_score", "text_score")
    hits = {hit["uri"]: [hit[name] for name in names] for hit in answer["results"]}
    said = ("answerable", "hints", "relaxed", "degraded", "excluded", "search_mode")
    explained = answer["explain"]
    entities = explained["entities"]
    matched = [{**one, "entity_id": None} for one in entities["pass1"]]
    of_query = ("query_type", "confidence", "fallback_reason", "corrections", "relevance", "chunks_in_scope")
    return {
        "hits": hits,
        "entities": {**entities, "pass1": sorted(matched, key=lambda one: (one["name"], one["type"]))},
        **{name: answer.get(name) for name in said},
        **{name: explained.get(name) for name in of_query},
    }


async def _ask(world: World, query: str, request: Request) -> None:
    """Sends a request with the restricted key, and looks for what its answer must not contain."""
    method, path, body = request
    response = await world.restricted.client.request(method, path, json=body, headers=HEADERS)
    asked = json.dumps([path, body])
    assert response.status_code in (200, 202, 403, 404), (path, body, response.text)
    leaked = [mark for mark in world.forbidden(asked) if mark in response.text and mark not in asked]
    assert not leaked, (path, body, leaked)
    if path == f"{RAG}/search" and query and body is not None and "filters" not in body:
        unrestricted = {**body, "filters": world.filters}
        expected = (await world.full.client.post(path, json=unrestricted)).json()["results"]
        assert {hit["uri"] for hit in response.json()["results"]} >= {hit["uri"] for hit in expected}, body
    if body is not None and body.get("method") == "resources/list":
        assert all(note.secret in response.text for note in world.visible)


def _arguments(query: str, world: World) -> dict[str, dict[str, Any] | None]:
    """What each tool is called with; None for one that changes what is stored."""
    hidden = world.ids[world.hidden[0].uri]
    return {
        "search_documents": {"query": query},
        "search_documents_multihop": {"query": query},
        "search_documents_by_entity": {"query": query},
        "find_similar_chunks": {"chunk_id": world.hidden_chunk},
        "get_document": {"document_id": hidden},
        "list_documents": {},
        "list_facets": {},
        "rate_passage": {"chunk_id": world.hidden_chunk, "helpful": True, "query": "copper"},
        "search": {"query": query},
        "fetch": {"id": hidden},
        "list_entities": {"query": query},
        "knowledge_stats": {},
        "add_document": None,
        "delete_document": {"document_id": hidden},
        "list_sources": {},
        "add_source": {"path": "/tmp"},
        "sync_source": {"source_id": hidden},
    }


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
        ("PATCH", f"entities/{uuid4()}", {"role": "diver"}, GONE),
        ("DELETE", f"entities/{uuid4()}", None, OUTSIDE),
        ("POST", "documents/reindex", {"filters": tide}, OUTSIDE),
        ("GET", "synonyms", None, OUTSIDE),
        ("PUT", "synonyms", {"groups": [{"terms": ["lantern", "lamp"]}]}, OUTSIDE),
        ("POST", "sources", {"path": "/tmp"}, (403, "folder_not_allowed")),
        ("PATCH", f"sources/{uuid4()}", {"watch": True}, GONE),
        ("POST", f"sources/{uuid4()}/sync", None, GONE),
        ("DELETE", f"sources/{uuid4()}", None, GONE),
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


async def test_a_write_that_names_somebody_answers_alike_whether_a_hidden_document_names_them(callers) -> None:
    user = harness.new_user()
    full, restricted = await callers(user), await callers(user, filters={"metadata": {"team": "tide"}})
    hidden = {"content": "A hidden note.", "uri": "h", "metadata": {"team": "reef", "author": "Ivo Brandt"}}
    await full.client.post(f"{RAG}/documents", json=hidden)
    await restricted.client.post(f"{RAG}/search", json={"query": "tide"})  # which caches the names
    answers = []
    for place, author in enumerate(("Ivo Brandt", "Otto Lind")):
        body = {"content": f"Note {place}.", "uri": f"t/{place}", "metadata": {"team": "tide", "author": author}}
        stored = await restricted.client.post(f"{RAG}/documents", json=body)
        changed = await restricted.client.patch(
            f"{RAG}/documents/{stored.json()['document_id']}", json={"metadata": {"attendees": [f"{author} Junior"]}}
        )
        answers.append((stored.status_code, changed.status_code))
    assert answers == [(201, 200), (201, 200)]


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


def _naming(name: str, team: str) -> dict[str, Any]:
    return {"content": f"About {name}.", "uri": name, "metadata": {"team": team, "project": name}}
