"""Defines and validates the settings of the embedder, the language model and the re-ranker."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

EmbedderKind = Literal["minilm", "e5", "onnx", "hub", "gemini", "openai", "ollama", "tei"]


class NextEmbedder(BaseModel, extra="forbid", frozen=True):
    """The embedder to which `reembed` changes; a field means what the setting STEPWELL_EMBEDDER_… does."""

    embedder: EmbedderKind
    url: str | None = None
    model: str | None = None
    dim: int | None = Field(None, ge=1, le=4000)
    api_key: SecretStr | None = None
    max_tokens: int | None = Field(None, ge=64)
    query_prefix: str | None = None
    document_prefix: str | None = None


NEEDED = (
    ("embedder", "onnx", all, ("embedder_model",)),
    ("embedder", "hub", all, ("embedder_model",)),
    ("embedder", "openai", all, ("embedder_url", "embedder_model")),
    ("embedder", "tei", all, ("embedder_url", "embedder_model")),
    ("embedder", "gemini", any, ("gemini_api_key", "embedder_api_key")),
    ("llm", "openai", all, ("llm_url", "llm_model")),
    ("llm", "gemini", any, ("gemini_api_key", "llm_api_key")),
    ("reranker", "onnx", all, ("reranker_model",)),
    ("reranker", "hub", all, ("reranker_model",)),
    ("reranker", "tei", all, ("reranker_url",)),
    ("reranker", "cohere", any, ("reranker_api_key", "reranker_url")),
    ("reranker", "jina", any, ("reranker_api_key", "reranker_url")),
)
"""What a model of a role and kind needs: all or any of some settings."""
BUILT_IN = ("minilm", "e5")
"""The embedders that have a model of their own."""


def _read(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return json.loads(value) if value.lstrip().startswith("{") else {"embedder": value}


class ProviderSettings(BaseSettings):
    """The part of the settings that concerns models, local ones and remote ones."""

    model_config = SettingsConfigDict(
        env_prefix="STEPWELL_",
        env_ignore_empty=True,
        populate_by_name=True,
        extra="ignore",
        frozen=True,
        use_attribute_docstrings=True,
    )

    embedder: EmbedderKind = "minilm"
    """Embedding provider; minilm: built in, for English; e5: for many languages, from the extra `multilingual`; hub: a
    model that is downloaded once from the Hugging Face hub; onnx: a model in a folder on this machine; openai: any
    compatible endpoint; tei: text-embeddings-inference."""
    embedder_url: str | None = None
    """URL of the embedding model; for openai with the version (`…/v1`), for gemini without; unset: the provider's
    default, if it has one."""
    embedder_model: str | None = None
    """Name of the embedding model, for onnx its folder, for hub a name such as `BAAI/bge-small-en-v1.5`; unset: the
    provider's default, if it has one."""
    embedder_dim: int | None = Field(None, ge=1, le=4000)
    """Dimension of the vectors; unset: the model's own, which a smaller one truncates for onnx; required for remote
    models that are not known."""
    embedder_api_key: SecretStr | None = None
    """API key of the embedding model; for Gemini, GEMINI_API_KEY is read too."""
    embedder_max_tokens: int | None = Field(None, ge=64)
    """Maximum number of tokens of a text that the model reads; unset: the published number."""
    embedder_query_prefix: str | None = None
    """Text that is put before each query, such as `query: `; unset: the published one."""
    embedder_document_prefix: str | None = None
    """Text that is put before each passage, such as `passage: `; unset: the published one."""
    next_embedder: Annotated[NextEmbedder | None, NoDecode, BeforeValidator(_read)] = None
    """The embedder to which `stepwell reembed` changes, as JSON such as `{"embedder": "onnx", "model": "models/e5"}`,
    with the other parts of STEPWELL_EMBEDDER_… in lower case; unset: none. The service uses it once the stored vectors
    are those of its model."""
    model_hub: str = "https://huggingface.co"
    """Address of the Hugging Face hub or a mirror of it, from which models are downloaded once."""

    llm: Literal["none", "gemini", "openai", "ollama"] = "none"
    """Language model that proposes terms for a further hop; none: stored names and statistics are used."""
    llm_url: str | None = None
    """URL of the language model; required for openai (any compatible endpoint), without the version for gemini; ollama
    has a local default."""
    llm_model: str | None = None
    """Name of the language model; Gemini and Ollama have a default."""
    llm_api_key: SecretStr | None = None
    """API key of the language model; for Gemini, GEMINI_API_KEY is read too."""
    gemini_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("STEPWELL_GEMINI_API_KEY", "GEMINI_API_KEY")
    )
    """API key of Gemini."""
    llm_entities: bool = False
    """Whether the language model is asked for the entities of each stored document, in the background; applies to
    documents that are stored afterwards."""

    reranker: Literal["cosine", "onnx", "hub", "cohere", "jina", "tei"] = "cosine"
    """Cross-encoder for `rerank: provider`; onnx: a model in a folder on this machine; hub: one that is downloaded;
    cosine: none, only `rerank: cosine` works."""
    reranker_url: str | None = None
    """URL of the cross-encoder without `/rerank`; required for tei; Cohere and Jina have a default."""
    reranker_model: str | None = None
    """Name of the cross-encoder; Cohere and Jina have a default; for onnx, its folder; for hub, such as
    `BAAI/bge-reranker-base`."""
    reranker_api_key: SecretStr | None = None
    """API key of the cross-encoder; required for Cohere and Jina without a URL of your own."""
    model_timeout_s: float = Field(3.0, gt=0)
    """Time limit of a model for a query; the search then continues without what it was asked for."""

    def next(self) -> Self | None:
        """The settings with the next embedder in place of the present one; None without a next one."""
        following = self.next_embedder
        if following is None:
            return None
        parts = {f"embedder_{name}": value for name, value in following if name != "embedder"}
        return self.model_copy(update={**parts, "embedder": following.embedder, "next_embedder": None})

    def unused_llm_key(self) -> tuple[str, str] | None:
        """Says that a language model's key is set and not used, and which setting uses it; None without such a key."""
        if self.llm != "none":
            return None
        if self.gemini_api_key and self.embedder != "gemini":
            variable, value = "GEMINI_API_KEY", "gemini"
        elif self.llm_api_key:
            variable, value = "STEPWELL_LLM_API_KEY", "gemini or STEPWELL_LLM=openai"
        else:
            return None
        return (
            f"{variable} is set and no language model is used: nothing is sent to one",
            f"STEPWELL_LLM={value} lets it read questions and passages of searches over several hops.",
        )

    @model_validator(mode="after")
    def _models_are_complete(self) -> Self:
        self._check_models(lambda name: "GEMINI_API_KEY" if name == "gemini_api_key" else f"STEPWELL_{name.upper()}")
        if (following := self.next()) is not None:
            following._check_models(lambda name: f"{name.removeprefix('embedder_')} in STEPWELL_NEXT_EMBEDDER")
        if self.llm == "none" and self.llm_entities:
            raise ValueError("STEPWELL_LLM_ENTITIES needs STEPWELL_LLM")
        return self

    def _check_models(self, naming: Callable[[str], str]) -> None:
        for role, kind, suffices, names in NEEDED:
            if getattr(self, role) == kind and not suffices(getattr(self, name) for name in names):
                needed = (" and " if suffices is all else " or ").join(map(naming, names))
                raise ValueError(f"{naming(role)}={kind} needs {needed}")
        unused = [name for name in ("embedder_model", "embedder_url") if getattr(self, name)]
        if self.embedder in BUILT_IN and unused:
            chosen = f"{naming('embedder')}={self.embedder}"
            raise ValueError(f"{chosen} has a model of its own: choose another, or unset {naming(unused[0])}")
