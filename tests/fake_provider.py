"""Serves configurable responses over HTTP in place of a language model or a re-ranker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.errors import ProviderError
from app.providers.base import Llm


@dataclass(slots=True)
class FakeProvider:
    """The next response of the server, and the requests that it received, as paths and bodies.

    Attributes:
        body: The response body, as JSON unless it is bytes.
        respond: Computes `body` from the request body.
        silent: Never respond.
        hang_up: Close the connection without a response.
        trickle: Send one byte every 20 ms.
        delay_s: Wait before the response.
    """

    body: Any = None
    respond: Callable[[dict[str, Any]], Any] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    silent: bool = False
    hang_up: bool = False
    trickle: bool = False
    delay_s: float = 0.0
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    url: str = ""

    def openai(self, content: Any) -> None:
        """Respond with `content` as an OpenAI-compatible endpoint does."""
        self.body = {"choices": [{"message": {"role": "assistant", "content": content}}]}

    def ollama(self, content: Any) -> None:
        """Respond with `content` as Ollama does."""
        self.body = {"message": {"role": "assistant", "content": content}, "done": True}

    def rerank(self, scores: Sequence[Any]) -> None:
        """Respond with the scores of passages as Cohere and Jina do, highest first."""
        rows = [{"index": index, "relevance_score": score} for index, score in enumerate(scores)]
        self.body = {"id": "x", "results": sorted(rows, key=lambda row: str(row["relevance_score"]), reverse=True)}

    def gemini(self, content: str) -> None:
        """Respond with `content` as Gemini does."""
        self.body = {
            "candidates": [{"content": {"role": "model", "parts": [{"text": content}]}, "finishReason": "STOP"}]
        }


@asynccontextmanager
async def serve() -> AsyncIterator[FakeProvider]:
    """A server on a free port of the loopback interface."""
    provider = FakeProvider()
    released = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lengths = [line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length:")]
            received = await reader.readexactly(int(lengths[0]) if lengths else 0)
            request = json.loads(received or b"{}")
            provider.requests.append((head.split()[1], request))
            if provider.respond is not None:
                provider.body = provider.respond(request)
            await asyncio.sleep(provider.delay_s)
            if provider.silent:
                await released.wait()
            elif provider.trickle:
                await _trickle(writer, _response(provider), released)
            elif not provider.hang_up:
                writer.write(_response(provider))
                await writer.drain()
        finally:
            writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    provider.url = f"http://127.0.0.1:{port}"
    try:
        yield provider
    finally:
        released.set()
        listening.close()
        await listening.wait_closed()


async def assert_provider_error(llm: Llm) -> None:
    """Check that a call of the model raises ProviderError, then close the model."""
    with pytest.raises(ProviderError):
        await llm.terms("Who?", ["Ada\nAda wrote the notes."])
    await llm.aclose()


async def _trickle(writer: asyncio.StreamWriter, response: bytes, released: asyncio.Event) -> None:
    """Send one byte every 20 ms until the client disconnects or the test ends."""
    for byte in response:
        if released.is_set() or writer.is_closing():
            return
        writer.write(bytes([byte]))
        with suppress(TimeoutError):
            await asyncio.wait_for(released.wait(), 0.02)


def _response(provider: FakeProvider) -> bytes:
    body = provider.body if isinstance(provider.body, bytes) else json.dumps(provider.body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
    lines = [f"HTTP/1.1 {provider.status} Fake", *(f"{k}: {v}" for k, v in {**headers, **provider.headers}.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body
