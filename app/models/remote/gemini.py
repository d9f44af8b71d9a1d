"""Proposes further searches, names entities and embeds text with Gemini."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from google import genai
from google.genai import errors as genai_errors
from google.genai import types

from app.enums import Vector
from app.models import protocols, remote_calls, unit_vectors
from app.models.remote import endpoint
from app.models.remote.prompted_llm import PromptedLlm, Task
from app.models.remote_calls import CallTimes, ProviderModel, RemoteCalls

MODEL = "gemini-2.5-flash-lite"
BATCH = 100
"""Passages that Gemini embeds in one request at most."""


class GeminiLlm(PromptedLlm):
    """A Gemini model with a response schema. `url` replaces Google's address, for a gateway."""

    def __init__(
        self, *, api_key: str, model: str = MODEL, url: str | None = None, times: CallTimes = CallTimes(4.0)
    ) -> None:
        super().__init__("gemini", model, times)
        self._client = _client(api_key, url)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()

    async def _answer(self, task: Task, *, bulk: bool) -> object:
        config = types.GenerateContentConfig(
            system_instruction=task.system,
            response_mime_type="application/json",
            response_json_schema=task.schema,
            temperature=0.0,
            max_output_tokens=task.max_tokens,
        )
        with _translate_errors():
            models = self._client.aio.models
            answer = await models.generate_content(model=self.name, contents=task.user, config=config)
            return answer.text


class GeminiEmbedder:
    """An Embedder with a task type for queries and one for documents. Vectors are scaled to length one."""

    def __init__(self, model: protocols.EmbeddingModel, *, api_key: str, url: str | None, times: CallTimes) -> None:
        self.model = model
        self._client = _client(api_key, url)
        self.calls = RemoteCalls(ProviderModel("embedder", "gemini", model.name), times)

    async def embed_query(self, text: str) -> Vector:
        """Embed one query. Raises ProviderError, BadEmbedding."""
        return (await self.calls.query(lambda: self._embed([text], "RETRIEVAL_QUERY")))[0]

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, in the order of `texts`. Raises ProviderError, BadEmbedding."""
        vectors: list[Vector] = []
        for start in range(0, len(texts), BATCH):
            work = functools.partial(self._embed, texts[start : start + BATCH], "RETRIEVAL_DOCUMENT")
            vectors += await self.calls.bulk(work)
        return vectors

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()

    async def _embed(self, texts: Sequence[str], task: str) -> list[Vector]:
        # One content for each text: of plain strings some models make a single vector.
        contents: list[types.ContentUnion] = [types.Content(parts=[types.Part(text=text)]) for text in texts]
        config = types.EmbedContentConfig(task_type=task, output_dimensionality=self.model.dimension)
        with _translate_errors():
            models = self._client.aio.models
            answer = await models.embed_content(model=self.model.name, contents=contents, config=config)
            found = [embedding.values for embedding in answer.embeddings or ()]
        return unit_vectors.read_vectors(found, count=len(texts), dimension=self.model.dimension)


def _client(api_key: str, url: str | None) -> genai.Client:
    # No timeout: the package would send it as the server's deadline, and Gemini refuses one of less than 10 seconds.
    return genai.Client(api_key=api_key, vertexai=False, http_options=types.HttpOptions(base_url=url))


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate the package's errors."""
    try:
        yield
    except genai_errors.APIError as error:
        status = 401 if "API_KEY_INVALID" in str(error.details) else error.code  # an unknown key is answered with 400
        headers = getattr(error.response, "headers", {})
        raise remote_calls.error_for_status(status, headers, f"Gemini answered with status {error.code}.") from error
    except Exception as error:  # the package raises whatever its HTTP client raises
        fault, problem = endpoint.unreachable(error)
        raise remote_calls.ProviderDown(f"Gemini {problem}.", fault=fault) from error
