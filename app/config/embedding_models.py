"""Lists the embedding providers with their defaults, and the models whose properties need not be set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OLLAMA_URL = "http://127.0.0.1:11434"
EmbedderKind = Literal["minilm", "onnx", "gemini", "openai", "ollama", "tei"]


@dataclass(frozen=True, slots=True)
class EmbeddingProvider:
    """The defaults of a provider, empty where there is none; the dimension of a local model is read from its files."""

    url: str = ""
    model: str = ""
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class KnownModel:
    """The dimension of a remote model, the maximum number of tokens of a text, and the prefixes that it expects."""

    dimension: int
    max_tokens: int
    query_prefix: str = ""
    document_prefix: str = ""


PROVIDERS: dict[EmbedderKind, EmbeddingProvider] = {
    "minilm": EmbeddingProvider(is_local=True),
    "onnx": EmbeddingProvider(is_local=True),
    "gemini": EmbeddingProvider(model="gemini-embedding-001"),
    "openai": EmbeddingProvider(),
    "ollama": EmbeddingProvider(url=OLLAMA_URL, model="nomic-embed-text"),
    "tei": EmbeddingProvider(),
}
MODELS = {
    "gemini-embedding-001": KnownModel(768, 2_048),
    "nomic-embed-text": KnownModel(768, 2_048, "search_query: ", "search_document: "),
    "text-embedding-3-small": KnownModel(1_536, 8_191),
    "text-embedding-ada-002": KnownModel(1_536, 8_191),
}
"""By name; other remote models need STEPWELL_EMBEDDER_DIM."""
_UNKNOWN = KnownModel(0, 0)


def known(name: str) -> KnownModel:
    """What is known of a model; numbers of another one are 0."""
    return MODELS.get(name, _UNKNOWN)
