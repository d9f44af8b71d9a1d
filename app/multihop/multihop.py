"""Answers a question over several hops: searches, follows links and adds terms of the best chunks, and merges all hops.

A failure of a later hop never fails the search: the hops that worked are answered, and `hops` and `degraded` say so.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app import errors, limits
from app.concurrency.limiter import UNLIMITED, Released
from app.database.driver import failures
from app.database.transactions import repeat_rerouted
from app.kinds import Extractor
from app.multihop import hop_strategies, hop_terms
from app.multihop.hop_answer import HopAnswer
from app.multihop.hop_state import HopState
from app.multihop.hop_strategies import ClassicStrategy, HopSearch, HopStrategy, LinkStrategy
from app.multihop.hop_terms import HopTerms
from app.query import model_switch
from app.query.context import SearchContext
from app.query.search_request import SearchRequest
from app.query.types import Answer, Hop, HybridRequest, LexicalQuery
from app.search import named_sources, pages, search, understanding
from app.search.ranking import fusion_plan, merge
from app.search.ranking.fusion_plan import FusionPlan
from app.services import Services
from app.text.names import names
from app.text.queries.conditions import ParsedQuery

log = logging.getLogger(__name__)

STOP_BELOW = 0.5
"""A hop whose best similarity to the question is under this share of hop 1's best is the last."""


async def run(query: SearchRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> Answer:
    """Answer one question with the model whose vectors are stored; see `answer`."""
    return await model_switch.run(services.embedder, services.db, lambda: answer(query, user_id, services, turn))


def unsupported(query: SearchRequest) -> str | None:
    """The first field of the query that a search over several hops does not support."""
    ranking = query.ranking
    used = {
        "limit": query.limit > limits.MAX_MULTIHOP_HITS,
        "vector": query.vector is not None,
        "ranking.min_vector_score": ranking.min_vector_score is not None,
        "ranking.min_rrf_score": ranking.min_rrf_score is not None,
        "ranking.min_confidence": ranking.min_confidence is not None,
        "ranking.min_relevance": ranking.min_relevance is not None,
    }
    return next((name for name, is_used in used.items() if is_used), None)


def check(query: SearchRequest) -> None:
    """Raises BadRequest for an option that a search over several hops does not support."""
    field = unsupported(query)
    if field == "limit":
        raise errors.BadRequest(f"A search over several hops has limits up to {limits.MAX_MULTIHOP_HITS}.", field=field)
    if field:
        message = "A search over several hops does not support this: leave it out or use depth fast."
        raise errors.BadRequest(message, field=field)
    if query.hops.merge == "classic" and query.hops.extractor == "none":
        message = "The merge classic searches with terms: choose an extractor."
        raise errors.BadRequest(message, field="ranking.hops.extractor")


@repeat_rerouted
async def answer(
    query: SearchRequest,
    user_id: str,
    services: Services,
    turn: Released = UNLIMITED,
    *,
    follow_only: bool = False,
) -> Answer:
    """Answer one question over several hops; `follow_only` finds no terms unless the request names an extractor.

    Raises BadRequest for what several hops do not support, `invalid_cursor`, `stale_cursor`, and from hop 1 alone
    DatabaseUnavailable and DeadlineExceeded.
    """
    check(query)
    query = query.completed(mode="off")
    if query.ranking.guidance.mode == "off":
        query = query.guided(boost=False)
    context = SearchContext(services, user_id, turn)
    wanted = pages.request_of(query, context)
    context.moment = wanted.moment
    strategy = ClassicStrategy(query) if query.hops.merge == "classic" else LinkStrategy(query)
    method = "none" if follow_only and not query.names_extractor else query.hops.extractor
    with context.timed("total"):
        state = await _first_hop(query, strategy, context)
        further = _FurtherHops(query, method, strategy, state, context)
        if state.brought:
            for hop in range(2, query.hops.max_hops + 1):
                if not await further.go(hop):
                    break
        return await HopAnswer(query, strategy, state, context).read(wanted)


async def _first_hop(query: SearchRequest, strategy: HopStrategy, context: SearchContext) -> HopState:
    """Search for the question itself, with all candidates: those beyond the hop's width are compared later."""
    wide = query.changed(limit=query.ranking.candidates, detail="full", collapse="off")
    wide = wide.tuned(fusion=strategy.first_fusion(), group=None)
    found = await search.candidates(wide, context)
    return HopState.after_first_hop(found, width=hop_strategies.hop_width(query))


@dataclass(frozen=True, slots=True)
class _FurtherHops:
    """The hops after the first, which go from the best chunks so far to others."""

    query: SearchRequest
    method: Extractor
    strategy: HopStrategy
    state: HopState
    context: SearchContext

    async def go(self, hop: int) -> bool:
        """Go one hop further; False ends the search. A failure is noted and leaves the state as it was."""
        state, found = self.state, HopTerms()
        state.is_current = False
        try:
            sources = self._sources(hop)
            found = await self._terms(sources)
            if self.query.hops.merge == "classic" and not found:
                return False
            state.terms[hop] = found
            with self.context.timed("hops"):
                new = await self._retrieve(hop, found, sources)
        except failures.Rerouted:
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
        """The chunks that the hop starts from, best first: hop 1's own order, later the merged one."""
        if hop == 2:
            order = [hit.candidate.chunk_id for hit in self.state.first.hits]
        else:
            order = merge.order(hop_strategies.scores(self.strategy, self.state).by_chunk, self.state.brought)
        return [chunk_id for chunk_id in order if self.state.chunks[chunk_id].hop is not None]

    async def _terms(self, sources: Sequence[UUID]) -> HopTerms:
        return await hop_terms.run(
            self.query.text,
            sources,
            self.context,
            method=self.method,
            corpus_chunks=self.state.first.result.corpus_chunks,
        )

    async def _retrieve(self, hop: int, found: HopTerms, sources: Sequence[UUID]) -> list[UUID]:
        """Run the hop's statements in one transaction; returns the chunks that are new."""
        searches = await self._searches(found)
        async with self.state.reading(self.context) as reading:
            stored = [chunk_id for chunk_id in sources if chunk_id in self.state.chunks]
            new = await self.strategy.retrieve(hop, searches, stored, self.state, reading)
            found_texts = (self.state.chunks[chunk_id].candidate for chunk_id in new)
            await named_sources.read(self.context, filter(None, found_texts), reading)
        return new

    async def _searches(self, found: HopTerms) -> list[HopSearch]:
        """The searches of a hop, with their vectors: for the question with the terms, and for those of the model."""
        parsed = self.state.first.parsed
        searches = [HopSearch(await self._request(_with_terms(parsed, found.terms)))] if found.terms else []
        for question in found.questions:
            asked = ParsedQuery(text=question, words=" ".join(names.words(question)))
            searches.append(HopSearch(await self._request(asked), question))
        return searches

    async def _request(self, parsed: ParsedQuery) -> HybridRequest:
        """A search of a further hop. Raises ProviderError if hop 1 had a vector and this hop has none."""
        query, first = self.query, self.state.first.request
        vector = None
        if first.vector is not None:
            vector = await self.context.embed(parsed.text)
            if vector is None:
                raise errors.ProviderError("The expanded query could not be embedded.")
        plan = _plan(first, parsed.text, self.context)
        request = HybridRequest(
            user_id=self.context.user_id,
            vector=vector,
            lexical=_with_conditions(understanding.lexical_query(parsed), first.lexical),
            weights=plan.weights,
            fusion=plan.fusion,
            by_language=plan.by_language,
            limit=query.ranking.candidates,
            k=query.ranking.k,
            candidates=query.ranking.candidates,
            filters=query.filters,
            exclude_chunk_ids=tuple(query.exclude_chunk_ids),
        )
        return self.strategy.further_request(request, self.state)

    def _hop(self, hop: int, found: HopTerms) -> Hop:
        expanded = " ".join((self.query.text, *found.terms))
        return Hop(hop, expanded, 0, found.terms, found.method, questions=found.questions)


def _with_terms(parsed: ParsedQuery, terms: Sequence[str]) -> ParsedQuery:
    """The question with the terms appended, any of which may match."""
    words = " ".join([parsed.words, *(" ".join(names.words(term)) for term in terms)])
    return ParsedQuery(text=" ".join((parsed.text, *terms)), words=words)


def _with_conditions(lexical: LexicalQuery, first: LexicalQuery | None) -> LexicalQuery:
    """The words of a later hop with the conditions under which hop 1 found its hits."""
    return lexical if first is None else replace(first, words=lexical.words)


def _plan(first: HybridRequest, text: str, context: SearchContext) -> FusionPlan:
    """RRF of both legs if hop 1 chose a convex sum of both; a leg that did not run there runs nowhere."""
    both = first.weights.vector > 0 and first.weights.text > 0
    if not both or first.fusion == "rrf":
        return FusionPlan(first.weights, "rrf")
    return fusion_plan.with_languages(
        FusionPlan(fusion_plan.EVEN, "rrf"), text, context.services.embedder.model.languages
    )
