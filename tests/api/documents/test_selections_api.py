"""Documents are deleted and cut again by filter over HTTP; an empty selection is refused."""

from __future__ import annotations

from typing import Any

import pytest
from api_caller import Caller
from example_app import assert_problem

DELETE, REINDEX = "/api/rag/documents/delete", "/api/rag/documents/reindex"
RED = {"filters": {"metadata": {"team": "red"}}}
COUNTED = ("documents", "chunks", "vectors", "postings", "mentions")


async def _store(caller: Caller) -> None:
    for team in ("red", "red", "blue"):
        uri = f"{team}-{len((await caller.client.get('/api/rag/documents')).json()['documents'])}"
        await caller.add(f"Lime of {uri}.", uri, metadata={"team": team})


@pytest.mark.parametrize("path", [DELETE, REINDEX])
@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "no_selection", "filters"),
        ({"filters": {}}, "no_selection", "filters"),
        ({"filters": None, "dry_run": True}, "no_selection", "filters"),
        ({"all": False}, "no_selection", "filters"),
        ({**RED, "all": True}, "two_selections", "filters"),
        ({"filters": {"team": "red"}}, "invalid_request", "filters.team"),
    ],
)
async def test_an_empty_or_ambiguous_selection_is_refused(
    caller: Caller, path: str, body: dict[str, Any], code: str, field: str
) -> None:
    await caller.add("Stays.", "stays")
    assert_problem(await caller.client.post(path, json=body), 422, code, field)
    assert len((await caller.client.get("/api/rag/documents")).json()["documents"]) == 1


async def test_a_dry_run_counts_and_a_deletion_is_proven(caller: Caller) -> None:
    await _store(caller)
    counted = (await caller.client.post(DELETE, json={**RED, "dry_run": True})).json()
    assert counted["dry_run"] is True
    assert counted["documents_deleted"] == 0
    assert (counted["matched"]["documents"], counted["matched"]["chunks"]) == (2, 2)
    deleted = (await caller.client.post(DELETE, json=RED)).json()
    assert {name: deleted[f"{name}_deleted"] for name in COUNTED} == counted["matched"]
    assert (deleted["dry_run"], deleted["matched"]) == (False, None)
    again = (await caller.client.post(DELETE, json=RED)).json()
    assert again["documents_deleted"] == 0
    everything = (await caller.client.post(DELETE, json={"all": True})).json()
    assert everything["documents_deleted"] == 1
    assert (await caller.search("lime"))["results"] == []
