"""An HTTP server that answers as it is told: well, slowly, malformed, busy, or not at all."""

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
class Script:
    """What the server answers next, which may depend on the question, and what it was asked."""

    body: Any = None
    answering: Callable[[dict[str, Any]], Any] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    silent: bool = False
    hang_up: bool = False
    trickle: bool = False
    delay_s: float = 0.0
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    url: str = ""

    def openai(self, content: Any) -> None:
        """Answer as an OpenAI-compatible endpoint does."""
        self.body = {"choices": [{"message": {"role": "assistant", "content": content}}]}

    def ollama(self, content: Any) -> None:
        """Answer as Ollama does."""
        self.body = {"message": {"role": "assistant", "content": content}, "done": True}

    def rerank(self, scores: Sequence[Any]) -> None:
        """Score passages as Cohere and Jina do, the best first."""
        rows = [{"index": index, "relevance_score": score} for index, score in enumerate(scores)]
        self.body = {"id": "x", "results": sorted(rows, key=lambda row: str(row["relevance_score"]), reverse=True)}

    def gemini(self, content: str) -> None:
        """Answer as Gemini does."""
        self.body = {
            "candidates": [{"content": {"role": "model", "parts": [{"text": content}]}, "finishReason": "STOP"}]
        }


@asynccontextmanager
async def server() -> AsyncIterator[Script]:
    """A server on a free port of this machine."""
    script = Script()
    released = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lengths = [line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length:")]
            told = await reader.readexactly(int(lengths[0]) if lengths else 0)
            question = json.loads(told or b"{}")
            script.asked.append((head.split()[1], question))
            if script.answering is not None:
                script.body = script.answering(question)
            await asyncio.sleep(script.delay_s)
            if script.silent:
                await released.wait()
            elif script.trickle:
                await _trickle(writer, _response(script), released)
            elif not script.hang_up:
                writer.write(_response(script))
                await writer.drain()
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    script.url = f"http://127.0.0.1:{port}"
    try:
        yield script
    finally:
        released.set()
        listening.close()
        await listening.wait_closed()


async def fails(llm: Llm) -> None:
    """A question to this model is a provider's failure; the model is closed then."""
    with pytest.raises(ProviderError):
        await llm.terms("Who?", ["Ada\nAda wrote the notes."])
    await llm.aclose()


async def _trickle(writer: asyncio.StreamWriter, response: bytes, released: asyncio.Event) -> None:
    """Send one byte every 20 ms until the client or the test has left."""
    for byte in response:
        if released.is_set() or writer.is_closing():
            return
        writer.write(bytes([byte]))
        with suppress(TimeoutError):
            await asyncio.wait_for(released.wait(), 0.02)


def _response(script: Script) -> bytes:
    body = script.body if isinstance(script.body, bytes) else json.dumps(script.body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
    lines = [f"HTTP/1.1 {script.status} Told", *(f"{k}: {v}" for k, v in {**headers, **script.headers}.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body
