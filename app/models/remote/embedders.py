"""Embeds text over HTTP: any OpenAI-compatible endpoint, Ollama, text-embeddings-inference (TEI), or Gemini."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from app import errors
from app.kinds import Vector
from app.models import base
from app.models.calls import CallTimes, ProviderModel, RemoteCalls
from app.models.known import KnownModel
from app.models.remote import endpoint
from app.models.remote.endpoint import Endpoint

BATCH = 32
"""Passages of one request: TEI's default maximum, and an answer that is parsed in a few milliseconds."""
MAX_BYTES = 20_000_000
RESIZABLE = "text-embedding-3"
"""Models of OpenAI that return as many dimensions as are requested; other servers reject the parameter."""


@dataclass(frozen=True, slots=True)
class EmbedCall:
    """The texts of one request, which are one query or some passages."""

    model: base.EmbeddingModel
    texts: list[str]
    is_query: bool = False


@dataclass(frozen=True, slots=True)
class EmbeddingApi:
    """A protocol: its path, the body of a request, and the vectors in an answer (else KeyError, TypeError, ValueError).

    `url` and `default` are the address and the model without others; a request has at most `batch` passages.
    """

    name: str
    path: str
    body: Callable[[EmbedCall], dict[str, Any]]
    vectors: Callable[[Any], list[Any]]
    url: str = ""
    default: str = ""
    batch: int = BATCH


class HttpEmbedder:
    """An Embedder behind one endpoint. Vectors are scaled to length one."""

    def __init__(
        self,
        api: EmbeddingApi,
        model: base.EmbeddingModel,
        *,
        url: str | None = None,
        api_key: str | None = None,
        known: KnownModel = KnownModel(),
        times: CallTimes = CallTimes(3.0),
    ) -> None:
        self._api = api
        self.model = model
        self._known = known
        headers = endpoint.authorise(api.name, api_key)
        self._endpoint = Endpoint("The embedding model", url=url or api.url, headers=headers, max_bytes=MAX_BYTES)
        self.calls = RemoteCalls(ProviderModel("embedder", api.name, model.name), times)

    async def embed_query(self, text: str) -> Vector:
        """Embed one query. Raises ProviderError, BadEmbedding."""
        call = EmbedCall(self.model, [self._known.query_prefix + text], is_query=True)
        return (await self.calls.query(lambda: self._embed(call)))[0]

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, in the order of `texts`. Raises ProviderError, BadEmbedding."""
        prefixed = [self._known.document_prefix + text for text in texts]
        vectors: list[Vector] = []
        for start in range(0, len(prefixed), self._api.batch):
            call = EmbedCall(self.model, prefixed[start : start + self._api.batch])
            vectors += await self.calls.bulk(partial(self._embed, call))
        return vectors

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _embed(self, call: EmbedCall) -> list[Vector]:
        path = self._api.path.format(self.model.name)
        answer = await self._endpoint.post(path, self._api.body(call), bulk=not call.is_query)
        try:
            found = self._api.vectors(answer)
        except (KeyError, TypeError, ValueError) as error:
            message = "The embedding model's answer does not follow its API."
            raise errors.BadEmbedding(message, fault="answer") from error
        return base.read_vectors(found, count=len(call.texts), dimension=self.model.dimension)


def _openai_body(call: EmbedCall) -> dict[str, Any]:
    resized = {"dimensions": call.model.dimension} if call.model.name.startswith(RESIZABLE) else {}
    return {"model": call.model.name, "input": call.texts, "encoding_format": "float", **resized}


def _openai_vectors(answer: Any) -> list[Any]:
    rows = {row["index"]: row["embedding"] for row in answer["data"]}
    return [rows[index] for index in range(len(answer["data"]))]


def _gemini_body(call: EmbedCall) -> dict[str, Any]:
    task = "RETRIEVAL_QUERY" if call.is_query else "RETRIEVAL_DOCUMENT"
    asked = {"model": f"models/{call.model.name}", "taskType": task, "outputDimensionality": call.model.dimension}
    return {"requests": [{**asked, "content": {"parts": [{"text": text}]}} for text in call.texts]}


APIS = {
    api.name: api
    for api in (
        EmbeddingApi("openai", "embeddings", _openai_body, _openai_vectors),
        EmbeddingApi(
            "ollama",
            "api/embed",
            lambda call: {"model": call.model.name, "input": call.texts, "truncate": True},
            lambda answer: list(answer["embeddings"]),
            url=endpoint.OLLAMA_URL,
            default="nomic-embed-text",
        ),
        EmbeddingApi(
            "tei",
            "embed",
            lambda call: {"inputs": call.texts, "normalize": True, "truncate": True},
            lambda answer: list(answer),
        ),
        EmbeddingApi(
            "gemini",
            "models/{}:batchEmbedContents",
            _gemini_body,
            lambda answer: [one["values"] for one in answer["embeddings"]],
            url=endpoint.GEMINI_URL,
            default="gemini-embedding-001",
            batch=100,
        ),
    )
}
