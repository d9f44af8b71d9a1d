"""Defines and validates the settings of the embedder, the language model and the re-ranker."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import AliasChoices, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.config import embedding_models
from app.config.embedding_models import EmbedderKind


class ProviderSettings(BaseSettings):
    """The part of the settings that concerns models, local ones and remote ones."""

    model_config = SettingsConfigDict(
        env_prefix="STEPWELL_", env_ignore_empty=True, populate_by_name=True, extra="ignore", frozen=True
    )

    embedder: EmbedderKind = Field(
        "minilm",
        description="Embedding provider; minilm: built in; onnx: a model in a folder on this machine; openai: any "
        "compatible endpoint; tei: text-embeddings-inference.",
    )
    embedder_url: str | None = Field(
        None,
        description="URL of the embedding model; for openai with the version (`…/v1`); unset: the provider's default, "
        "if it has one.",
    )
    embedder_model: str | None = Field(
        None,
        description="Name of the embedding model, for onnx its folder; unset: the provider's default, if it has one.",
    )
    embedder_dim: int | None = Field(
        None,
        ge=1,
        le=4000,
        description="Dimension of the vectors; unset: the model's own, which a smaller one truncates for onnx; "
        "required for remote models that are not known.",
    )
    embedder_api_key: SecretStr | None = Field(
        None, description="API key of the embedding model; for Gemini, GEMINI_API_KEY is read too."
    )
    embedder_max_tokens: int | None = Field(
        None, ge=64, description="Maximum number of tokens of a text that the model reads; unset: the published number."
    )
    embedder_query_prefix: str | None = Field(
        None, description="Text that is put before each query, such as `query: `; unset: the published one."
    )
    embedder_document_prefix: str | None = Field(
        None, description="Text that is put before each passage, such as `passage: `; unset: the published one."
    )
    embedder_precision: Literal["int8", "float32"] = Field(
        "int8",
        description="Arithmetic of the built-in embedding model; float32: as published, more time and memory. "
        "Vectors of both may be mixed.",
    )
    embedder_threads: int = Field(
        0, ge=0, le=64, description="Threads of each local model; 0: the number of cores, at most 4."
    )
    embedder_rate_limit: int = Field(
        0, ge=0, description="Maximum number of calls per minute to the embedding model, in each process; 0: no limit."
    )
    next_embedder: EmbedderKind | None = Field(
        None,
        description="Embedding provider to which `stepwell reembed` changes; unset: none. The service uses it once the "
        "stored vectors are those of its model.",
    )
    next_embedder_url: str | None = Field(None, description="STEPWELL_EMBEDDER_URL of the next embedder.")
    next_embedder_model: str | None = Field(None, description="STEPWELL_EMBEDDER_MODEL of the next embedder.")
    next_embedder_dim: int | None = Field(
        None, ge=1, le=4000, description="STEPWELL_EMBEDDER_DIM of the next embedder."
    )
    next_embedder_api_key: SecretStr | None = Field(
        None, description="STEPWELL_EMBEDDER_API_KEY of the next embedder; for Gemini, GEMINI_API_KEY is read too."
    )
    next_embedder_max_tokens: int | None = Field(
        None, ge=64, description="STEPWELL_EMBEDDER_MAX_TOKENS of the next embedder."
    )
    next_embedder_query_prefix: str | None = Field(
        None, description="STEPWELL_EMBEDDER_QUERY_PREFIX of the next embedder."
    )
    next_embedder_document_prefix: str | None = Field(
        None, description="STEPWELL_EMBEDDER_DOCUMENT_PREFIX of the next embedder."
    )
    query_cache_size: int = Field(10_000, ge=0, description="Maximum number of query vectors cached in memory.")
    embedding_cache_size: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="Maximum number of vectors of passages that the database keeps for each user, for texts that are "
        "stored again; 0: none.",
    )
    embed_timeout_s: float = Field(
        3.0, gt=0, description="Timeout for embedding a query; the search then continues without a vector."
    )

    llm: Literal["none", "gemini", "openai", "ollama"] = Field(
        "none",
        description="Language model that proposes terms for a further hop; none: stored names and statistics are used.",
    )
    llm_url: str | None = Field(
        None,
        description="URL of the language model; required for openai (any compatible "
        "endpoint); ollama has a local default.",
    )
    llm_model: str | None = Field(None, description="Name of the language model; Gemini and Ollama have a default.")
    llm_api_key: SecretStr | None = Field(
        None, description="API key of the language model; for Gemini, GEMINI_API_KEY is read too."
    )
    gemini_api_key: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("STEPWELL_GEMINI_API_KEY", "GEMINI_API_KEY"),
        description="API key of Gemini.",
    )
    llm_timeout_s: float = Field(
        4.0, gt=0, description="Timeout of the language model; the hop then continues with stored names."
    )
    llm_rate_limit: int = Field(
        0, ge=0, description="Maximum number of calls per minute to the language model, in each process; 0: no limit."
    )

    llm_entities: bool = Field(
        False,
        description="Whether the language model is asked for the entities of each stored document, in the background; "
        "applies to documents that are stored afterwards.",
    )

    reranker: Literal["cosine", "onnx", "cohere", "jina", "tei"] = Field(
        "cosine",
        description="Cross-encoder for `rerank: provider`; onnx: a model in a folder on this machine; cosine: none, "
        "only `rerank: cosine` works.",
    )
    reranker_url: str | None = Field(
        None,
        description="URL of the cross-encoder without `/rerank`; required for tei; Cohere and Jina have a default.",
    )
    reranker_model: str | None = Field(
        None, description="Name of the cross-encoder; Cohere and Jina have a default; for onnx, its folder."
    )
    reranker_api_key: SecretStr | None = Field(
        None, description="API key of the cross-encoder; required for Cohere and Jina without a URL of your own."
    )
    reranker_timeout_s: float = Field(
        2.0, gt=0, description="Timeout of the cross-encoder; the search then keeps the fused order."
    )
    reranker_rate_limit: int = Field(
        0, ge=0, description="Maximum number of calls per minute to the cross-encoder, in each process; 0: no limit."
    )
    provider_concurrency: int = Field(
        8, ge=1, le=100, description="Maximum number of concurrent calls to each remote model, in each process."
    )

    @model_validator(mode="after")
    def _embedders_are_complete(self) -> Self:
        self._check_embedder("embedder")
        if self.next_embedder is not None:
            self._check_embedder("next_embedder")
        return self

    def _check_embedder(self, field: str) -> None:
        kind, variable = getattr(self, field), f"STEPWELL_{field.upper()}"
        provider = embedding_models.PROVIDERS[kind]
        missing = [f"{variable}_{name.upper()}" for name in provider.needed if not getattr(self, f"{field}_{name}")]
        if missing:
            raise ValueError(f"{variable}={kind} needs {' and '.join(missing)}")
        keys = {f"{field}_api_key": f"{variable}_API_KEY"} | (
            {provider.other_key: provider.other_key.upper()} if provider.other_key else {}
        )
        if provider.needs_key and not any(getattr(self, name) for name in keys):
            raise ValueError(f"{variable}={kind} needs {' or '.join(sorted(keys.values()))}")
        has_dimension = getattr(self, f"{field}_dim") or provider.is_local
        if not has_dimension and (getattr(self, f"{field}_model") or provider.model) not in embedding_models.MODELS:
            raise ValueError(f"{variable}={kind} with this model needs {variable}_DIM")

    def next(self) -> Self | None:
        """The settings with the next embedder in place of the present one; None without a next one."""
        if self.next_embedder is None:
            return None
        parts = ("", "_url", "_model", "_dim", "_api_key", "_max_tokens", "_query_prefix", "_document_prefix")
        return self.model_copy(
            update={f"embedder{part}": getattr(self, f"next_embedder{part}") for part in parts}
            | {"next_embedder": None}
        )

    @model_validator(mode="after")
    def _llm_is_complete(self) -> Self:
        if self.llm == "openai" and not (self.llm_url and self.llm_model):
            raise ValueError("STEPWELL_LLM=openai needs STEPWELL_LLM_URL and STEPWELL_LLM_MODEL")
        if self.llm == "none" and self.llm_entities:
            raise ValueError("STEPWELL_LLM_ENTITIES needs STEPWELL_LLM")
        if self.llm == "gemini" and not (self.llm_api_key or self.gemini_api_key):
            raise ValueError("STEPWELL_LLM=gemini needs GEMINI_API_KEY or STEPWELL_LLM_API_KEY")
        return self

    @model_validator(mode="after")
    def _reranker_is_complete(self) -> Self:
        if self.reranker == "onnx" and not self.reranker_model:
            raise ValueError("STEPWELL_RERANKER=onnx needs STEPWELL_RERANKER_MODEL, the folder of the model")
        if self.reranker == "tei" and not self.reranker_url:
            raise ValueError("STEPWELL_RERANKER=tei needs STEPWELL_RERANKER_URL")
        if self.reranker in ("cohere", "jina") and not (self.reranker_api_key or self.reranker_url):
            raise ValueError(f"STEPWELL_RERANKER={self.reranker} needs STEPWELL_RERANKER_API_KEY")
        return self
