"""Forwards MCP messages between stdin and stdout and the /mcp endpoint of a running service.

Each line of stdin is one JSON-RPC message and is sent as one POST; its answer is one line of stdout. The headers that
the protocol requires over HTTP are taken from the message. A failed request is answered with a JSON-RPC error.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from dataclasses import dataclass, field
from typing import Any

import httpx

from app import errors

TIMEOUT_S = 120.0
CONNECT_TIMEOUT_S = 5.0
MAX_CONCURRENT = 16
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
_PARSE_ERROR, _INVALID_REQUEST, _SERVER_ERROR = -32700, -32600, -32000
Message = dict[str, Any]


async def run(url: str, api_key: str | None) -> None:
    """Forward until stdin is closed, then finish the requests that are running. Raises BadRequest for another URL."""
    address = endpoint(url)
    headers = {"Accept": "application/json, text/event-stream"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    timeout = httpx.Timeout(TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    async with httpx.AsyncClient(headers=headers, timeout=timeout) as client:
        bridge = _Bridge(client, address)
        async with asyncio.TaskGroup() as running:
            while line := await asyncio.to_thread(sys.stdin.buffer.readline):
                if line.strip():
                    await bridge.accept(line, running)


def endpoint(url: str) -> str:
    """The address of the MCP endpoint of a service. Raises BadRequest."""
    parsed = httpx.URL(url)
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise errors.BadRequest("Give the address of a service, such as http://127.0.0.1:8000.", field="--url")
    return url.rstrip("/").removesuffix("/mcp") + "/mcp"


def asks_for_key(url: str) -> bool | None:
    """Whether a service refuses requests without a key; None if it does not answer. Raises BadRequest."""
    address = endpoint(url).removesuffix("/mcp") + "/api/rag/tools"
    try:
        answer = httpx.get(address, timeout=CONNECT_TIMEOUT_S)
    except httpx.HTTPError:
        return None
    return answer.status_code in (401, 403)


@dataclass(slots=True)
class _Bridge:
    """One client on stdin and stdout. `version` is the protocol version that it negotiated, if it did."""

    client: httpx.AsyncClient
    address: str
    version: str | None = None
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT))

    async def accept(self, line: bytes, running: asyncio.TaskGroup) -> None:
        """Forward one message: `initialize` before the next is read, others concurrently."""
        try:
            message = json.loads(line)
        except ValueError:
            _write(_error(None, _PARSE_ERROR, "The line is not valid JSON."))
            return
        if not isinstance(message, dict):
            _write(_error(None, _INVALID_REQUEST, "A message is a JSON object."))
        elif message.get("method") == "initialize":
            answer = await self.forward(message)
            self.version = ((answer or {}).get("result") or {}).get("protocolVersion")
            _write(answer)
        else:
            await self.places.acquire()
            running.create_task(self._answer(message))

    async def _answer(self, message: Message) -> None:
        try:
            _write(await self.forward(message))
        finally:
            self.places.release()

    async def forward(self, message: Message) -> Message | None:
        """The service's answer to a message; None to a notification."""
        request_id = message.get("id")
        try:
            response = await self.client.post(self.address, json=message, headers=self._headers(message))
        except httpx.HTTPError as error:
            reason = f"The service at {self.address} did not answer ({type(error).__name__}): is it running?"
            return _error(request_id, _SERVER_ERROR, reason) if request_id is not None else None
        if request_id is None:
            return None
        answer = _json(response)
        if answer is not None and "jsonrpc" in answer:
            return answer
        reason = (answer or {}).get("detail") or f"The service answered with status {response.status_code}."
        return _error(request_id, _SERVER_ERROR, reason)

    def _headers(self, message: Message) -> dict[str, str]:
        """The headers that repeat parts of a message, as the versions of the protocol from 2025-06-18 on require."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        stated = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
        headers = {"Mcp-Method": str(message.get("method", ""))}
        if version := stated or self.version:
            headers["MCP-Protocol-Version"] = str(version)
        if name := params.get(_NAMED_BY.get(headers["Mcp-Method"], "")):
            headers["Mcp-Name"] = str(name)
        return {key: _header_value(value) for key, value in headers.items()}


def _header_value(value: str) -> str:
    """A value as a header field: in base64 with the protocol's marks if it is not printable ASCII."""
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _json(response: httpx.Response) -> Message | None:
    try:
        answer = response.json()
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _error(request_id: object, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def _write(message: Message | None) -> None:
    if message is not None:
        sys.stdout.buffer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()
