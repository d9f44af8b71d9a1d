"""Literal types and aliases that several core types share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Mode = Literal["auto", "hybrid", "semantic", "lexical"]
Fusion = Literal["auto", "rrf", "convex"]
FusionUsed = Literal["rrf", "convex"]
VectorPlan = Literal["none", "exact", "hnsw"]
QueryType = Literal["phrase", "entity", "conceptual", "technical", "keyword"]
Depth = Literal["fast", "thorough", "auto"]
DepthUsed = Literal["fast", "thorough"]
DepthReason = Literal["requested", "names", "only_names", "no_names", "entity", "literal", "options"]
Confidence = Literal["very_high", "high", "medium_high", "medium", "low"]
ConfidenceBasis = Literal["relevance", "legs"]
Detail = Literal["ids", "compact", "full"]
TermMethod = Literal["auto", "llm", "entities", "statistical", "none"]
HopMerge = Literal["linked", "classic"]
TermMethodUsed = Literal["llm", "entities", "statistical"]
MatchKind = Literal["term", "stem", "phrase", "hop"]
Vector = list[float]
Json = Mapping[str, Any]
SearchMode = Literal["flat", "two_pass", "multihop"]
Degraded = Literal[
    "no_query_vector",
    "no_text_terms",
    "embedding_failed",
    "llm_failed",
    "reranker_failed",
    "hop2_failed",
    "invalid_expression",
]
ExpressionError = Literal[
    "unclosed_group", "unopened_group", "empty_group", "missing_operand", "too_deep", "too_many_operands"
]
GuidanceMode = Literal["auto", "off", "force"]
Rerank = Literal["none", "cosine", "provider"]
MatchedBy = Literal["name", "fuzzy", "role", "team", "fact", "description"]
