"""Embeds text over HTTP: any OpenAI-compatible endpoint, Ollama, or text-embeddings-inference (TEI)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from app import errors
from app.enums import Vector
from app.models import protocols, unit_vectors
from app.models.known_models import KnownModel
from app.models.remote.endpoint import Endpoint
from app.models.remote_calls import CallTimes, ProviderModel, RemoteCalls

BATCH = 32
"""Passages of one request: TEI's default maximum, and an answer that is parsed in a few milliseconds."""
MAX_BYTES = 20_000_000
OLLAMA_URL = "http://127.0.0.1:11434"
RESIZABLE = "text-embedding-3"
"""Models of OpenAI that return as many dimensions as are requested; other servers reject the parameter."""


@dataclass(frozen=True, slots=True)
class EmbeddingApi:
    """A protocol: its path, the body of a request, the vectors in an answer (else KeyError, TypeError), default URL."""

    name: str
    path: str
    body: Callable[[protocols.EmbeddingModel, list[str]], dict[str, Any]]
    vectors: Callable[[Any], list[Any]]
    url: str = ""


DEFAULT_MODELS = {"gemini": "gemini-embedding-001", "ollama": "nomic-embed-text"}


class HttpEmbedder:
    """An Embedder behind one endpoint. Vectors are scaled to length one."""

    def __init__(
        self,
        api: EmbeddingApi,
        model: protocols.EmbeddingModel,
        *,
        url: str,
        api_key: str | None,
        known: KnownModel,
        times: CallTimes,
    ) -> None:
        self._api = api
        self.model = model
        self._known = known
        self._endpoint = Endpoint("The embedding model", url=url, api_key=api_key, max_bytes=MAX_BYTES)
        self.calls = RemoteCalls(ProviderModel("embedder", api.name, model.name), times)

    async def embed_query(self, text: str) -> Vector:
        """Embed one query. Raises ProviderError, BadEmbedding."""
        texts = [self._known.query_prefix + text]
        return (await self.calls.query(lambda: self._embed(texts, bulk=False)))[0]

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, in the order of `texts`. Raises ProviderError, BadEmbedding."""
        prefixed = [self._known.document_prefix + text for text in texts]
        vectors: list[Vector] = []
        for start in range(0, len(prefixed), BATCH):
            vectors += await self._embed_batch(prefixed[start : start + BATCH])
        return vectors

    async def _embed_batch(self, texts: list[str]) -> list[Vector]:
        """Embed passages in one request, or in two of half of them if a server refuses it, such as for their number."""
        try:
            return await self.calls.bulk(partial(self._embed, texts, bulk=True))
        except errors.ProviderError as error:
            half = len(texts) // 2
            if error.fault != "request" or not half:
                raise
            return [*await self._embed_batch(texts[:half]), *await self._embed_batch(texts[half:])]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _embed(self, texts: list[str], *, bulk: bool) -> list[Vector]:
        answer = await self._endpoint.post(self._api.path, self._api.body(self.model, texts), bulk=bulk)
        try:
            found = self._api.vectors(answer)
        except (KeyError, TypeError, ValueError) as error:
            message = "The embedding model's answer does not follow its API."
            raise errors.BadEmbedding(message, fault="answer") from error
        return unit_vectors.read_vectors(found, count=len(texts), dimension=self.model.dimension)


def _openai_body(model: protocols.EmbeddingModel, texts: list[str]) -> dict[str, Any]:
    resized = {"dimensions": model.dimension} if model.name.startswith(RESIZABLE) else {}
    return {"model": model.name, "input": texts, "encoding_format": "float", **resized}


def _openai_vectors(answer: Any) -> list[Any]:
    rows = {row["index"]: row["embedding"] for row in answer["data"]}
    return [rows[index] for index in range(len(answer["data"]))]


OPENAI = EmbeddingApi("openai", "embeddings", _openai_body, _openai_vectors)
OLLAMA = EmbeddingApi(
    "ollama",
    "api/embed",
    lambda model, texts: {"model": model.name, "input": texts, "truncate": True},
    lambda answer: list(answer["embeddings"]),
    url=OLLAMA_URL,
)
TEI = EmbeddingApi(
    "tei",
    "embed",
    lambda _model, texts: {"inputs": texts, "normalize": True, "truncate": True},
    list,
)
APIS = {api.name: api for api in (OPENAI, OLLAMA, TEI)}
