"""Serves configurable responses over HTTP in place of an embedder, a language model or a re-ranker.

The server speaks the protocols of Gemini, Ollama, OpenAI-compatible endpoints and text-embeddings-inference, and
misbehaves on demand (`FAULTS`).
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.errors import ProviderError
from app.models.protocols import Llm
from benchmarks.fake_embedder import FakeEmbedder

TLS_HANDSHAKE = b"\x16"
Embeddings = list[list[float]]
FAULTS = (
    "busy",
    "error",
    "unauthorized",
    "reset",
    "silent",
    "trickle",
    "garbage",
    "truncated",
    "wrong_count",
    "wrong_dimension",
    "nan",
    "zero",
)
"""What `misbehave` accepts. A client that uses https gets a TLS error in any case."""
ALTERED: dict[str, Callable[[Embeddings], Embeddings]] = {
    "wrong_count": lambda vectors: [*vectors, vectors[0]],
    "wrong_dimension": lambda vectors: [vector[:-1] for vector in vectors],
    "nan": lambda vectors: [[math.nan] * len(vector) for vector in vectors],
    "zero": lambda vectors: [[0.0] * len(vector) for vector in vectors],
}


@dataclass(slots=True)
class FakeProvider:
    """The next response of the server, the requests that it received, as paths and bodies, and the latest headers.

    Attributes:
        body: The response body, as JSON unless it is bytes.
        respond: Computes `body` from the request body.
        silent: Never respond.
        hang_up: Close the connection without a response.
        trickle: Send one byte every 20 ms.
        delay_s: Wait before the response.
        embedder: Computes the vectors of requests to embed text.
        fault: One of FAULTS.
        answered: The number of requests that have been answered in full.
    """

    body: Any = None
    respond: Callable[[dict[str, Any]], Any] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    silent: bool = False
    hang_up: bool = False
    trickle: bool = False
    delay_s: float = 0.0
    embedder: FakeEmbedder | None = None
    fault: str | None = None
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    received_headers: dict[str, str] = field(default_factory=dict)
    url: str = ""
    answered: int = 0

    def misbehave(self, fault: str | None) -> None:
        """Answer wrongly from now on, or well with None."""
        assert fault is None or fault in FAULTS
        self.fault = fault
        self.silent, self.hang_up, self.trickle = fault == "silent", fault == "reset", fault == "trickle"
        self.status = {"busy": 429, "error": 500, "unauthorized": 401}.get(fault or "", 200)
        self.headers = {"Retry-After": "3"} if fault == "busy" else {}

    async def answer(self, path: str, request: dict[str, Any]) -> Any:
        """The body of the response to a request."""
        body = self.body
        if self.respond is not None:
            body = self.respond(request)
        elif self.embedder is not None:
            vectors = await self.embedder.embed_documents(_texts(path, request))
            body = _embedded(path, ALTERED.get(self.fault or "", list)(vectors))
        if self.fault == "garbage":
            return b"<html>"
        return json.dumps(body).encode()[:-20] if self.fault == "truncated" else body

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
            first = await reader.readexactly(1)
            if first == TLS_HANDSHAKE:
                writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return
            head = (first + await reader.readuntil(b"\r\n\r\n")).decode()
            fields = (line.partition(":") for line in head.split("\r\n")[1:])
            provider.received_headers = {name.lower(): value.strip() for name, _, value in fields if name}
            received = await reader.readexactly(int(provider.received_headers.get("content-length", "0")))
            request = json.loads(received or b"{}")
            provider.requests.append((head.split()[1], request))
            body = await provider.answer(head.split()[1], request)
            await asyncio.sleep(provider.delay_s)
            if provider.silent:
                await released.wait()
            elif provider.trickle:
                await _trickle(writer, _response(provider, body), released)
            elif provider.hang_up:
                writer.transport.abort()
            else:
                writer.write(_response(provider, body))
                await writer.drain()
                provider.answered += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client disconnected
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
        await llm.propose("Who?", ["Ada\nAda wrote the notes."])
    await llm.aclose()


def _texts(path: str, request: dict[str, Any]) -> list[str]:
    """The texts of a request to embed."""
    if path.endswith(":batchEmbedContents"):
        return [one["content"]["parts"][0]["text"] for one in request["requests"]]
    return list(request["inputs"] if path.endswith("/embed") and "inputs" in request else request["input"])


def _embedded(path: str, vectors: Embeddings) -> Any:
    """The answer to a request to embed, in the protocol of its path."""
    if path.endswith(":batchEmbedContents"):
        return {"embeddings": [{"values": vector} for vector in vectors]}
    if path.endswith("/api/embed"):
        return {"model": "x", "embeddings": vectors}
    if path.endswith("/embeddings"):
        rows = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        return {"object": "list", "data": rows[::-1]}
    return vectors


async def _trickle(writer: asyncio.StreamWriter, response: bytes, released: asyncio.Event) -> None:
    """Send one byte every 20 ms until the client disconnects or the test ends."""
    for byte in response:
        if released.is_set() or writer.is_closing():
            return
        writer.write(bytes([byte]))
        with suppress(TimeoutError):
            await asyncio.wait_for(released.wait(), 0.02)


def _response(provider: FakeProvider, answer: Any) -> bytes:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
    lines = [f"HTTP/1.1 {provider.status} Fake", *(f"{k}: {v}" for k, v in {**headers, **provider.headers}.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body
