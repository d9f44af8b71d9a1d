"""Types of the explanation of where one passage stands in a search, and what kept it out of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from app.shapes.kinds import Degraded
from app.shapes.reading import Candidate

Verdict = Literal[
    "returned",
    "not_found",
    "filtered",
    "excluded",
    "missing_words",
    "not_a_candidate",
    "below_threshold",
    "outranked",
    "guided_out",
    "reranked_out",
    "diversified_out",
    "grouped_out",
    "hops_out",
]
Step = Literal[
    "depth",
    "filter",
    "exclude_chunk_ids",
    "excluded_word",
    "required_word",
    "candidates",
    "min_vector_score",
    "min_rrf_score",
    "fusion",
    "entities",
    "rerank",
    "mmr",
    "min_confidence",
    "min_relevance",
    "group",
    "limit",
]
Leg = Literal["vector", "text"]


@dataclass(frozen=True, slots=True)
class PassageKey:
    """Exactly one of a chunk's id, a document's id and a document's URI."""

    chunk_id: UUID | None = None
    document_id: UUID | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class LegPlace:
    """Where a chunk stands in one leg that ran.

    `rank` is also known beyond the candidates; None if the text leg does not find the chunk. `exact` is false if the
    chunk has at least this rank. `candidates` is the number of candidates of the leg and `entry_score` the lowest score
    of them if they were cut. `words` are the lexemes of the query that the chunk contains; None in the vector leg.
    """

    leg: Leg
    candidate: bool
    rank: int | None
    candidates: int
    score: float | None
    entry_score: float | None
    exact: bool = True
    words: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """Whether a chunk passed one step of the search: its value, the value that was needed, and both in a sentence."""

    step: Step
    passed: bool
    detail: str
    field: str | None = None
    value: Any = None
    needed: Any = None


@dataclass(frozen=True, slots=True)
class RequestChange:
    """Another value of one field of a request; None leaves the field out."""

    field: str
    value: Any


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a passage stands in a search.

    `rank` is its place, from 1, in the order of all results, if it has one. `changes` are changes of the request that
    remove the obstacles, and `rank_after` is its rank in the search with all of them, which was run.
    """

    verdict: Verdict
    summary: str
    limit: int
    chunk: Candidate | None = None
    rank: int | None = None
    score: float | None = None
    relevance: float | None = None
    legs: tuple[LegPlace, ...] = ()
    steps: tuple[StepResult, ...] = ()
    changes: tuple[RequestChange, ...] = ()
    rank_after: int | None = None
    degraded: tuple[Degraded, ...] = ()
    relaxed: tuple[str, ...] = ()
    timings: Mapping[str, float] | None = None
