"""Defines the types of options: values to choose from, and objects. Written by generate.py."""

from __future__ import annotations

from typing import Literal, TypedDict

FacetsOf = Literal["metadata", "files"]

MergeDetail = Literal["ids", "compact", "full"]

ListMerge = Literal["rrf", "classic"]

Rerank = Literal["none", "cosine", "provider"]

Detail = Literal["ids", "compact", "full"]

Depth = Literal["fast", "thorough", "auto"]

Mode = Literal["auto", "hybrid", "semantic", "lexical"]

Collapse = Literal["duplicates", "off"]

Fusion = Literal["auto", "rrf", "convex"]

GroupBy = Literal["document"]


class Group(TypedDict, total=False):
    """Groups results: each is the best chunk of a document, and `limit` counts documents."""

    by: GroupBy
    size: int


GuidanceMode = Literal["auto", "off", "force"]


class GuidanceOptions(TypedDict, total=False):
    """Use of the entities that a query names to select and score documents."""

    alpha: float
    boost: bool
    max_entities: int
    mode: GuidanceMode
    threshold: float


Extractor = Literal["auto", "llm", "entities", "statistical", "none"]

HopMerge = Literal["linked", "classic"]


class HopOptions(TypedDict, total=False):
    """Options of a search over several hops."""

    extractor: Extractor
    max_hops: int
    merge: HopMerge


Confidence = Literal["very_high", "high", "medium_high", "medium", "low"]


class Recency(TypedDict, total=False):
    """How much newer documents are raised, and older ones lowered."""

    field: str
    half_life_days: float
    only_if_asked: bool
    weight: float


class LegWeights(TypedDict, total=False):
    """Weights of the two legs of a hybrid search, rounded to a millionth. A leg of weight 0 is not run."""

    text: float
    vector: float


DocumentOrder = Literal["newest", "oldest", "changed", "title"]

EntityOrigin = Literal["user", "metadata", "title"]

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
