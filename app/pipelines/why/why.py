"""Explains where a passage stands in a search, what keeps it out of the answer, and which changes bring it in.

The search is run as it is asked. Then the first obstacle is removed and the search is run again, until the passage is
returned: so the changes are tested by the search itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app import errors
from app.concurrency.limiter import UNLIMITED, Released
from app.pipelines.documents import document_drafts
from app.pipelines.multihop import depth
from app.pipelines.requests.search_request import SearchRequest
from app.pipelines.running import model_switch
from app.pipelines.running.context import SearchContext
from app.pipelines.running.services import Services
from app.pipelines.search import search
from app.pipelines.why import obstacles, passage_facts, passage_steps, trials
from app.pipelines.why.obstacles import Case
from app.pipelines.why.trials import AnsweredSearch
from app.shapes import FilterPart, PassageKey, Placement, QueryChange, Remedy, StepResult, uris
from app.store.connection.transactions import retry_read
from app.store.search import passages

MAX_TRIALS = 8
"""Searches that are run to find the changes."""


@model_switch.repeated
async def run(
    query: SearchRequest, passage: PassageKey, user_id: str, services: Services, turn: Released = UNLIMITED
) -> Placement:
    """Explain the passage in a search; that of a document is its best placed chunk. Raises what the search raises."""
    search.check(query, services)
    if query.cursor is not None:
        raise errors.BadRequest("The explanation is about all pages: leave cursor out.", field="cursor")
    context = SearchContext(services, user_id, turn)
    with context.timed("total"):
        chunk_ids = await _chunk_ids(passage, context)
        if not chunk_ids:
            return _not_found(query, passage, context)
        place = await _over_hops(query, chunk_ids, context) if query.depth != "fast" else None
        query = query.completed(mode="auto")
        if place is not None and place.rank is not None:
            chunk_ids = [place.chunk_id]
        case = await _case(await _answered(query, context), chunk_ids, context)
        if case is None:
            return _not_found(query, passage, context)
        placement = await _explained(case, passage, context)
    placement = replace(placement, timings=context.timings)
    return placement if place is None else _with_hops(placement, place)


@retry_read
async def _chunk_ids(passage: PassageKey, context: SearchContext) -> list[UUID]:
    """The chunks of the passage; none if it is not stored."""
    named = [None] if passage.uri is None else uris.spellings(passage.uri)
    with context.timed("find"):
        async with context.services.db.searching(context.user_id) as reading:
            for uri in named:
                found = await passages.chunk_ids(
                    reading,
                    chunk_id=passage.chunk_id,
                    document_id=passage.document_id,
                    identity=None if uri is None else document_drafts.uri_identity(uri),
                )
                if found:
                    return found
    return []


def _not_found(query: SearchRequest, passage: PassageKey, context: SearchContext) -> Placement:
    return Placement("not_found", passage, query.limit, timings=context.timings)


async def _case(answered: AnsweredSearch, chunk_ids: Sequence[UUID], context: SearchContext) -> Case | None:
    """The best placed of the chunks in a search; None if it was deleted meanwhile."""
    with context.timed("candidates"):
        trial = await trials.completed(answered)
    facts = await passage_facts.read(trial, chunk_ids, context)
    return None if facts is None else Case(trial, facts)


async def _answered(query: SearchRequest, context: SearchContext) -> AnsweredSearch:
    with context.timed("search"):
        return await trials.run(query, SearchContext(context.services, context.user_id, context.turn))


async def _explained(case: Case, passage: PassageKey, context: SearchContext) -> Placement:
    verdict, hit = obstacles.verdict(case), case.completed
    remedy = Remedy() if verdict == "returned" else await _remedy(case, context)
    return Placement(
        verdict=verdict,
        passage=passage,
        limit=case.trial.query.limit,
        chunk=case.facts.chunk,
        rank=case.rank,
        score=hit.candidate.score if hit else None,
        relevance=hit.relevance if hit else None,
        legs=case.facts.legs,
        added_by=case.added_by,
        steps=tuple(passage_steps.of(case)),
        remedy=remedy,
        degraded=tuple(case.trial.context.degraded),
        relaxed=tuple(case.trial.context.relaxed),
    )


async def _remedy(first: Case, context: SearchContext) -> Remedy:
    """The changes that remove one obstacle after the other, until the passage is returned or nothing can be changed.

    Nothing is tried with a re-ranking provider, which every trial would call.
    """
    if first.trial.query.ranking.rerank == "provider":
        return Remedy(is_tried=False)
    changes: dict[tuple[str, FilterPart | None], QueryChange] = {}
    case = first
    for _ in range(MAX_TRIALS):
        looser = obstacles.looser(case)
        if looser is None:
            break
        changes |= {(change.field, change.filter): change for change in looser.changes}
        if _is_certain(case, looser.query):
            return Remedy(tuple(changes.values()), case.rank, is_enough=True)
        answered = await _answered(looser.query, context)
        rank = trials.position(answered.page.hits, first.facts.chunk_id)
        if rank is not None:
            return Remedy(tuple(changes.values()), rank, is_enough=True)
        further = await _case(answered, [first.facts.chunk_id], context)
        if further is None:
            return Remedy()
        case = further
    if case.rank is None:
        changes.pop(("mode", None), None)
    return Remedy(tuple(changes.values()), case.rank if changes else None)


def _is_certain(case: Case, longer: SearchRequest) -> bool:
    """Whether the query returns the passage without a trial: only its limit differs, on which no order depends."""
    query, rank = case.trial.query, case.rank
    return (
        query.changed(limit=longer.limit) == longer
        and rank is not None
        and rank <= longer.limit
        and obstacles.is_prefix_stable(case.trial)
    )


@dataclass(frozen=True, slots=True)
class _HopPlace:
    """The place of a passage in an answer over several hops: its rank, if it is returned."""

    chunk_id: UUID
    rank: int | None
    score: float | None = None
    relevance: float | None = None


async def _over_hops(query: SearchRequest, chunk_ids: Sequence[UUID], context: SearchContext) -> _HopPlace | None:
    """The place in the answer over several hops; None if the question is answered by one search."""
    with context.timed("hops"):
        answer = await depth.run(query, context.user_id, context.services, context.turn)
    if answer.depth != "thorough":
        return None
    wanted = set(chunk_ids)
    for rank, hit in enumerate(answer.hits, 1):
        for one in (hit, *hit.more):
            if one.candidate.chunk_id in wanted:
                return _HopPlace(one.candidate.chunk_id, rank, one.candidate.score, one.relevance)
    return _HopPlace(chunk_ids[0], None)


def _with_hops(placement: Placement, place: _HopPlace) -> Placement:
    """The explanation of the one search, after whether the search over several hops returned the passage."""
    step = StepResult("depth", place.rank is not None, place.rank, placement.limit)
    placement = replace(placement, steps=(step, *placement.steps))
    if place.rank is None:
        return replace(placement, verdict="hops_out") if placement.verdict == "returned" else placement
    return replace(
        placement,
        verdict="returned",
        rank=place.rank,
        score=place.score,
        relevance=place.relevance,
        remedy=Remedy(),
    )
