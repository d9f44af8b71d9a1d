"""Builds a user's data, changes it, and asks for it in many ways; each request goes to both databases."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from requests_of import search_body

from app.documents.types import Upload
from app.entities.types import EntityDraft
from citus.pair import Pair

API = "/api/rag"
SEARCH, DOCUMENTS, ENTITIES = f"{API}/search", f"{API}/documents", f"{API}/entities"
CATEGORIES = ("alpha", "beta", "gamma")
POLLS, POLL_S = 600, 0.1

MODES: dict[str, tuple[str, dict[str, Any]]] = {
    "flat": (SEARCH, {"limit": 10}),
    "explain": (SEARCH, {"limit": 5, "explain": True}),
    "semantic": (SEARCH, {"mode": "semantic"}),
    "lexical": (SEARCH, {"mode": "lexical"}),
    "convex": (SEARCH, {"fusion": "convex", "weights": {"vector": 0.3, "text": 0.7}}),
    "diverse": (SEARCH, {"mmr": True, "limit": 8}),
    "grouped": (SEARCH, {"group_size": 2}),
    "filtered": (SEARCH, {"filters": {"metadata": {"category": "beta", "number": {"gte": 3}}}}),
    "dated": (SEARCH, {"filters": {"created_after": "2024-03-01T00:00:00Z"}}),
    "any filter": (SEARCH, {"filters": {"any": [{"metadata": {"category": "alpha"}}, {"metadata": {"number": 5}}]}}),
    "linked": (SEARCH, {"depth": "thorough"}),
    "guided": (SEARCH, {"hierarchy": "force"}),
    "two-pass": (f"{SEARCH}/two-pass", {}),
    "multi-hop": (f"{SEARCH}/multihop", {"max_hops": 3}),
    "multi-hop, classic": (f"{SEARCH}/multihop", {"merge": "classic"}),
    "multi-hop, filtered": (f"{SEARCH}/multihop", {"filters": {"metadata": {"category": "alpha"}}}),
}


async def write(pair: Pair, documents: Sequence[Upload], entities: Sequence[EntityDraft]) -> None:
    """Stores entities and documents, and reads them back."""
    lines = "\n".join(json.dumps(asdict(entity)) for entity in entities)
    headers = {"Content-Type": "application/x-ndjson"}
    await pair.send("entities in bulk", "POST", f"{ENTITIES}/bulk", content=lines, headers=headers)
    body = [_document(upload, number) for number, upload in enumerate(documents)]
    await pair.send("documents in bulk", "POST", DOCUMENTS, json=body)


def _document(upload: Upload, number: int) -> dict[str, Any]:
    metadata = {**upload.metadata, "category": CATEGORIES[number % 3], "number": number % 10}
    created = f"2024-{number % 12 + 1:02}-{number % 27 + 1:02}T08:00:00Z"
    return {
        "uri": upload.uri,
        "title": upload.title,
        "content": upload.content,
        "metadata": metadata,
        "created_at": created,
    }


async def read(pair: Pair, questions: Sequence[str]) -> None:
    """Asks in every way, and lists what is stored."""
    hits: list[Any] = []
    for number, question in enumerate(questions):
        for kind, (path, options) in MODES.items():
            answer = await pair.send(kind, "POST", path, json=search_body(question, **options))
            hits = answer.get("results") or hits
        words = question.split()
        strict = f'{question} "{" ".join(words[1:3])}" -{words[-1]}'
        await pair.send("phrases and exclusions", "POST", SEARCH, json={"query": strict})
        seen = [hit["chunk_id"] for hit in hits[:3]]
        await pair.send("exclusions", "POST", SEARCH, json={"query": question, "exclude_chunk_ids": seen})
        if hits:
            await _of_hit(pair, question, hits[number % len(hits)])
    await _lists(pair)


async def _of_hit(pair: Pair, question: str, hit: dict[str, Any]) -> None:
    chunk_id, document_id = hit["chunk_id"], hit["document_id"]
    await pair.send("similar", "POST", f"{API}/similar", json={"chunk_id": chunk_id})
    await pair.send("why", "POST", f"{SEARCH}/why", json={"query": question, "chunk_id": chunk_id})
    await pair.send("document", "GET", f"{DOCUMENTS}/{document_id}")
    await pair.send("chunks", "GET", f"{DOCUMENTS}/{document_id}/chunks")


async def _lists(pair: Pair) -> None:
    cursor: str | None = None
    for _ in range(3):
        params = {"limit": "20", **({"cursor": cursor} if cursor else {})}
        cursor = (await pair.send("list of documents", "GET", DOCUMENTS, params=params)).get("next_cursor")
    for params in ({"limit": "50"}, {"q": "a", "limit": "5"}, {"type": "person", "limit": "5"}):
        found = await pair.send("list of entities", "GET", ENTITIES, params=params)
    for entity in found["entities"][:3]:
        await pair.send("entity", "GET", f"{ENTITIES}/{entity['entity_id']}")
        await pair.send("documents of an entity", "GET", f"{ENTITIES}/{entity['entity_id']}/documents")
    await pair.send("statistics", "GET", f"{API}/stats")


async def change(pair: Pair) -> None:
    """Patches, replaces and deletes documents and entities."""
    listed = (await pair.send("list of documents", "GET", DOCUMENTS, params={"limit": "40"}))["documents"]
    for number, one in enumerate(listed[:12]):
        path = f"{DOCUMENTS}/{one['document_id']}"
        if number < 4:
            patch = {"metadata": {"category": "delta", "number": number}}
            await pair.send("patch of metadata", "PATCH", path, json=patch)
        elif number < 6:
            await pair.send("patch of title", "PATCH", path, json={"title": f"Changed title {number}"})
        elif number < 9:
            body = {"uri": one["uri"], "content": f"# Replaced\n\nThe harbour crane number {number} was replaced."}
            body |= {"created_at": f"2024-05-{number:02}T00:00:00Z"}
            await pair.send("replacement", "PUT", path, json=body)
        else:
            await pair.send("deletion", "DELETE", path)
    await pair.send("deletion by uri", "DELETE", DOCUMENTS, params={"uri": listed[12]["uri"]})
    chosen = {"filters": {"metadata": {"category": "gamma", "number": 2}}}
    for dry_run in (True, False):
        body = {**chosen, "dry_run": dry_run}
        await pair.send("deletion by filter", "POST", f"{DOCUMENTS}/delete", json=body)
    found = (await pair.send("list of entities", "GET", ENTITIES, params={"origin": "user", "limit": "5"}))["entities"]
    for number, one in enumerate(found):
        path = f"{ENTITIES}/{one['entity_id']}"
        if number % 2:
            await pair.send("deletion of an entity", "DELETE", path)
        else:
            await pair.send("patch of an entity", "PATCH", path, json={"role": f"role {number}"})


async def synchronise(pair: Pair, folder: Path) -> None:
    """Adds a folder as a source, waits for its synchronisation and reads what it stored."""
    _write_notes(folder)
    reports = []
    for client in (pair.single, pair.cluster):
        answer = await client.post(f"{API}/sources", json={"path": str(folder)})
        assert answer.is_success, answer.text
        added = answer.json()
        sync = (await client.post(f"{API}/sources/{added['source_id']}/sync")).json()
        reports.append(await _finished(client, sync["job_id"]))
    pair.compare("source", str(folder), *reports)
    for uri in ("note-1.md", "note-7.md"):
        await pair.send("documents of a source", "GET", DOCUMENTS, params={"uri": str(folder / uri)})
    await pair.send("flat", "POST", SEARCH, json={"query": "tide gauge of pier 5"})


def _write_notes(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(8):
        (folder / f"note-{number}.md").write_text(f"# Pier {number}\n\nThe pier {number} has a tide gauge.\n")


async def settle(pair: Pair) -> None:
    """Waits until the background jobs of the user have ended in both."""
    for client in (pair.single, pair.cluster):
        for _ in range(POLLS):
            states = [(await client.get(f"{API}/jobs", params={"status": one})).json() for one in ("queued", "running")]
            if not any(state["jobs"] for state in states):
                break
            await asyncio.sleep(POLL_S)


async def _finished(client: Any, job_id: str) -> dict[str, Any]:
    """How a synchronisation ended; what it found depends on whether another one of the same folder was faster."""
    for _ in range(POLLS):
        job: dict[str, Any] = (await client.get(f"{API}/jobs/{job_id}")).json()
        if job["status"] not in ("queued", "running"):
            return {"status": job["status"]}
        await asyncio.sleep(POLL_S)
    return {"status": "timeout"}
