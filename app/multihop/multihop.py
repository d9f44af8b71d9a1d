"""Answers a question over several hops: searches, follows links and adds terms of the best chunks, and merges all hops.

A failure of a later hop never fails the search: the answer has the hops that worked, and `hops` and `degraded` say so.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app import errors
from app.concurrency.limiter import UNLIMITED, Released
from app.database import driver_errors
from app.database.transactions import Reading, repeat_rerouted
from app.documents.store import chunk_reads
from app.enums import Extractor
from app.multihop import hop_strategies, hop_terms
from app.multihop.hop_state import HopChunk, HopState
from app.multihop.hop_strategies import ClassicStrategy, HopScores, HopSearch, HopStrategy, LinkStrategy
from app.multihop.hop_terms import HopTerms
from app.query import hop_signal_weights, model_replacement, search_request
from app.query.search_request import SearchRequest
from app.query.search_types import Answer, ChunkLink, Hit, Hop, HybridRequest, LexicalQuery
from app.relevance import relevance
from app.relevance.relevance import Assessment
from app.search import answer_completion, hybrid_request, result_pages, search, source_names, state
from app.search.rank_fusion import Scored
from app.search.result_pages import PageRequest
from app.search.state import Page, SearchContext, SearchState
from app.services import Services
from app.text.names import names
from app.text.queries.parsed_query import ParsedQuery

_WAYS = [link.name for link in sorted(hop_signal_weights.LINKS.values(), key=lambda link: link.start != "source")]
"""Links from sources, then links from the query and from searches: their order in the strategies of a hit."""


log = logging.getLogger(__name__)

STOP_BELOW = 0.5
"""A hop is the last one if its best similarity to the question is below this share of hop 1's best similarity."""


async def run(query: SearchRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> Answer:
    """Answer one question with the model of the stored vectors; see `answer`."""
    return await model_replacement.run(services.embedder, services.db, lambda: answer(query, user_id, services, turn))


@repeat_rerouted
async def answer(
    query: SearchRequest,
    user_id: str,
    services: Services,
    turn: Released = UNLIMITED,
    *,
    follow_only: bool = False,
    first: UUID | None = None,
) -> Answer:
    """Answer one question over several hops. With `follow_only`, find terms only if the request names an extractor.

    `first` is a chunk that no hop puts below another chunk.

    Raises BadRequest with `invalid_cursor` or `stale_cursor`. Only hop 1 raises DatabaseUnavailable and
    DeadlineExceeded.
    """
    query = query.completed(mode="off")
    if query.ranking.guidance.mode == "off":
        query = query.guided(boost=False)
    context = SearchContext(services, user_id, turn)
    wanted = result_pages.request_of(query, context)
    context.moment = wanted.moment
    strategy = ClassicStrategy(query) if query.hops.merge == "classic" else LinkStrategy(query)
    method = "none" if follow_only and not query.names_extractor else query.hops.extractor
    with context.timed("total"):
        state = await _first_hop(query, strategy, method, context)
        search = _MultihopSearch(query, method, strategy, state, context, wanted, first)
        if state.brought:
            for hop in range(2, query.hops.max_hops + 1):
                if not await search.run_hop(hop):
                    break
        return await search.answer()


async def _first_hop(
    query: SearchRequest, strategy: HopStrategy, method: Extractor, context: SearchContext
) -> HopState:
    """Search for the question itself, with all candidates. Candidates beyond the hop's width are compared later."""
    wide = query.changed(limit=query.ranking.candidates, detail="full", collapse="off")
    wide = wide.tuned(fusion=strategy.first_fusion(), group=None)
    found = await search.candidates(wide, context, also=None if method == "none" else hop_terms.note_passages)
    return HopState.after_first_hop(found, width=hop_strategies.hop_width(query))


@dataclass(slots=True)
class _MultihopSearch:
    """The hops after the first, each from the best chunks so far to others, and the answer of all hops.

    `wanted` is the page of the answer, `first` a chunk that stays first. `scores` are the scores after the last hop,
    once they are known.
    """

    query: SearchRequest
    method: Extractor
    strategy: HopStrategy
    state: HopState
    context: SearchContext
    wanted: PageRequest
    first: UUID | None = None
    scores: HopScores | None = None

    async def run_hop(self, hop: int) -> bool:
        """Go one hop further; returns whether to go on. A failure ends the search; `hops` and `degraded` report it."""
        state, found = self.state, HopTerms()
        state.is_current = False
        try:
            sources = self._sources(hop)
            found = await hop_terms.run(state.first, sources, method=self.method)
            if self.query.hops.merge == "classic" and not found:
                return False
            state.terms[hop] = found
            with self.context.timed("hops"):
                new = await self._retrieve(hop, found, sources)
        except driver_errors.Rerouted:
            raise
        except errors.StepwellError as error:
            log.warning("hop %d failed: %s", hop, type(error).__name__, extra={"action": "hop2_failed"})
            self.context.degraded.append("hop2_failed")
            state.hops.append(replace(self._hop(hop, found), error=error.code))
            return False
        if not (new or found):
            return False
        best = max((state.chunks[chunk_id].similarity or 0.0 for chunk_id in new), default=None)
        state.hops.append(replace(self._hop(hop, found), result_count=len(new), best_similarity=best))
        first_best = state.hops[0].best_similarity
        faded = first_best is not None and (best or 0.0) < STOP_BELOW * first_best
        return bool(new) and not faded

    def _sources(self, hop: int) -> list[UUID]:
        """The chunks that the hop starts from, best first: at first in hop 1's order, later in the merged order."""
        if hop == 2:
            order = [hit.candidate.chunk_id for hit in self.state.first.hits]
        else:
            order = self.strategy.scores(self.state).order
        return [chunk_id for chunk_id in order if self.state.chunks[chunk_id].hop is not None]

    async def _retrieve(self, hop: int, found: HopTerms, sources: Sequence[UUID]) -> list[UUID]:
        """Run the hop's statements in one transaction. Returns the new chunks."""
        searches = await self._searches(found)
        async with self.state.reading(self.context) as reading:
            stored = [chunk_id for chunk_id in sources if chunk_id in self.state.chunks]
            new = await self.strategy.retrieve(hop, searches, stored, self.state, reading)
            found_texts = (self.state.chunks[chunk_id].candidate for chunk_id in new)
            await source_names.read(self.context, filter(None, found_texts), reading)
            if hop == self.query.hops.max_hops:
                self.scores = self._score()
                order = self.scores.order[: self._needed()]
                await self._read_texts([self.state.chunks[chunk_id] for chunk_id in order], reading)
        return new

    async def _searches(self, found: HopTerms) -> list[HopSearch]:
        """The searches of a hop, with their vectors: for the question with the terms, and for the model's questions."""
        parsed = self.state.first.parsed
        searches = [HopSearch(await self._request(_with_terms(parsed, found.terms)))] if found.terms else []
        for question in found.questions:
            asked = ParsedQuery(text=question, words=" ".join(names.words(question)))
            searches.append(HopSearch(await self._request(asked), question))
        return searches

    async def _request(self, parsed: ParsedQuery) -> HybridRequest:
        """A search of a further hop. Raises ProviderError if hop 1 had a vector and this hop has none."""
        first, vector = self.state.first.request, None
        if first.vector is not None:
            vector = await hybrid_request.embed(parsed.text, self.context)
            if vector is None:
                raise errors.ProviderError("The expanded query could not be embedded.")
        return replace(
            _fuse(first, parsed.text, self.context),
            vector=vector,
            lexical=_with_conditions(hybrid_request.lexical_query(parsed), first.lexical),
            limit=first.candidates,
            min_vector_score=None,
            min_rrf_score=None,
        )

    def _hop(self, hop: int, found: HopTerms) -> Hop:
        expanded = " ".join((self.query.text, *found.terms))
        return Hop(hop, expanded, 0, found.terms, found.method, questions=found.questions)

    async def answer(self) -> Answer:
        """The answer with a page of the merged chunks. Raises `stale_cursor`, DatabaseUnavailable."""
        if not self.state.is_current:
            with suppress(errors.StepwellError):
                async with self.state.reading(self.context):  # removes the chunks that are no longer stored
                    self.scores = None
        scores = self.scores or self._score()
        page = await self._page(scores)
        search = replace(self.state.first, query=self.query, assessment=self._assessment(scores))
        hits = self._complete(page.hits, scores, search)
        built = answer_completion.answer_of(search, page, hits)
        return replace(
            await state.finish(search, built),
            search_mode="multihop",
            fallback_reason=built.fallback_reason,
            query_type=built.query_type,
            degraded=tuple(dict.fromkeys(self.context.degraded)),
            hops=tuple(self.state.hops),
            total_results=sum(hop.result_count for hop in self.state.hops),
        )

    def _score(self) -> HopScores:
        scores = self.strategy.scores(self.state)
        return scores if self.first is None else hop_strategies.put_first(scores, self.first)

    async def _page(self, scores: HopScores) -> Page:
        """The page of the leading merged chunks. If duplicates leave it incomplete, it is made from all chunks."""
        needed, wanted = self._needed(), self.wanted
        page = await result_pages.read(await self._ranked(scores, needed), wanted, self.context)
        is_cut = needed is not None and needed < len(scores.by_chunk)
        if self.query.is_collapsed and is_cut and page.next_cursor is None:
            page = await result_pages.read(await self._ranked(scores, None), wanted, self.context)
        return page

    def _needed(self) -> int | None:
        """The number of leading chunks that the page and the next result need; None for all."""
        query, needed = self.query, self.wanted.end + 1
        if query.group_size is not None or query.recency is not None or (query.is_collapsed and self.wanted.offset):
            return None
        pool = search_request.pool_size(query.limit) if query.is_reordered or query.is_collapsed else 0
        return max(needed, pool)

    async def _ranked(self, scores: HopScores, needed: int | None) -> list[Hit]:
        """The merged chunks in their final order: the `needed` leading ones, or all."""
        if not self.state.brought:
            return []
        merged = [
            Hit(chunk.candidate.with_score(scores.by_chunk[chunk.chunk_id].score / scores.largest), "low", ())
            for chunk in await self._leading(scores.order[:needed])
            if chunk.candidate is not None
        ]
        first = self.state.first
        request = replace(first.request, fusion=self.strategy.merged_fusion())
        search = replace(first, query=self.query, request=request, hits=merged, keep_all=True)
        return list((await state.run_steps("order", search)).hits)

    async def _leading(self, order: Sequence[UUID]) -> list[HopChunk]:
        """The chunks among these that are still stored."""
        leading = [self.state.chunks[chunk_id] for chunk_id in order]
        if not all(chunk.candidate for chunk in leading):
            async with self.state.reading(self.context) as reading:
                await self._read_texts(leading, reading)
        return [chunk for chunk in leading if chunk.candidate and chunk.chunk_id in self.state.chunks]

    async def _read_texts(self, leading: Sequence[HopChunk], reading: Reading) -> None:
        """Read the chunks whose texts have not been read."""
        missing = [chunk for chunk in leading if chunk.candidate is None]
        if not missing:
            return
        read = await chunk_reads.by_id(reading, [chunk.chunk_id for chunk in missing], vector=None)
        await source_names.read(self.context, (candidate for candidate, _similarity in read.values()), reading)
        for chunk in missing:
            chunk.candidate, _similarity = read.get(chunk.chunk_id, (None, None))

    def _complete(self, ranked: Iterable[Hit], scores: HopScores, search: SearchState) -> tuple[Hit, ...]:
        """The hits with the findings of their hops, and with the effect of entities in hop 1."""
        known, hits = self.state.chunks, list(map(self._with_similarity, ranked))
        linked = [
            known[one.chunk_id].guided is not None and one.document_id in search.surely_linked
            for one in (hit.candidate for hit in hits)
        ]
        assessed = self.state.first.assessment if self.state.follows_names else None
        return tuple(
            self._hit(ranked, hit, scores, assessed)._replace(
                more=self._complete(ranked.more, scores, search) if ranked.more else ()
            )
            for ranked, hit in zip(hits, answer_completion.describe_hits(hits, search, linked), strict=True)
        )

    def _with_similarity(self, hit: Hit) -> Hit:
        """Adds the similarity to the question. It is also the vector score if no search has found the candidate."""
        candidate, similarity = hit.candidate, self.state.chunks[hit.candidate.chunk_id].similarity
        is_found = candidate.vector_rank is not None or candidate.text_rank is not None
        vector_score = candidate.vector_score if is_found else similarity
        return hit._replace(candidate=candidate._replace(cosine=similarity, vector_score=vector_score))

    def _hit(self, ranked: Hit, hit: Hit, scores: HopScores, assessed: Assessment | None) -> Hit:
        """Completes a hit. Its relevance is assessed by its combined score; without `assessed` it is that of hop 1."""
        chunk = self.state.chunks[ranked.candidate.chunk_id]
        scored = scores.by_chunk[chunk.chunk_id]
        share = scored.score / scores.largest
        relevant = hit.relevance if assessed is None else assessed.relevance_over_hops(share)
        via = self.state.link_to(chunk)
        explain = None
        if hit.explain is not None:
            explain = {
                **answer_completion.drop_first_hop_details({**hit.explain, **chunk.guided_steps}, chunk.hop),
                **_explain(chunk, via, scored, scores.largest),
                **(ranked.explain or {}),
                **answer_completion.cap(ranked.candidate.score),
            }
        return hit._replace(
            relevance=relevant,
            confidence=relevance.confidence(relevant),
            strategies=tuple(dict.fromkeys((*hit.strategies, *(way for way in _WAYS if chunk.signals.get(way))))),
            hop=chunk.hop or 1,
            combined_score=scored.score,
            via=via,
            guidance=chunk.guided.guidance if chunk.guided else None,
            boost=chunk.guided.boost if chunk.guided else None,
            explain=explain,
            duplicates=ranked.duplicates,
        )

    def _assessment(self, scores: HopScores) -> Assessment | None:
        """The assessment of hop 1, with the best sum if further hops worked."""
        first = self.state.first.assessment
        if first is None or not self.state.follows_names:
            return first
        best = max(scored.score for scored in scores.by_chunk.values())
        return replace(first, share=min(1.0, best / scores.largest))


def _with_terms(parsed: ParsedQuery, terms: Sequence[str]) -> ParsedQuery:
    """Appends the terms to the question. Any of them may match."""
    words = " ".join([parsed.words, *(" ".join(names.words(term)) for term in terms)])
    return ParsedQuery(text=" ".join((parsed.text, *terms)), words=words)


def _with_conditions(lexical: LexicalQuery, first: LexicalQuery | None) -> LexicalQuery:
    """The words of a later hop, with the conditions of the hop 1 search that found hits."""
    return lexical if first is None else replace(first, words=lexical.words)


def _fuse(first: HybridRequest, text: str, context: SearchContext) -> HybridRequest:
    """Sets RRF, with even weights instead of convex ones. A leg that did not run in hop 1 never runs."""
    both = first.weights.vector > 0 and first.weights.text > 0
    if not both or first.fusion == "rrf":
        return replace(first, fusion="rrf")
    even = replace(first, weights=hybrid_request.EVEN, fusion="rrf")
    return hybrid_request.with_languages(even, text, context.services.embedder.model.languages)


def _explain(chunk: HopChunk, via: ChunkLink | None, scored: Scored, largest: float) -> Mapping[str, Any]:
    heading = {"heading": via.name} if via and via.heading else {}
    return {"signals": dict(chunk.signals), **heading, "parts": dict(scored.parts), "best": largest}
