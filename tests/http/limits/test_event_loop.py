"""No request holds the event loop: a callback takes little CPU time of the loop's thread, whatever the request is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

from app.search.steps.synonyms import lines

OWN_DATABASE = True
"""A database of its own: no job of another test runs in this service."""

TESTS = Path(__file__).parents[2]
MOST_MS = 50.0
WORDS = ["lime", "mortar", "cement", "tide", "buoy", "gasket", "keel", "rope", "sail", "chart"]


def _synonyms(client: httpx.Client) -> None:
    """The most groups that a user may have, and the first search after them."""
    most = range(lines.MAX_TERMS)
    groups = [
        {"terms": [f"word{n} of kind {k}" for k in most], "expand_to": [f"term {n} {k}" for k in most]}
        for n in range(lines.MAX_GROUPS)
    ]
    client.put("/synonyms", json={"groups": groups}).raise_for_status()
    client.post("/search", json={"query": "word7 of kind 3 and lime"}).raise_for_status()


def _documents(client: httpx.Client) -> None:
    """Many short documents with metadata in one request, their facets, and a long list of them."""
    texts = [
        {"content": f"{WORDS[n % 10]} {n}", "uri": f"n/{n}", "metadata": {"n": n, "tags": WORDS[: n % 10]}}
        for n in range(500)
    ]
    client.post("/documents", json=texts).raise_for_status()
    client.get("/facets", params={"limit": 100}).raise_for_status()
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
    env = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"}
    command = [sys.executable, str(TESTS / "fuzz_service.py"), address.service_dsn]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True) as service:
        assert service.stdin is not None
        assert service.stdout is not None
        started = json.loads(service.stdout.readline())
        headers = {"Authorization": f"Bearer {started['key']}"}
        with httpx.Client(base_url=f"{started['address']}/api/rag", headers=headers, timeout=120) as client:
            client.post("/documents", json={"content": "lime", "uri": "lime"}).raise_for_status()
            client.post("/search", json={"query": "lime"}).raise_for_status()
            client.get("/stats").raise_for_status()
            for work in (_synonyms, _documents, _entities):
                work(client)
        service.stdin.close()
        costliest = json.loads(service.stdout.readline())["costliest"]
    assert costliest["loop_cpu"] <= MOST_MS, costliest["stack"]
