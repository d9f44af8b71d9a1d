"""Tests of the checks of hosts and origins, and of CORS."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import harness
import httpx
import pytest
from example_app import assert_problem
from fastapi import FastAPI
from pydantic import ValidationError

from app.database.transactions import Database
from app.settings import Settings

EVIL = {"Origin": "https://evil.example"}
APP = "https://app.example"
DOCUMENTS, SEARCH, STATS = "/api/rag/documents", "/api/rag/search", "/api/rag/stats"
FILE = {"files": ("note.txt", b"Written by a web page.", "text/plain")}
BODY = b'{"content": "Written by a web page."}'


@pytest.fixture(scope="module")
async def port(open_app: FastAPI) -> AsyncIterator[int]:
    """A default service, without keys, on a socket."""
    async with harness.listening(open_app) as port:
        yield port


@pytest.fixture(scope="module")
async def client(port: int) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        yield client


@pytest.fixture(scope="module")
async def shared(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A service with a public name that the pages of one other origin may call."""
    settings = Settings(auth="api_key", allowed_hosts="search.example, 10.0.0.5:8000", allowed_origins=APP)
    bearer = f"Bearer {await harness.create_key(database, harness.new_user())}"
    async with harness.calling(settings, await harness.services(database), Authorization=bearer) as client:
        yield client


async def _stored(client: httpx.AsyncClient) -> int:
    count: int = (await client.get(STATS)).json()["documents"]
    return count


ATTACKS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", DOCUMENTS, {"files": FILE}),
    ("POST", DOCUMENTS, {"content": BODY, "headers": {"Content-Type": "text/plain"}}),
    ("POST", DOCUMENTS, {"content": BODY, "headers": {"Content-Type": "application/json"}}),
    ("POST", SEARCH, {"json": {"query": "secrets"}}),
    ("POST", "/mcp", {"json": {}}),
    ("OPTIONS", SEARCH, {"headers": {"Access-Control-Request-Method": "POST"}}),
    ("GET", DOCUMENTS, {}),
    ("GET", "/openapi.json", {}),
    ("GET", "/metrics", {}),
    ("GET", "/nowhere", {}),
    ("DELETE", f"{DOCUMENTS}/7f1e3c52-94a1-5b7e-9f0e-0d6a3b8f5c11", {}),
]
FOREIGN = [
    EVIL,
    {"Origin": "null"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://localhost:1"},
    {"Origin": "file://"},
    {"Origin": ""},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
]


@pytest.mark.parametrize(("method", "path", "request_"), ATTACKS)
async def test_a_page_of_another_site_can_neither_read_nor_write(client, method, path, request_) -> None:
    before = await _stored(client)
    for foreign in FOREIGN:
        headers = {**request_.get("headers", {}), **foreign}
        response = await client.request(method, path, **{**request_, "headers": headers})
        assert_problem(response, 403, "origin_not_allowed")
        assert not [name for name in response.headers if name.startswith("access-control-")]
    assert await _stored(client) == before


@pytest.mark.parametrize(("method", "path", "request_"), ATTACKS)
async def test_a_page_whose_name_was_rebound_to_this_machine_can_neither_read_nor_write(
    client: httpx.AsyncClient, port: int, method: str, path: str, request_: dict[str, Any]
) -> None:
    before = await _stored(client)
    own = {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}", "Sec-Fetch-Site": "same-origin"}
    for headers in (own, {"Host": "evil.example"}):
        response = await client.request(
            method, path, **{**request_, "headers": {**request_.get("headers", {}), **headers}}
        )
        assert_problem(response, 421, "host_not_allowed")
    assert await _stored(client) == before


@pytest.mark.parametrize(
    "spelled",
    ["localhost", "LOCALHOST:{}", "localhost.", "localhost.:{}", "127.0.0.1:{}", "127.0.0.1", "[::1]:{}", "[0:0::1]"],
)
async def test_the_names_of_loopback_are_served_however_they_are_spelled(client, port, spelled) -> None:
    assert (await client.get(STATS, headers={"Host": spelled.format(port)})).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "localhost..",
        "localhost.evil.example",
        "evil.example:localhost",
        "evil.example#localhost",
        "evil@localhost",
        "localhost:80:80",
        "localhost, evil.example",
        "[::2]",
        "[::1].evil.example",
        "::1",
        "[1:2:3:4:5:6:7:8:9]",
        "0.0.0.0",
        "127.0.0.1.nip.example",
        "x" * 2_000,
        "",
    ],
)
async def test_any_other_host_is_refused(client: httpx.AsyncClient, host: str) -> None:
    assert_problem(await client.get(STATS, headers={"Host": host}), 421, "host_not_allowed")


@pytest.mark.parametrize(
    ("request_line", "headers", "statuses"),
    [
        ("GET /api/rag/stats HTTP/1.1", "", {400, 421}),
        ("GET /api/rag/stats HTTP/1.0", "", {421}),
        ("GET /api/rag/stats HTTP/1.1", "Host: localhost\r\nHost: evil.example\r\n", {400, 421}),
        ("GET /api/rag/stats HTTP/1.1", "Host: localhost\r\nHost: localhost\r\n", {400, 421}),
        ("GET http://localhost/api/rag/stats HTTP/1.1", "Host: evil.example\r\n", {421}),
        ("GET /api/rag/stats HTTP/1.1", "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: x\r\n", {403}),
        ("GET /api/rag/stats HTTP/1.1", "Host: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: x\r\n", {403}),
    ],
)
async def test_missing_and_repeated_headers_are_refused(port, request_line, headers, statuses) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{request_line}\r\n{headers}Connection: close\r\n\r\n".encode())
    status = int((await reader.readline()).split()[1])
    writer.close()
    assert status in statuses


async def test_a_refusal_comes_before_the_body_is_sent(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {DOCUMENTS} HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 9000"
    writer.write(f"{head}\r\n\r\n{{".encode())
    assert b"421" in await asyncio.wait_for(reader.readline(), 10)
    writer.close()


async def test_the_service_s_own_page_may_call_it(client: httpx.AsyncClient, port: int) -> None:
    for host in (f"127.0.0.1:{port}", f"LocalHost:{port}", f"[::1]:{port}"):
        headers = {"Host": host, "Origin": f"http://{host.lower()}", "Sec-Fetch-Site": "same-origin"}
        assert (await client.get("/openapi.json", headers=headers)).status_code == 200
        assert (await client.post(SEARCH, json={"query": "lime"}, headers=headers)).status_code == 200
    behind_tls = {"Host": "localhost", "Origin": "https://localhost"}
    assert (await client.post(SEARCH, json={"query": "lime"}, headers=behind_tls)).status_code == 200
    renamed = {"Host": "localhost", "Origin": "https://search.example:8443", "Sec-Fetch-Site": "same-origin"}
    assert (await client.post(SEARCH, json={"query": "lime"}, headers=renamed)).status_code == 200


async def test_a_link_on_another_site_opens_the_pages_without_data_and_nothing_else(client: httpx.AsyncClient) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert (await client.get("/docs", headers=followed)).status_code == 200
    assert (await client.get("/playground", headers=followed)).status_code == 200
    assert (await client.get("/", headers=followed)).status_code == 307
    assert_problem(await client.get("/docs", headers={"Sec-Fetch-Site": "cross-site"}), 403, "origin_not_allowed")
    assert_problem(await client.get(DOCUMENTS, headers=followed), 403, "origin_not_allowed")
    assert_problem(await client.post("/docs", headers=followed), 403, "origin_not_allowed")


async def test_the_documentation_sends_its_origin_with_requests_to_the_service(client: httpx.AsyncClient) -> None:
    assert (await client.get("/docs")).headers["referrer-policy"] == "same-origin"


async def test_refusals_are_counted_and_carry_the_request_s_id(client: httpx.AsyncClient) -> None:
    response = await client.get(STATS, headers={"Host": "evil.example", "X-Request-ID": "mine"})
    assert response.headers["x-request-id"] == "mine"
    counted = (await client.get("/metrics")).text
    assert 'stepwell_http_requests_total{method="GET",route="unmatched",status="421"}' in counted


async def test_a_preflight_of_a_named_origin_is_answered_for_every_method_and_header(shared: httpx.AsyncClient) -> None:
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        headers = {
            "Origin": APP,
            "Sec-Fetch-Site": "cross-site",
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "authorization, content-type, idempotency-key, x-api-key",
            "Authorization": "",
        }
        response = await shared.options(DOCUMENTS, headers=headers)
        assert (response.status_code, response.headers["access-control-allow-origin"]) == (200, APP)
        assert method in response.headers["access-control-allow-methods"]
        assert "access-control-allow-credentials" not in response.headers
    asked = {"Access-Control-Request-Headers": "content-type, mcp-method, mcp-name, mcp-protocol-version, x-api-key"}
    called = await shared.options("/mcp", headers=headers | asked | {"Access-Control-Request-Method": "POST"})
    assert called.status_code == 200


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (lambda c, h: c.post(SEARCH, json={"query": "lime"}, headers=h), 200),
        (lambda c, h: c.post(SEARCH, json={"query": " "}, headers=h), 400),
        (lambda c, h: c.post(SEARCH, json={"query": "lime"}, headers={**h, "Authorization": "Bearer x"}), 401),
        (lambda c, h: c.get("/nowhere", headers=h), 404),
        (lambda c, h: c.put(SEARCH, headers=h), 405),
        (lambda c, h: c.post(SEARCH, content=b"x" * 10_000_001, headers=h), 413),
        (lambda c, h: c.post(SEARCH, json={}, headers=h), 422),
    ],
)
async def test_a_named_origin_may_read_every_answer_errors_included(shared, call, status) -> None:
    response = await call(shared, {"Origin": APP, "Sec-Fetch-Site": "cross-site"})
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (status, APP)
    exposed = response.headers["access-control-expose-headers"]
    assert {"X-Request-ID", "X-Stepwell-Version", "Retry-After", "RateLimit"} <= set(exposed.split(", "))
    assert "Origin" in response.headers["vary"]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("search.example", 200),
        ("SEARCH.example.:8443", 200),
        ("10.0.0.5:8000", 200),
        ("10.0.0.5:8001", 421),
        ("127.0.0.1:8000", 200),
        ("other.example", 421),
    ],
)
async def test_named_hosts_are_served_beside_loopback(shared: httpx.AsyncClient, host: str, status: int) -> None:
    assert (await shared.get(STATS, headers={"Host": host})).status_code == status


async def test_with_keys_any_host_is_served_unless_some_are_named(app: FastAPI) -> None:
    async with harness.client(app) as client:
        assert (await client.get("/healthz", headers={"Host": "anything.example"})).status_code == 200
        assert_problem(await client.get("/healthz", headers=EVIL), 403, "origin_not_allowed")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("allowed_hosts", "https://search.example"),
        ("allowed_hosts", "*"),
        ("allowed_hosts", "a.example b.example"),
        ("allowed_origins", "*"),
        ("allowed_origins", "null"),
        ("allowed_origins", "app.example"),
        ("allowed_origins", "https://app.example/"),
        ("allowed_origins", "https://app.example:443"),
    ],
)
def test_a_list_that_would_match_nothing_or_everything_is_refused_at_start(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings(**{name: value})
