"""Tests MCP over HTTP: the SDK's client drives every tool, and strict requests are answered."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import harness
import httpx
import httpx2
import pytest
from api_caller import Caller
from example_app import assert_problem
from fastapi import FastAPI
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import methods
from starlette.requests import ClientDisconnect

from app import capability
from app.agents import registry
from app.agents.mcp import commands
from app.http import admission

ROOT = Path(__file__).parents[3]
LIME = "# Lime mortar\n\nBelow the third landing Ana Silva uses lime mortar, never cement."
OF_FOLDERS = {"add_source", "sync_source"}
"""Tools that need a folder: see test_sources_api."""
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
PROTOCOL = {**HEADERS, "MCP-Protocol-Version": "2025-06-18"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@asynccontextmanager
async def bridged(app: FastAPI, caller: Caller) -> AsyncIterator[Client]:
    """The SDK's client on the stdin and stdout of `stepwell mcp --url`."""
    async with harness.listening(app) as port:
        arguments = ["-m", "app", "mcp", "--url", f"http://127.0.0.1:{port}"]
        command = StdioServerParameters(
            command=sys.executable, args=arguments, env={"STEPWELL_API_KEY": f"{caller.key}\n"}, cwd=ROOT
        )
        async with Client(stdio_client(command)) as client:
            yield client


@asynccontextmanager
async def connected(app: FastAPI, caller: Caller) -> AsyncIterator[Client]:
    """The SDK's client with the key of a caller."""
    transport = httpx2.ASGITransport(app=app)
    headers = {"Authorization": f"Bearer {caller.key}"}
    async with (
        httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as http,
        Client(streamable_http_client("http://localhost/mcp", http_client=http)) as client,
    ):
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured result of a call that must succeed; its text is the same as JSON."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def test_every_tool_returns_over_the_bridge_what_it_returns_over_rest(app: FastAPI, caller: Caller) -> None:
    # The entity is stored first: documents that exist already are linked to it later, in the background.
    await caller.client.post("/api/rag/entities", json={"type": "person", "name": "Ana Silva"})
    stored = await caller.add(LIME, uri="notes/lime.md")
    passage = (await caller.search("lime mortar"))["results"][0]["chunk_id"]
    arguments: dict[str, dict[str, Any]] = {
        "search_documents": {"query": "lime mortar"},
        "find_similar_chunks": {"chunk_id": passage},
        "get_document": {"document_id": stored["document_id"]},
        "add_document": {"content": LIME, "uri": "notes/lime.md"},
        "delete_document": {"document_id": stored["document_id"]},
        "list_documents": {},
        "list_entities": {},
        "knowledge_stats": {},
        "list_sources": {},
        "list_facets": {},
        "rate_passage": {"chunk_id": passage, "query": "lime mortar", "helpful": True},
    }
    offered = {tool.name for tool in registry.list_offered(["admin"], optional=capability.optional_tools())}
    assert arguments.keys() | OF_FOLDERS >= offered
    async with bridged(app, caller) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == offered
        for name in sorted(offered - OF_FOLDERS - {"delete_document"}):
            over_rest = await caller.client.post(f"/api/rag/tools/{name}", json=arguments[name])
            assert await call(client, name, **arguments[name]) == over_rest.json(), name
        assert (await call(client, "delete_document", **arguments["delete_document"]))["documents_deleted"] == 1


@pytest.mark.parametrize("value", ["NaN", "1e999", str(2**63), "1" + "0" * 400, '"\\u0000"', '[{"\\u0000": 1}]'])
async def test_arguments_that_cannot_be_stored_are_refused_with_their_field(caller: Caller, value: str) -> None:
    arguments = f'{{"content": "Lime.", "metadata": {{"k": {value}}}}}'
    params = f'{{"name": "add_document", "arguments": {arguments}}}'
    request = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
    response = await caller.client.post("/mcp", content=request, headers=HEADERS)
    result = response.json()["result"]
    assert result["isError"]
    assert result["content"][0]["text"].startswith("metadata.k")
    assert (await caller.client.get("/api/rag/documents")).json()["documents"] == []


async def test_the_bridge_answers_with_the_problem_of_the_service(app: FastAPI, caller: Caller) -> None:
    stranger = replace(caller, key="nobody")
    with pytest.raises(ExceptionGroup) as raised:
        async with bridged(app, stranger):
            pass
    assert raised.group_contains(MCPError, match="key is unknown")


async def test_the_bridge_answers_with_its_id_a_message_that_the_service_cannot_read(
    app: FastAPI, caller: Caller
) -> None:
    params = {"name": "search_documents", "arguments": {"query": "\ud83d"}}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    headers = {**PROTOCOL, "Authorization": f"Bearer {caller.key}"}
    async with harness.listening(app) as port, httpx.AsyncClient(headers=headers) as http:
        bridge = commands._Bridge(http, f"http://127.0.0.1:{port}/mcp")
        answer = await bridge.forward(message, json.dumps(message).encode())
    assert (answer["id"], answer["error"]["code"]) == (7, -32700)


async def test_a_client_that_leaves_is_no_failure_of_the_tool(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def leave(*_: object) -> None:
        raise ClientDisconnect

    monkeypatch.setattr(admission, "in_turn", leave)
    params = {"name": "search_documents", "arguments": {"query": "lime"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with caplog.at_level("INFO"):
        await caller.client.post("/mcp", json=request, headers=HEADERS)
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []
    assert [f"{one.status!r}" for one in caplog.records if one.message == "request"] == ["200"]


async def test_the_sdks_client_over_http_shows_a_stranger_nothing(app, new_caller) -> None:
    owner, stranger = await new_caller("search", "write"), await new_caller("search", "write")
    stored = await owner.add(LIME, uri="notes/lime.md")
    async with connected(app, stranger) as client:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError):
            await client.read_resource(f"stepwell://documents/{stored['document_id']}")
        assert (await call(client, "knowledge_stats"))["documents"] == 0


async def test_a_slash_after_the_address_changes_nothing(caller: Caller) -> None:
    plain, slash = [await caller.client.post(path, json=INITIALIZE, headers=HEADERS) for path in ("/mcp", "/mcp/")]
    assert (slash.status_code, slash.json()) == (200, plain.json())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer nobody"}, 401),
        ({"Host": "evil.example", "Authorization": ""}, 401),
        ({"Origin": "https://evil.example"}, 403),
        ({"Content-Length": "5000000"}, 413),
        ({"Content-Type": "text/plain"}, 415),
        ({"X-Stepwell-Version": "new"}, 422),
    ],
)
async def test_a_request_is_refused_as_elsewhere_in_the_api(caller, headers, status) -> None:
    response = await caller.client.post("/mcp", json=INITIALIZE, headers={**HEADERS, **headers})
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("scopes", [("search",), ("write",), ("metrics",), ("admin",)], ids="+".join)
async def test_no_method_returns_what_is_stored_without_search(caller, callers, scopes) -> None:
    stored = await caller.add("The quibblewort vault.", "quibblewort.md")
    given = {
        "initialize": INITIALIZE["params"],
        "resources/read": {"uri": f"stepwell://documents/{stored['document_id']}"},
        "tools/call": {"name": "get_document", "arguments": {"document_id": stored["document_id"]}},
    }
    client = (await callers(caller.user_id, *scopes)).client
    may_read = bool({"search", "admin"} & {*scopes})
    for method in sorted(methods.SPEC_CLIENT_METHODS):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": given.get(method, {})}
        response = await client.post("/mcp", json=message, headers=PROTOCOL)
        reads = method in ("resources/list", "resources/read", "tools/call")
        assert ("quibblewort" in response.text) == (may_read and reads), method
        if scopes == ("metrics",):
            assert_problem(response, 403, "forbidden")
        elif method.startswith("resources/") and reads:
            assert ("lacks the scope `search`" in response.text) == (not may_read), method


async def test_tools_and_resources_wait_for_a_turn_to_read(busy: Caller, new_caller: Any) -> None:
    other, some_id = await new_caller("search"), uuid4()
    call_tool = {"name": "get_document", "arguments": {"document_id": str(some_id)}}
    for method, params in (("resources/list", {}), ("tools/call", call_tool)):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        for reader in (busy, other):
            answer = await reader.client.post("/mcp", json=message, headers=PROTOCOL)
            assert ("busy with other requests" in answer.text) == (reader is busy), method
