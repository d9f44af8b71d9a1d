"""Types of the explanation of where one passage stands in a search, and what kept it out of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from app.shapes.kinds import Degraded, PlacementVerdict, SearchLeg, SearchStep
from app.shapes.reading import Candidate


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
    of them if they were cut. `words` are the lexemes of the query that the chunk contains, `synonyms` those of them
    that only synonyms of the query's words have; None in the vector leg.
    """

    leg: SearchLeg
    candidate: bool
    rank: int | None
    candidates: int
    score: float | None
    entry_score: float | None
    exact: bool = True
    words: tuple[str, ...] | None = None
    synonyms: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class FilterPart:
    """A field of filters, or one key of their metadata."""

    field: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """Whether a chunk passed one step of the search, its value, and the value that was needed.

    `filter` is what a step on a filter is about. `reached` is false if the re-ranking took too few hits to reach it.
    """

    step: SearchStep
    passed: bool
    value: Any = None
    needed: Any = None
    filter: FilterPart | None = None
    reached: bool = True


@dataclass(frozen=True, slots=True)
class QueryChange:
    """Another value of a field of a query, of one of its filters, or of `depth`; None leaves it out."""

    field: str
    value: Any = None
    filter: FilterPart | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes of a query, and the rank of the passage in the search with all of them, which was run.

    `is_enough` if the passage is then returned. `is_tried` is false if no search may be run to try changes.
    """

    changes: tuple[QueryChange, ...] = ()
    rank: int | None = None
    is_enough: bool = False
    is_tried: bool = True


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a passage stands in a search.

    `rank` is its place, from 1, in the order of all results, if it has one. `added_by` is what added a passage that is
    no candidate of the legs: an entity of the query that its document is linked to, or the want of further documents.
    `remedy` removes the obstacles of one search.
    """

    verdict: PlacementVerdict
    passage: PassageKey
    limit: int
    chunk: Candidate | None = None
    rank: int | None = None
    score: float | None = None
    relevance: float | None = None
    legs: tuple[LegPlace, ...] = ()
    added_by: Literal["entity", "documents"] | None = None
    steps: tuple[StepResult, ...] = ()
    remedy: Remedy = Remedy()
    degraded: tuple[Degraded, ...] = ()
    relaxed: tuple[str, ...] = ()
    timings: Mapping[str, float] | None = None

    @property
    def is_missed_by_hops(self) -> bool:
        """Whether a search over several hops did not return it."""
        return any(one.step == "depth" and not one.passed for one in self.steps)

    @property
    def changes(self) -> tuple[QueryChange, ...]:
        """The changes that bring the passage in, or at least nearer."""
        single = (QueryChange("depth", "fast"),) if self.is_missed_by_hops else ()
        return (*single, *self.remedy.changes)

    @property
    def rank_after(self) -> int | None:
        """The rank of the passage in a search with all changes."""
        return self.remedy.rank or (self.rank if self.is_missed_by_hops else None)
