"""The most groups that a user may have do not hold the event loop."""

from typing import Any

import fuzz_service
import httpx

from app.search.steps.synonyms import lines


def _store_and_search(client: httpx.Client) -> None:
    most = range(lines.MAX_TERMS)
    groups = [
        {"terms": [f"word{n} of kind {k}" for k in most], "expand_to": [f"term {n} {k}" for k in most]}
        for n in range(lines.MAX_GROUPS)
    ]
    client.put("/synonyms", json={"groups": groups}).raise_for_status()
    client.post("/search", json={"query": "word7 of kind 3 and lime"}).raise_for_status()


def test_no_callback_holds_the_loop(address: Any) -> None:
    costliest = fuzz_service.costliest(address.service_dsn, _store_and_search)
    assert costliest["ms"] <= fuzz_service.MOST_MS, costliest["stack"]
