"""Defines the protocols of embedders, language models and re-rankers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.enums import Vector
from app.models.remote_calls import RemoteCalls


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedding model; vectors of two models cannot be compared.

    `token_starts` returns the offset of each of its tokens in a text, ascending; None if the model's tokenizer is not
    in this process. It may be called from any thread.
    `languages` are the ISO 639-1 codes of the languages that it was trained to read; empty if they are not known.
    `unrelated` is the mean cosine of unrelated texts; None if it was not measured.
    """

    name: str
    dimension: int
    max_tokens: int
    keyed_by: str = ""
    languages: frozenset[str] = field(default=frozenset(), compare=False)
    unrelated: float | None = field(default=None, compare=False)
    token_starts: Callable[[str], Sequence[int]] | None = field(default=None, compare=False, repr=False)

    @property
    def key_name(self) -> str:
        """The name in the embedding keys of chunks. After the model was replaced, it stays the first model's name."""
        return self.keyed_by or self.name


class Embedder(Protocol):
    """Turns text into unit vectors of `model.dimension` floats.

    Queries and documents have two methods because many models embed them differently.
    Raises ProviderError when the model fails, BadEmbedding when its answer is unusable.
    """

    @property
    def model(self) -> EmbeddingModel:
        """The model that computes the vectors."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """Embed one query."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages; returns one vector for each text, in the same order."""
        ...


def calls_of(model: object) -> RemoteCalls | None:
    """The calls of an embedder, language model or re-ranker; None for a model in this process."""
    calls = getattr(model, "calls", None)
    return calls if isinstance(calls, RemoteCalls) else None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a language model proposes for a further search: terms from the passages, and questions. Both unchecked."""

    terms: Sequence[object]
    questions: Sequence[object] = ()


class Llm(Protocol):
    """A language model that reads passages, and proposes what to search for next or names the entities in them.

    Passages are passed as data, not as instructions. The caller must check the proposal: a passage may have influenced
    it. Raises ProviderError when the model fails or its answer is unusable.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def propose(self, query: str, passages: Sequence[str]) -> Proposal:
        """Propose up to 5 terms from the passages, and up to 2 questions that are still open, for a further search."""
        ...

    async def entities(self, text: str) -> Sequence[object]:
        """Name the entities in a text, as objects with `type`, `name`, `aliases` and `role`; unchecked.

        This is a call in bulk, which may take longer than a call for a query.
        """
        ...


class Reranker(Protocol):
    """A cross-encoder that scores passages against a query.

    Raises ProviderError when the model fails or its answer is unusable.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """The relevance of each passage, 0 to 1, in the same order. Scores of two calls cannot be compared."""
        ...
