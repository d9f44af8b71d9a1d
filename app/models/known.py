"""Lists known models with what their users need to know; others are used as they describe themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Pooling = Literal["mean", "cls", "last"]

ENGLISH = frozenset({"en"})
_MANY = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it "
    "ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt ro ru sa sd si sk sl so sq "
    "sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)
MANY = frozenset(_MANY.split())
"""The languages of XLM-RoBERTa, from which the multilingual models were made; the rare ones are read less well."""
_SEARCHING = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What is known of a model; an empty part is not.

    `repository` is its place on the Hugging Face hub. `max_tokens` is the most tokens of a text, a prefix is put before
    each query or passage. `languages` are the ISO 639-1 codes of those that it was trained to read.
    """

    repository: str = ""
    dimension: int = 0
    max_tokens: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: Pooling | None = None
    languages: frozenset[str] = frozenset()
    licence: str = ""


def _e5(repository: str, dimension: int) -> KnownModel:
    return KnownModel(repository, dimension, 512, "query: ", "passage: ", "mean", MANY, "MIT")


def _english(
    repository: str, dimension: int, pooling: Pooling, *, prefix: str = "", tokens: int = 512, licence: str = "MIT"
) -> KnownModel:
    return KnownModel(repository, dimension, tokens, prefix, "", pooling, ENGLISH, licence)


_ON_HUB = (
    _english("sentence-transformers/all-MiniLM-L6-v2", 384, "mean", tokens=256, licence="Apache-2.0"),
    _english("BAAI/bge-small-en-v1.5", 384, "cls", prefix=_SEARCHING),
    _english("BAAI/bge-base-en-v1.5", 768, "cls", prefix=_SEARCHING),
    KnownModel("BAAI/bge-m3", 1_024, 8_192, "", "", "cls", MANY, "MIT"),
    _e5("intfloat/multilingual-e5-small", 384),
    _e5("intfloat/multilingual-e5-base", 768),
    _e5("intfloat/multilingual-e5-large", 1_024),
    _english("thenlper/gte-small", 384, "mean"),
    _english("thenlper/gte-base", 768, "mean"),
    _english("Snowflake/snowflake-arctic-embed-s", 384, "cls", prefix=_SEARCHING, licence="Apache-2.0"),
    _english("Snowflake/snowflake-arctic-embed-m", 768, "cls", prefix=_SEARCHING, licence="Apache-2.0"),
    KnownModel(
        "nomic-ai/nomic-embed-text-v1.5",
        *(768, 2_048, "search_query: ", "search_document: ", "mean", ENGLISH, "Apache-2.0"),
    ),
    _english("Xenova/jina-embeddings-v2-small-en", 512, "mean", tokens=8_192, licence="Apache-2.0"),
    _english("Xenova/jina-embeddings-v2-base-en", 768, "mean", tokens=8_192, licence="Apache-2.0"),
    KnownModel("cross-encoder/ms-marco-MiniLM-L6-v2", max_tokens=512, languages=ENGLISH, licence="Apache-2.0"),
    KnownModel("BAAI/bge-reranker-base", max_tokens=512, languages=frozenset({"en", "zh"}), licence="MIT"),
    KnownModel("jinaai/jina-reranker-v1-turbo-en", max_tokens=8_192, languages=ENGLISH, licence="Apache-2.0"),
)
_OF_PROVIDERS = {
    "gemini-embedding-001": KnownModel("", 768, 2_048, languages=MANY),
    "nomic-embed-text": KnownModel("", 768, 2_048, "search_query: ", "search_document: ", languages=ENGLISH),
    "text-embedding-3-small": KnownModel("", 1_536, 8_191, languages=MANY),
    "text-embedding-ada-002": KnownModel("", 1_536, 8_191, languages=MANY),
}
MODELS = {model.repository.rpartition("/")[2].lower(): model for model in _ON_HUB} | _OF_PROVIDERS
"""By name in lower case, without the owner."""
DIGESTS = {
    "BAAI/bge-small-en-v1.5": {
        "config.json": "094f8e891b932f2000c92cfc663bac4c62069f5d8af5b5278c4306aef3084750",
        "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    },
    "intfloat/multilingual-e5-small": {
        "tokenizer.json": "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
    },
}
"""SHA-256 of files of a repository that were obtained elsewhere too."""


def repository(name: str) -> str:
    """The name with its owner of a model that may be named without one."""
    return name if "/" in name else find(name).repository or name


def find(name: str) -> KnownModel:
    """What is known of a model, by its name with or without an owner; of an unknown one, nothing."""
    return MODELS.get(name.rpartition("/")[2].lower(), KnownModel())
