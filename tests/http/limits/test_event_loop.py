"""No request holds the event loop: a callback takes little CPU time of the loop's thread, whatever the request is."""

import json
from typing import Any

import fuzz_service
import httpx

OWN_DATABASE = True
"""A database of its own: no job of another test runs in this service."""

WORDS = ["lime", "mortar", "cement", "tide", "buoy", "gasket", "keel", "rope", "sail", "chart"]


def _documents(client: httpx.Client) -> None:
    """Many short documents with metadata in one request, their facets, and a long list of them."""
    texts = [
        {"content": f"{WORDS[n % 10]} {n}", "uri": f"n/{n}", "metadata": {"n": n, "tags": WORDS[: n % 10]}}
        for n in range(500)
    ]
    client.post("/documents", json=texts).raise_for_status()
    client.get("/facets", params={"limit": 100})
    client.post("/search", json={"query": " ".join(WORDS), "limit": 50, "explain": True}).raise_for_status()
    client.post("/documents/delete", json={"all": True}).raise_for_status()


def _entities(client: httpx.Client) -> None:
    """The most entities of one request, and a search for which their names are looked through."""
    lines = "\n".join(
        json.dumps({"type": "person", "name": f"Ana{n} Torres{n % 97}", "aliases": [f"AT{n}"]}) for n in range(5_000)
    )
    headers = {"Content-Type": "application/x-ndjson"}
    client.post("/entities/bulk", content=lines.encode(), headers=headers).raise_for_status()
    client.post("/entities/search", json={"query": "Ana17 Torres17"}).raise_for_status()
    client.post("/documents", json={"content": "Ana7 Torres7 met Ana8 Torres8. " * 200}).raise_for_status()


def test_no_callback_holds_the_loop(address: Any) -> None:
    costliest = fuzz_service.costliest(address.service_dsn, _documents, _entities)
    assert costliest["ms"] <= costliest["most_ms"], costliest["stack"]
