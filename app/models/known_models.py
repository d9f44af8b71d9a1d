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
_BGE = "Represent this sentence for searching relevant passages: "
_APACHE = "Apache-2.0"
_E5 = ("query: ", "passage: ")
_NOMIC = ("search_query: ", "search_document: ")


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What is known of a model; an empty field means unknown.

    `repository` is its place on the Hugging Face hub. `max_tokens` is the largest number of tokens in a text. The
    prefixes are put before each query or passage. `languages` are the ISO 639-1 codes of the languages that it was
    trained to read.
    """

    repository: str = ""
    dimension: int = 0
    max_tokens: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: Pooling | None = None
    languages: frozenset[str] = frozenset()
    licence: str = ""


_ON_HUB = (
    KnownModel("sentence-transformers/all-MiniLM-L6-v2", 384, 256, pooling="mean", languages=ENGLISH, licence=_APACHE),
    KnownModel("BAAI/bge-small-en-v1.5", 384, 512, _BGE, pooling="cls", languages=ENGLISH, licence="MIT"),
    KnownModel("BAAI/bge-base-en-v1.5", 768, 512, _BGE, pooling="cls", languages=ENGLISH, licence="MIT"),
    KnownModel("BAAI/bge-m3", 1_024, 8_192, pooling="cls", languages=MANY, licence="MIT"),
    KnownModel("intfloat/multilingual-e5-small", 384, 512, *_E5, pooling="mean", languages=MANY, licence="MIT"),
    KnownModel("intfloat/multilingual-e5-base", 768, 512, *_E5, pooling="mean", languages=MANY, licence="MIT"),
    KnownModel("intfloat/multilingual-e5-large", 1_024, 512, *_E5, pooling="mean", languages=MANY, licence="MIT"),
    KnownModel("thenlper/gte-small", 384, 512, pooling="mean", languages=ENGLISH, licence="MIT"),
    KnownModel("thenlper/gte-base", 768, 512, pooling="mean", languages=ENGLISH, licence="MIT"),
    KnownModel("Snowflake/snowflake-arctic-embed-s", 384, 512, _BGE, pooling="cls", languages=ENGLISH, licence=_APACHE),
    KnownModel("Snowflake/snowflake-arctic-embed-m", 768, 512, _BGE, pooling="cls", languages=ENGLISH, licence=_APACHE),
    KnownModel(
        "nomic-ai/nomic-embed-text-v1.5", 768, 2_048, *_NOMIC, pooling="mean", languages=ENGLISH, licence=_APACHE
    ),
    KnownModel("Xenova/jina-embeddings-v2-small-en", 512, 8_192, pooling="mean", languages=ENGLISH, licence=_APACHE),
    KnownModel("Xenova/jina-embeddings-v2-base-en", 768, 8_192, pooling="mean", languages=ENGLISH, licence=_APACHE),
    KnownModel("cross-encoder/ms-marco-MiniLM-L6-v2", max_tokens=512, languages=ENGLISH, licence=_APACHE),
    KnownModel("BAAI/bge-reranker-base", max_tokens=512, languages=frozenset({"en", "zh"}), licence="MIT"),
    KnownModel("jinaai/jina-reranker-v1-turbo-en", max_tokens=8_192, languages=ENGLISH, licence=_APACHE),
)
_OF_PROVIDERS = {
    "gemini-embedding-001": KnownModel("", 768, 2_048, languages=MANY),
    "nomic-embed-text": KnownModel("", 768, 2_048, *_NOMIC, languages=ENGLISH),
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
    """The name of a model with its owner. Adds the owner to the name of a known model."""
    return name if "/" in name else find(name).repository or name


def find(name: str) -> KnownModel:
    """What is known of a model, by its name with or without an owner. For an unknown model all fields are empty."""
    return MODELS.get(name.rpartition("/")[2].lower(), KnownModel())
