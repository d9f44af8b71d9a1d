"""Runs a search with the results of all pages, and finds the places of a passage in it."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app import limits
from app.database.transactions import retry_read
from app.query.search_request import SearchRequest
from app.query.types import Candidate, Hit, HybridRequest
from app.search import pages, search, state
from app.search.steps.why.models import LegPlace, OrderingStep, SearchLeg, StepPlace
from app.search.store import hybrid_search

LATER_STEPS: tuple[OrderingStep, ...] = ("rerank", "recency", "mmr")
"""The steps after guidance that order hits, in order. Each has an entry in the `explain` of a hit."""


@dataclass(frozen=True, slots=True)
class SearchRun:
    """A search before and after its final order, and the results of all its pages.

    `widest` has what its legs find with the most candidates.
    """

    found: state.SearchState
    ordered: state.SearchState
    results: Sequence[Hit]
    widest: Sequence[Candidate]

    @property
    def query(self) -> SearchRequest:
        """The request of the search."""
        return self.found.query

    @property
    def request(self) -> HybridRequest:
        """The request of the hybrid statement, after relaxation."""
        return self.found.request

    def first_of(self, chunk_ids: Container[UUID]) -> UUID | None:
        """The best placed of these chunks: in the results, else in the final order, else in the legs."""
        shown = (hit for result in self.results for hit in (result, *result.more))
        ordered = (hit.candidate for hit in itertools.chain(shown, self.ordered.hits))
        every = itertools.chain(ordered, self.widest)
        return next((one.chunk_id for one in every if one.chunk_id in chunk_ids), None)


@dataclass(frozen=True, slots=True)
class PlacedPassage:
    """A chunk, and its places in a search."""

    run: SearchRun
    chunk: Candidate

    @property
    def rank(self) -> int | None:
        """Its place in the results, from 1. A chunk in the `more` of a result has the place of the result."""
        ids = ([hit.candidate.chunk_id for hit in (result, *result.more)] for result in self.run.results)
        return next((number for number, some in enumerate(ids, 1) if self.chunk.chunk_id in some), None)

    @property
    def hit(self) -> Hit | None:
        """The chunk as a hit in the final order, before minimums, duplicates and groups."""
        return next((hit for hit in self.run.ordered.hits if hit.candidate.chunk_id == self.chunk.chunk_id), None)

    @property
    def place(self) -> int | None:
        """Its place in the final order, before minimums, duplicates and groups, or else in the widest legs."""
        return self._place_of_hit(self.run.ordered.hits) or self._place(self.run.widest)

    def longer(self, place: int | None) -> dict[str, Any]:
        """The larger `limit` that includes a place. Empty if none is needed or allowed."""
        return {"limit": place} if place and self.run.query.limit < place <= limits.MAX_HITS else {}

    def legs(self) -> dict[SearchLeg, LegPlace]:
        """Its place in each leg that ran."""
        one = next((one for one in self.run.widest if one.chunk_id == self.chunk.chunk_id), None)
        weights = self.run.found.result.weights
        found: dict[SearchLeg, LegPlace] = {}
        if weights.vector > 0:
            found["vector"] = self._leg(one.vector_rank if one else None, self.chunk.cosine)
        if weights.text > 0:
            found["text"] = self._leg(one.text_rank if one else None, one.text_score if one else None)
        return found

    def _leg(self, rank: int | None, score: float | None) -> LegPlace:
        is_candidate = rank is not None and rank <= self.run.request.candidates
        return LegPlace(rank=rank, score=None if score is None else round(score, 4), is_candidate=is_candidate)

    def steps(self) -> Iterator[StepPlace]:
        """Its places before and after each step that ordered the hits; none if it is not among these hits."""
        hit, search = self.hit, self.run.found
        if hit is None:
            return
        if any(one.guidance or one.boost for one in search.hits):
            fused, guided = self._place(search.result.candidates), self._place_of_hit(search.hits)
            yield StepPlace(step="guidance", rank_before=fused or 0, rank_after=guided or 0)
        details = hit.explain or {}
        taken = [step for step in LATER_STEPS if step in details]
        before = [details[step]["place_before"] for step in taken]
        after = [*before[1:], self._place_of_hit(self.run.ordered.hits)]
        for step, rank_before, rank_after in zip(taken, before, after, strict=False):
            yield StepPlace(step=step, rank_before=rank_before, rank_after=rank_after)

    def _place_of_hit(self, hits: Iterable[Hit]) -> int | None:
        return self._place(hit.candidate for hit in hits)

    def _place(self, candidates: Iterable[Candidate]) -> int | None:
        ids = (one.chunk_id for one in candidates)
        return next((number for number, chunk_id in enumerate(ids, 1) if chunk_id == self.chunk.chunk_id), None)


async def run(query: SearchRequest, context: state.SearchContext) -> SearchRun:
    """Run the search. Raises what `search.run` raises."""
    page = pages.request_of(query, context)
    context.moment = page.moment
    found = await search.candidates(query, context, ahead=1, keep_all=True)
    ordered = await state.run("order", found)
    every = replace(page, is_whole=True)
    results = (await pages.of_search(ordered, every)).hits
    return SearchRun(found, ordered, results, await _widest(found.request, context))


@retry_read
async def _widest(request: HybridRequest, context: state.SearchContext) -> Sequence[Candidate]:
    """What the legs find with the most candidates and without minimum scores, in the order of the fusion."""
    most = limits.MAX_CANDIDATES
    widest = replace(request, candidates=most, limit=2 * most, min_vector_score=None, min_rrf_score=None)
    async with context.services.db.searching(context.user_id, candidates=most) as reading:
        return (await hybrid_search.hybrid(reading, replace(widest, with_content=False))).candidates
