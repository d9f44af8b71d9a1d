"""A service that needs keys shows each of them what it may see, and lets it do what it may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from over_http import API, Caller, refusal, sample, uris
from stepwell_client import tokens

SEARCH: dict[str, Any] = {"method": "POST", "url": f"{API}/search", "json": {"query": "lime mortar"}}
ADD: dict[str, Any] = {"method": "POST", "url": f"{API}/documents", "json": {"content": "A key.", "uri": "e2e/key.md"}}
STATS: dict[str, Any] = {"method": "GET", "url": f"{API}/stats"}
METRICS: dict[str, Any] = {"method": "GET", "url": "/metrics"}


@pytest.mark.parametrize(
    "headers",
    [{}, {"X-API-Key": "sw_no"}, {"Authorization": "Bearer sw_0123456789ab_wrong"}, {"Authorization": "Basic eDp5"}],
    ids=["no key", "no key's form", "an unknown key", "another scheme"],
)
def test_a_request_without_a_valid_key_is_refused(addresses: tuple[str, str], headers: dict[str, str]) -> None:
    response = httpx.post(addresses[1] + f"{API}/search", json={"query": "lime"}, headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    refusal(response, "unauthorized")


def test_health_needs_no_key(addresses: tuple[str, str]) -> None:
    for path in ("/healthz", "/readyz"):
        assert httpx.get(addresses[1] + path).status_code == 200


def test_a_key_is_sent_in_either_header(addresses: tuple[str, str], keys: dict[str, str]) -> None:
    for headers in ({"X-API-Key": keys["all"]}, {"Authorization": f"Bearer {keys['all']}"}):
        response = httpx.post(addresses[1] + f"{API}/search", json={"query": "lime"}, headers=headers)
        assert response.status_code == 200


@pytest.mark.parametrize(
    ("key", "request_", "status"),
    [
        ("all", SEARCH, 200), ("all", STATS, 200), ("all", METRICS, 403),
        ("search", SEARCH, 200), ("search", ADD, 403), ("search", METRICS, 403),
        ("write", ADD, 201), ("write", SEARCH, 403), ("write", STATS, 403),
        ("metrics", METRICS, 200), ("metrics", SEARCH, 403), ("metrics", ADD, 403),
    ],
)  # fmt: skip
def test_a_key_may_do_what_its_scopes_allow(
    with_key: dict[str, Caller], key: str, request_: dict[str, Any], status: int
) -> None:
    response = with_key[key].http.request(**request_)
    assert response.status_code == status
    if status == 403:
        refusal(response, "forbidden")


def test_users_see_their_own_documents_only(with_key: dict[str, Caller]) -> None:
    stranger, owner = with_key["stranger"], with_key["all"]
    assert stranger.search("lime mortar")["results"] == []
    note = stranger.add("Only a stranger knows the harbour code.", "e2e/secret.md")
    assert uris(stranger.search("harbour code")) == ["e2e/secret.md"]
    assert "e2e/secret.md" not in uris(owner.search("harbour code", limit=50))
    refusal(owner.call("GET", f"{API}/documents/{note['document_id']}", 404), "not_found")
    assert stranger.post("/documents/delete", {"all": True})["documents_deleted"] == 1
    assert owner.search("lime mortar")["results"]


READS: dict[str, Callable[[Caller], list[str]]] = {
    "a search": lambda caller: uris(caller.search("sync interval of the buoys", limit=50)),
    "several hops": lambda caller: uris(caller.search("sync interval of the buoys", "/search/multihop", limit=20)),
    "two passes": lambda caller: uris(caller.search("What did Mara Tolland decide?", "/search/two-pass", limit=50)),
    "a list": lambda caller: [one["uri"] for one in caller.get("/documents", limit=200)["documents"]],
    "similar passages": lambda caller: uris(caller.post("/similar", {"vector": [0.1] * 384, "limit": 50})),
    "a tool": lambda caller: [one["uri"] for one in caller.post("/tools/list_documents", {})["documents"]],
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_key_with_filters_reads_what_passes_them(
    with_key: dict[str, Caller], read: Callable[[Caller], list[str]]
) -> None:
    found = read(with_key["decisions"])
    assert found
    assert all(uri.startswith("sample/decisions/") for uri in found)


def test_a_key_with_filters_counts_what_passes_them(with_key: dict[str, Caller]) -> None:
    restricted = with_key["decisions"]
    assert restricted.get("/stats")["documents"] == 5
    [dates] = restricted.get("/facets", key="date")["facets"]
    assert dates["documents"] == 5


def test_a_document_outside_of_a_key_is_not_there_and_is_not_written(with_key: dict[str, Caller]) -> None:
    restricted, owner = with_key["decisions"], with_key["all"]
    [outside] = owner.get("/documents", uri=sample("people/mara-veit.md")[0])["documents"]
    path = f"{API}/documents/{outside['document_id']}"
    refusal(restricted.call("GET", path, 404), "not_found")
    refusal(restricted.call("DELETE", path, 404), "not_found")
    note = {"content": "No decision.", "uri": "e2e/outside.md"}
    refusal(restricted.call("POST", f"{API}/documents", 403, json=note), "outside_of_key")
    refusal(restricted.call("PUT", f"{API}/synonyms", 403, json={"groups": []}), "outside_of_key")


def test_a_token_sees_less_than_its_key(addresses: tuple[str, str], keys: dict[str, str]) -> None:
    filters = {"metadata": {"team": "Firmware"}}
    token = tokens.mint(keys["decisions"], filters=filters, scopes=["search"], minutes=5)
    caller = Caller(addresses[1], token)
    with caller.http:
        listed = [one["uri"] for one in caller.get("/documents")["documents"]]
        assert listed == sample("decisions/D-014-sync-interval.md")
        assert {*uris(caller.search("sync interval"))} == {*listed}
        refusal(caller.call("POST", f"{API}/documents", 403, json={"content": "No."}), "forbidden")


def test_a_token_that_its_key_has_not_signed_is_refused(addresses: tuple[str, str], keys: dict[str, str]) -> None:
    token = tokens.mint(keys["all"], scopes=["search"], minutes=5)
    claims, _, signature = token.rpartition(".")
    forged = tokens.mint(keys["stranger"], scopes=["search"], minutes=5).rpartition(".")[2]
    for wrong in (f"{claims}.{forged}", claims, f"{claims}.{signature[:-4]}"):
        response = httpx.get(addresses[1] + f"{API}/stats", headers={"X-API-Key": wrong})
        assert response.status_code == 401
    assert httpx.get(addresses[1] + f"{API}/stats", headers={"X-API-Key": token}).status_code == 200
