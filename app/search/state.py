"""Defines the state of a search and the type of its optional steps, and runs the steps of a phase."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeVar
from uuid import UUID

from app import capability
from app.concurrency.limiter import UNLIMITED, Released
from app.database.pools import Entered, Version
from app.database.transactions import SearchTransaction
from app.enums import Degraded, Vector
from app.models import protocols
from app.query.search_request import SearchRequest
from app.query.search_types import Answer, Candidate, Hit, HybridRequest, HybridResult, absent_terms
from app.relevance import relevance
from app.search.store import hybrid_search
from app.services import Services
from app.text.queries.parsed_query import ParsedQuery

T = TypeVar("T")
Phase = Literal["expand", "recall", "order", "finish", "explain"]
NOTHING = HybridResult((), (), 0, 0, "none", 0, 0, approximate=False)


@dataclass(slots=True)
class SearchContext:
    """One search in progress.

    `version` is the version of the user's data that the search reads, `entered` what the first statement of its
    transaction has read. `source_names` has the names of the sources read so far, by id. `timings` has the
    duration of each stage in milliseconds, `degraded` the inputs that could not be used, `relaxed` the applied
    relaxations. The search gives `turn` back while it waits for a remote provider. `moment` is the time that
    counts as now, in microseconds since 1970; on later pages it is the time of the first page.
    """

    services: Services
    user_id: str
    turn: Released = UNLIMITED
    version: Version | None = None
    entered: Entered | None = None
    source_names: dict[UUID, str] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[Degraded] = field(default_factory=list)
    relaxed: list[str] = field(default_factory=list)
    moment: int = field(default_factory=lambda: time.time_ns() // 1_000)

    def waiting_for(self, model: object) -> AbstractAsyncContextManager[None]:
        """Give the turn back while a remote model works. A local model uses the cores that the turns share."""
        return self.turn.released() if protocols.calls_of(model) else nullcontext()

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the block's duration to the stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] = round(self.timings.get(stage, 0.0) + (time.perf_counter() - start) * 1000, 3)


@dataclass(frozen=True, slots=True)
class SearchState:
    """A search so far: its request, the last statement, and the hits.

    Attributes:
        request: The request of the last or next statement.
        pool: The least number of candidates that the statement returns, with their text, for steps that reorder them.
        result: What the statement has found, with the candidates that steps have added.
        hits: The hits in their current order.
        assessment: Assesses the relevance of hits; None for a vector without a text.
        effect: How entities change the score of the mean candidate.
        name_words: The words of the query by which an entity is known.
        surely_linked: The documents that are linked to an entity that the query is almost certainly about.
        is_guided: Whether links to entities order the hits.
        is_relaxed: Whether a looser request than the query's found the hits.
        keep_all: Whether a step that selects hits keeps the others after them.
        wants_vector: Whether a step needs the vector of the query and the request has none.
        spare_vector: The vector for such a step.
        relaxed: What was changed in the query so that it finds something.
        degraded: The parts of the query that could not be used.
        notes: What each step leaves for its functions of later phases, by type.
    """

    query: SearchRequest
    context: SearchContext
    parsed: ParsedQuery
    request: HybridRequest
    pool: int = 0
    result: HybridResult = NOTHING
    hits: Sequence[Hit] = ()
    assessment: relevance.Assessment | None = None
    effect: relevance.MeanEffect = relevance.NO_EFFECT
    name_words: frozenset[str] = frozenset()
    surely_linked: frozenset[UUID] = frozenset()
    is_guided: bool = False
    is_relaxed: bool = False
    keep_all: bool = False
    wants_vector: bool = False
    spare_vector: Vector | None = None
    relaxed: tuple[str, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    notes: Mapping[type, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def found_nothing(self) -> bool:
        """Whether no chunk was found although some are in scope."""
        return not self.result.candidates and self.result.scope_chunks > 0

    @property
    def lacks_words(self) -> bool:
        """Whether chunks were found although the query has a word that no chunk contains."""
        terms = self.result.terms
        return bool(self.result.candidates) and not all([term.df for term in terms]) and bool(absent_terms(terms))

    def noted(self, *notes: object) -> SearchState:
        """Adds notes: what a step leaves for its functions of later phases."""
        return replace(self, notes={**self.notes, **{type(one): one for one in notes}})

    def note(self, kind: type[T]) -> T | None:
        """The note of this type; None if the step that leaves it has not run."""
        found: T | None = self.notes.get(kind)
        return found

    def widen(self, request: HybridRequest) -> HybridRequest:
        """The request for as many candidates as the steps need, with their texts; unchanged if no step needs more."""
        if not self.pool:
            return request
        return replace(request, limit=max(request.limit, self.pool), with_content=True)

    async def recall(self, db: SearchTransaction, request: HybridRequest) -> SearchState:
        """Runs the statement with a request. The state then has its candidates in their order."""
        result = await hybrid_search.hybrid(db, self.widen(request))
        chosen = replace(request, weights=result.weights, by_language=None) if request.by_language else request
        return replace(self, request=chosen, result=result, hits=unranked(result.candidates))


def unranked(candidates: Iterable[Candidate]) -> list[Hit]:
    """Candidates as hits in their order, before confidence and reasons are known."""
    return [Hit(candidate, "low", ()) for candidate in candidates]


@dataclass(frozen=True, slots=True)
class Page:
    """The results of a page after `offset` others, and the cursor of the next page."""

    hits: tuple[Hit, ...] = ()
    next_cursor: str | None = None
    offset: int = 0


InTransaction = Callable[[SearchState, SearchTransaction], Awaitable[SearchState]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """An optional part of a search, with a function for each phase that it takes part in.

    Attributes:
        uses: Whether a search calls the functions of the step, except `explain`; by default every search does.
        expand: Runs before the statement, in its transaction: adds terms, or asks for more candidates.
        recall: Runs after the statement, in its transaction: finds more, or orders what was found.
        order: Orders the hits of one search or of several hops; no transaction is open.
        finish: Completes the answer with the hits of a page; no transaction is open.
        explain: Returns the entries of the step in the explanation of the answer.
    """

    uses: Callable[[SearchState], object] | None = None
    expand: InTransaction | None = None
    recall: InTransaction | None = None
    order: Callable[[SearchState], Awaitable[SearchState]] | None = None
    finish: Callable[[SearchState, Answer], Awaitable[Answer]] | None = None
    explain: Callable[[SearchState], Mapping[str, Any]] | None = None


def steps(phase: Phase) -> Sequence[Step]:
    """The steps that take part in a phase, in their order."""
    return _of_phase(phase, capability.declared("steps"))


@cache
def _of_phase(phase: Phase, every: tuple[Step, ...]) -> Sequence[Step]:
    return [step for step in every if getattr(step, phase) is not None]


async def run_steps(
    phase: Literal["expand", "recall", "order"], search: SearchState, *db: SearchTransaction
) -> SearchState:
    """Run the steps of a phase. For `expand` and `recall`, `db` is the transaction of the search's statement."""
    for step in steps(phase):
        if step.uses is None or step.uses(search):
            search = await getattr(step, phase)(search, *db)
    return search


async def finish(search: SearchState, answer: Answer) -> Answer:
    """Let the steps complete the answer. Raises DatabaseUnavailable."""
    for step in steps("finish"):
        if step.finish and (step.uses is None or step.uses(search)):
            answer = await step.finish(search, answer)
    return answer
