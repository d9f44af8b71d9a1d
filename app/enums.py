"""Lists the enumerations that requests, responses and core types share, with their meanings, and common aliases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from typing_extensions import TypeAliasType

Vector = list[float]
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Meaning:
    """Adds a description to an enumeration in JSON schemas, where each enumeration is defined once."""

    text: str
    values: tuple[str, ...] = ()

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """The schema with the meaning, and with the values of an enumeration whose type has none."""
        listed = {"enum": list(self.values)} if self.values else {}
        return {**handler(schema), "description": self.text, **listed}


def values(kind: TypeAliasType) -> tuple[Any, ...]:
    """The values of an enumeration, in their order."""
    literal, _meaning = get_args(kind.__value__)
    return get_args(literal)


BreakerState = TypeAliasType(
    "BreakerState",
    Annotated[
        Literal["closed", "half_open", "open"],
        Meaning("State of a circuit breaker: while it is `open`, the model is not called."),
    ],
)
Collapse = TypeAliasType(
    "Collapse",
    Annotated[
        Literal["duplicates", "off"],
        Meaning("What is collapsed: passages with the same text, but for a few words (`duplicates`)."),
    ],
)
Confidence = TypeAliasType(
    "Confidence",
    Annotated[
        Literal["very_high", "high", "medium_high", "medium", "low"],
        Meaning("The word for the relevance of a hit, or of its scores."),
    ],
)
DatabaseState = TypeAliasType(
    "DatabaseState",
    Annotated[
        Literal["writable", "read_only", "unavailable"],
        Meaning(
            "State of the database: `read_only` if it is a standby or refuses writes for another reason, "
            "`unavailable` if only the standby serves reads."
        ),
    ],
)
Depth = TypeAliasType(
    "Depth",
    Annotated[
        Literal["fast", "thorough", "auto"],
        Meaning("One search (`fast`), several hops (`thorough`), or the better one for the query (`auto`)."),
    ],
)
Detail = TypeAliasType(
    "Detail",
    Annotated[
        Literal["ids", "compact", "full"],
        Meaning("Text of a hit: the passage (`full`), its best sentences (`compact`), or `ids` alone."),
    ],
)
DocumentOrder = TypeAliasType(
    "DocumentOrder",
    Annotated[
        Literal["newest", "oldest", "changed", "title"],
        Meaning(
            "Order of documents: the last created first (`newest`), the first created first, the last changed "
            "first, or by title without its case. A document that changes while the pages of `changed` are read moves "
            "to the first one."
        ),
    ],
)
EntityOrigin = TypeAliasType(
    "EntityOrigin",
    Annotated[
        Literal["user", "metadata", "title"],
        Meaning("Origin of an entity: stored through the API, or extracted from documents."),
    ],
)
EntityStatus = TypeAliasType(
    "EntityStatus",
    Annotated[
        Literal["added", "updated", "unchanged", "refused"], Meaning("What a line of a bulk upsert did to its entity.")
    ],
)
Extractor = TypeAliasType(
    "Extractor",
    Annotated[
        Literal["auto", "llm", "entities", "statistical", "none"],
        Meaning(
            "Method that extracts the terms of a further hop: `auto` is the best one available, and with "
            "`none` the hop only follows links."
        ),
    ],
)
ExtractorUsed = TypeAliasType(
    "ExtractorUsed",
    Annotated[Literal["llm", "entities", "statistical"], Meaning("Method that extracted the terms of a hop.")],
)
Fusion = TypeAliasType(
    "Fusion",
    Annotated[
        Literal["auto", "rrf", "convex"], Meaning("Method that fuses the results of the vector leg and the text leg.")
    ],
)
GroupBy = TypeAliasType(
    "GroupBy", Annotated[Literal["document"], Meaning("What results are grouped by: the document of their chunks.")]
)
GuidanceMode = TypeAliasType(
    "GuidanceMode", Annotated[Literal["auto", "off", "force"], Meaning("Use of entities in a search.")]
)
HopMerge = TypeAliasType(
    "HopMerge",
    Annotated[
        Literal["linked", "classic"],
        Meaning("Score of the hits of all hops: by their links, or by RRF with a bonus for hop 1."),
    ],
)
JobStatus = TypeAliasType(
    "JobStatus",
    Annotated[Literal["queued", "running", "done", "failed", "cancelled"], Meaning("State of a background job.")],
)
LeftOutReason = TypeAliasType(
    "LeftOutReason",
    Annotated[
        Literal["hidden", "ignored", "vendored", "generated", "database", "link", "binary", "empty", "too_large"],
        Meaning("Why a file of a folder or an archive, or a folder with all that it contains, is left out."),
    ],
)
ListMerge = TypeAliasType(
    "ListMerge",
    Annotated[
        Literal["rrf", "classic"],
        Meaning("Method that merges lists: RRF, or RRF with bonuses for hop 1 and for single hits."),
    ],
)
MatchedBy = TypeAliasType(
    "MatchedBy",
    Annotated[
        Literal["name", "fuzzy", "role", "team", "fact", "description"],
        Meaning("Field of an entity that matched a query."),
    ],
)
MentionKind = TypeAliasType(
    "MentionKind",
    Annotated[Literal["text", "attendee", "metadata", "title"], Meaning("Where a document mentions an entity.")],
)
MergeDetail = TypeAliasType(
    "MergeDetail",
    Annotated[
        Literal["ids", "compact", "full"],
        Meaning(
            "Fields of a merged hit: `ids` has the id and the score, `compact` also the hit as sent, `full` "
            "also the parts of the score."
        ),
    ],
)
Mode = TypeAliasType(
    "Mode",
    Annotated[
        Literal["auto", "hybrid", "semantic", "lexical"],
        Meaning("Legs of a search: `semantic` is the vector leg, `lexical` the text leg, `hybrid` both."),
    ],
)
Rerank = TypeAliasType(
    "Rerank", Annotated[Literal["none", "cosine", "provider"], Meaning("Method that rescores the top hits.")]
)
SearchMode = TypeAliasType(
    "SearchMode",
    Annotated[Literal["two_pass", "flat"], Meaning("Whether entities guided a two-pass search (`two_pass`).")],
)
StandbyStatus = TypeAliasType(
    "StandbyStatus",
    Annotated[
        Literal["ready", "unavailable", "refused"],
        Meaning(
            "State of the standby in DATABASE_READ_URL: reads go to it (`ready`), it cannot be reached "
            "(`unavailable`), or it is not a copy of the primary with this version's schema (`refused`)."
        ),
    ],
)
StoreStatus = TypeAliasType(
    "StoreStatus",
    Annotated[
        Literal["added", "replaced", "changed", "unchanged", "queued"],
        Meaning("What a write did to the document; `queued`: a job stores it."),
    ],
)
ToolFormat = TypeAliasType(
    "ToolFormat",
    Annotated[
        Literal["openai", "openai-responses", "anthropic", "gemini", "mcp"],
        Meaning("API that definitions of tools are for."),
    ],
)

Degraded = Literal[
    "no_query_vector",
    "no_text_terms",
    "embedding_failed",
    "llm_failed",
    "reranker_failed",
    "hop2_failed",
    "invalid_expression",
]
DepthReason = Literal["requested", "divided", "together", "no_names", "entity", "literal", "options"]
DepthUsed = Literal["fast", "thorough"]
ExpressionError = Literal[
    "unclosed_group", "unopened_group", "empty_group", "missing_operand", "too_deep", "too_many_operands"
]
FusionUsed = Literal["rrf", "convex"]
QueryType = Literal["phrase", "entity", "conceptual", "technical", "keyword"]
SearchKind = Literal["flat", "two_pass", "multihop"]
VectorPlan = Literal["none", "exact", "hnsw"]


Origin = Literal["user", "metadata", "title", "text"]

COMPAT: dict[str, tuple[str, ...]] = {"chatgpt": ("search", "fetch"), "dify": ()}
"""Contracts of other platforms, and the tools that each adds."""
COMPAT_TOOLS = tuple(name for names in COMPAT.values() for name in names)
