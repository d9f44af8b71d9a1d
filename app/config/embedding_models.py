"""Lists the embedding providers with the settings that they need, and the models whose properties need not be set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OLLAMA_URL = "http://127.0.0.1:11434"
EmbedderKind = Literal["minilm", "onnx", "gemini", "openai", "ollama", "tei"]


@dataclass(frozen=True, slots=True)
class EmbeddingProvider:
    """What the settings of a provider must name (`url`, `model`), and its defaults; empty where there is none.

    A provider that `needs_key` takes the one in the setting `other_key` too. The dimension of a local model is read
    from its files.
    """

    needed: tuple[Literal["url", "model"], ...] = ()
    url: str = ""
    model: str = ""
    is_local: bool = False
    needs_key: bool = False
    other_key: Literal["", "gemini_api_key"] = ""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """The dimension of a remote model, the maximum number of tokens of a text, and the prefixes that it expects."""

    dimension: int
    max_tokens: int
    query_prefix: str = ""
    document_prefix: str = ""


PROVIDERS: dict[EmbedderKind, EmbeddingProvider] = {
    "minilm": EmbeddingProvider(is_local=True),
    "onnx": EmbeddingProvider(("model",), is_local=True),
    "gemini": EmbeddingProvider(model="gemini-embedding-001", needs_key=True, other_key="gemini_api_key"),
    "openai": EmbeddingProvider(("url", "model")),
    "ollama": EmbeddingProvider(url=OLLAMA_URL, model="nomic-embed-text"),
    "tei": EmbeddingProvider(("url", "model")),
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
