"""Runs a search with its complete order, so that a passage beyond the answer can be placed in it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import UUID

from app.pipelines.requests.search_request import SearchRequest
from app.pipelines.running.context import SearchContext
from app.pipelines.search import pages, search
from app.pipelines.search.candidates import Page, Ranked, Recalled
from app.pipelines.search.completion import Completion
from app.ranking import duplicates, grouping
from app.shapes import Candidate, Hit, HybridRequest, HybridResult
from app.store.connection.transactions import retry_read
from app.store.search import recall


@dataclass(frozen=True, slots=True)
class AnsweredSearch:
    """A search that was run and its first page."""

    ranking: Ranked
    page: Page
    context: SearchContext


@dataclass(frozen=True)
class Trial:
    """A search that was run: its order, its first page, and all candidates of its legs without thresholds."""

    ranking: Ranked
    page: Page
    context: SearchContext
    legs: HybridResult

    @property
    def query(self) -> SearchRequest:
        """The query that was run."""
        return self.ranking.candidates.query

    @property
    def recalled(self) -> Recalled:
        """What was recalled for the query, after relaxation."""
        return self.ranking.candidates.recalled

    @property
    def request(self) -> HybridRequest:
        """The request of the hybrid statement, after relaxation."""
        return self.recalled.request

    @cached_property
    def completion(self) -> Completion:
        """Completes the hits of the search."""
        return Completion.of(self.ranking.candidates)

    @cached_property
    def order(self) -> list[Hit]:
        """All hits: those of the search, then the other candidates that pass its thresholds, as its pages have them."""
        known = {hit.candidate.chunk_id for hit in self.ranking.hits}
        others = (one for one in self.legs.candidates if one.chunk_id not in known and self.passes(one))
        return [*self.ranking.hits, *(Hit(one, "low", ()) for one in others)]

    @cached_property
    def results(self) -> list[Hit]:
        """All results: the hits that reach the minimum confidence and relevance, collapsed and grouped as requested."""
        wanted = [hit for hit in self.order if self.is_wanted(hit)]
        if self.query.is_collapsed:
            wanted = duplicates.collapsed(wanted)
        size = self.query.group_size
        return wanted if size is None else grouping.by_document(wanted, size=size)

    def is_wanted(self, hit: Hit) -> bool:
        """Whether the hit reaches the minimum confidence and relevance."""
        return not self.query.has_minimum or self.completion.is_wanted(hit)

    def first_of(self, chunk_ids: Container[UUID]) -> UUID | None:
        """The best placed of some chunks: in the page, in the order, or among the candidates; None in none of them."""
        return next((one for one in self._places() if one in chunk_ids), None)

    def _places(self) -> Iterator[UUID]:
        for hit in (*self.page.hits, *self.results):
            yield from (one.candidate.chunk_id for one in (hit, *hit.more))
        yield from (hit.candidate.chunk_id for hit in self.order)
        yield from (one.chunk_id for one in self.legs.candidates)

    def passes(self, candidate: Candidate) -> bool:
        """Whether a candidate reaches the thresholds of the hybrid statement."""
        least, least_rrf = self.request.min_vector_score, self.request.min_rrf_score
        return (least is None or (candidate.vector_score is not None and candidate.vector_score >= least)) and (
            least_rrf is None or (candidate.rrf_score is not None and candidate.rrf_score >= least_rrf)
        )


async def run(query: SearchRequest, context: SearchContext) -> AnsweredSearch:
    """Run a search. Raises what `search.run` raises."""
    ranking = await search.ranked(query, context, keep_all=True)
    return AnsweredSearch(ranking, await pages.of_ranking(ranking, pages.of_query(query, context), context), context)


async def completed(answered: AnsweredSearch) -> Trial:
    """The search with all candidates of its legs."""
    request = answered.ranking.candidates.recalled.request
    every = replace(
        request,
        limit=2 * request.candidates,
        min_vector_score=None,
        min_rrf_score=None,
        with_content=answered.ranking.candidates.query.is_collapsed,
    )
    candidates = await _candidates(every, answered.context)
    return Trial(answered.ranking, answered.page, answered.context, candidates)


@retry_read
async def _candidates(request: HybridRequest, context: SearchContext) -> HybridResult:
    async with context.services.db.searching(request.user_id, candidates=request.candidates) as reading:
        return await recall.hybrid(reading, request)


def position(hits: Sequence[Hit], chunk_id: UUID) -> int | None:
    """The place of a chunk, from 1, in a list of hits; that of its result if it is in the `more` of one."""
    return next(
        (
            place
            for place, hit in enumerate(hits, 1)
            if any(one.candidate.chunk_id == chunk_id for one in (hit, *hit.more))
        ),
        None,
    )
