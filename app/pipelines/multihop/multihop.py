"""Answers a question over several hops: searches, expands it with names from the best chunks, repeats, and merges.

A failure of a later hop never fails the search: the hops that worked are answered, and `hops` and `degraded` say so.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from app import errors
from app.pipelines.multihop import expansion_terms
from app.pipelines.multihop.expansion_terms import Extraction, ExtractionRequest, Extractor
from app.pipelines.multihop.hop_state import HopChunk, HopState
from app.pipelines.multihop.hop_strategies import Classic, HopSearches, HopStrategy, Linked, hop_width
from app.pipelines.running import model_switch, query_vector, turns
from app.pipelines.running.context import SearchContext
from app.pipelines.running.services import Services
from app.pipelines.running.turns import SearchTurn
from app.pipelines.search import completion, ordering, pages, rerank, search, snippets, stale_chunks, understanding
from app.pipelines.search.pages import PageRequest
from app.ranking import fusion_plan, merge, relevance
from app.ranking.merge import Scored
from app.shapes import Answer, Hit, Hop, HybridRequest, ParsedQuery, Query, Weights
from app.store.connection import failures
from app.store.connection.transactions import SearchTransaction, repeat_on_primary
from app.store.documents import chunks
from app.store.search import recall
from app.text.names import names
from app.text.words import cleaning

log = logging.getLogger(__name__)

Merge = Literal["linked", "classic"]
STOP_BELOW = 0.5
"""A hop whose best similarity to the question is under this share of hop 1's best is the last."""


@dataclass(frozen=True, slots=True)
class MultihopQuery:
    """A search over several hops. `query.limit` is 1 to 20, `max_hops` 2 to 4; `classic` needs terms."""

    query: Query
    max_hops: int = 2
    extractor: Extractor = "auto"
    merge: Merge = "linked"


@model_switch.repeated
async def run(question: MultihopQuery, services: Services, turn: SearchTurn = turns.UNLIMITED) -> Answer:
    """Answer one question with the model whose vectors are stored; see `answer`."""
    return await answer(question, services, turn)


@repeat_on_primary
async def answer(question: MultihopQuery, services: Services, turn: SearchTurn = turns.UNLIMITED) -> Answer:
    """Answer one question over several hops.

    Raises BlankQuery, BadRequest for `classic` without terms, InvalidCursor, StaleCursor, and from hop 1 alone
    DatabaseUnavailable and DeadlineExceeded.
    """
    if cleaning.is_blank(question.query.text):
        raise errors.BlankQuery
    if question.merge == "classic" and question.extractor == "none":
        raise errors.BadRequest("The merge classic searches with terms: choose an extractor.", field="extractor")
    wanted = pages.request_of(
        replace(question, query=pages.identity(question.query)),
        question.query.cursor,
        limit=question.query.limit,
        group_size=question.query.group_size,
    )
    strategy = Classic(question.query) if question.merge == "classic" else Linked(question.query)
    several = _MultihopSearch(question, strategy, SearchContext(services, question.query.user_id, turn))
    async with several.context.running():
        state = await several.first_hop()
        if state.brought:
            for hop in range(2, question.max_hops + 1):
                if not await several.next_hop(hop, state):
                    break
        return await several.answer(state, wanted)


@dataclass(frozen=True, slots=True)
class _MultihopSearch:
    """One question being answered."""

    question: MultihopQuery
    strategy: HopStrategy
    context: SearchContext

    @property
    def query(self) -> Query:
        return self.question.query

    async def first_hop(self) -> HopState:
        """Retrieve for the question itself, with all candidates: those beyond the hop's width are compared later."""
        wide = replace(
            self.query,
            limit=self.query.candidates,
            fusion=self.strategy.first_fusion(),
            detail="full",
            min_confidence=None,
            min_relevance=None,
            group_size=None,
        )
        found = await search.candidates(wide, self.context)
        return HopState.after_first_hop(self.query.text, found, width=hop_width(self.query))

    async def next_hop(self, hop: int, state: HopState) -> bool:
        """Go one hop further; False ends the search. A failure is noted and leaves the state as it was."""
        extraction_found: Extraction | None = None
        state.is_current = False
        try:
            sources = self._sources(hop, state)
            extraction_found = await self._extract(sources, state)
            if self.question.merge == "classic" and not (extraction_found.terms or extraction_found.questions):
                return False
            state.extractions[hop] = extraction_found
            with self.context.timed("hops"):
                new = await self._retrieve(hop, extraction_found, sources, state)
        except failures.StandbyFailed:
            raise
        except errors.StepwellError as error:
            log.warning("hop %d failed: %s", hop, type(error).__name__, extra={"action": "hop2_failed"})
            self.context.degraded.append("hop2_failed")
            state.hops.append(replace(self._hop(hop, extraction_found), error=error.code))
            return False
        if not (new or extraction_found.terms or extraction_found.questions):
            return False
        best = max((state.chunks[chunk_id].similarity or 0.0 for chunk_id in new), default=None)
        state.hops.append(replace(self._hop(hop, extraction_found), result_count=len(new), best_similarity=best))
        first_best = state.hops[0].best_similarity
        faded = first_best is not None and (best or 0.0) < STOP_BELOW * first_best
        return bool(new) and not faded

    def _sources(self, hop: int, state: HopState) -> list[UUID]:
        """The chunks that the hop starts from, best first: hop 1's own order, later the merged one."""
        if hop == 2:
            order = [hit.candidate.chunk_id for hit in state.guided.hits]
        else:
            order = merge.order(self._scores(state), state.brought)
        return [chunk_id for chunk_id in order if state.chunks[chunk_id].hop is not None]

    async def _extract(self, sources: Sequence[UUID], state: HopState) -> Extraction:
        request = ExtractionRequest(
            user_id=self.query.user_id,
            question=self.query.text,
            chunk_ids=sources,
            extractor=self.question.extractor,
            corpus_chunks=state.first.result.corpus_chunks,
        )
        return await expansion_terms.run(request, self.context)

    async def _retrieve(self, hop: int, found: Extraction, sources: Sequence[UUID], state: HopState) -> list[UUID]:
        """Run the hop's statements in one transaction; returns the chunks that are new."""
        searches = HopSearches(
            expanded=await self._request(self._with_terms(found, state), state) if found.terms else None,
            asked={text: await self._request(self._question(text, state), state) for text in found.questions},
        )
        async with self._reading(state) as reading:
            stored = [chunk_id for chunk_id in sources if chunk_id in state.chunks]
            return await self.strategy.collect(hop, searches, stored, state, reading)

    @asynccontextmanager
    async def _reading(self, state: HopState) -> AsyncIterator[SearchTransaction]:
        """Open a transaction, and remove the chunks that its snapshot does not contain from the state."""
        db = self.context.services.db
        async with db.searching(self.query.user_id, candidates=self.query.candidates) as reading:
            read = [chunk.candidate for chunk in state.chunks.values() if chunk.candidate is not None]
            state.remove(await stale_chunks.find(read, self.context, reading))
            state.is_current = True
            yield reading

    def _with_terms(self, found: Extraction, state: HopState) -> ParsedQuery:
        """The question with the terms appended, any of which may match; words required in hop 1 are not required."""
        parsed = state.first.parsed
        words = " ".join([parsed.words, *(" ".join(names.words(term)) for term in found.terms)])
        return ParsedQuery(text=" ".join((parsed.text, *found.terms)), words=words, excluded=parsed.excluded)

    def _question(self, text: str, state: HopState) -> ParsedQuery:
        """A question of the model, without operators."""
        return ParsedQuery(text=text, words=" ".join(names.words(text)), excluded=state.first.parsed.excluded)

    async def _request(self, expanded: ParsedQuery, state: HopState) -> HybridRequest:
        """A search of a further hop. Raises ProviderError if hop 1 had a vector and this hop has none."""
        query, first = self.query, state.first.request
        vector = None
        if first.vector is not None:
            vector = await query_vector.embed(expanded.text, self.context)
            if vector is None:
                raise errors.ProviderError("The expanded query could not be embedded.")
        request = HybridRequest(
            user_id=query.user_id,
            vector=vector,
            lexical=understanding.lexical_query(expanded),
            weights=_rrf_weights(first),
            fusion="rrf",
            limit=query.candidates,
            k=query.k,
            candidates=query.candidates,
            filters=query.filters,
            exclude_chunk_ids=query.exclude_chunk_ids,
        )
        return self.strategy.further_request(request, state)

    def _hop(self, hop: int, found: Extraction | None) -> Hop:
        terms = found.terms if found else ()
        expanded = " ".join((self.query.text, *terms))
        return Hop(
            hop, expanded, 0, terms, found.extractor if found else None, questions=found.questions if found else ()
        )

    def _scores(self, state: HopState) -> Mapping[UUID, Scored]:
        """Every chunk's combined score; hop 1's own if no further hop worked."""
        if not state.only_first_hop:
            return self.strategy.scores(state)
        candidates = [chunk.candidate for chunk in state.chunks.values() if chunk.hop is not None and chunk.candidate]
        return {c.chunk_id: Scored(c.score, {"fused": c.score}) for c in candidates}

    async def answer(self, state: HopState, wanted: PageRequest) -> Answer:
        """The page of the merged chunks."""
        if not state.is_current:
            with suppress(errors.StepwellError):
                async with self._reading(state):
                    pass
        hits = await self._hits(state, wanted) if state.brought else []
        page = await pages.read(hits, wanted, self.context)
        if self.query.snippets:
            texts = {c.chunk_id: c.candidate.content for c in state.chunks.values() if c.candidate is not None}
            shown = await snippets.added(page.hits, texts, state.first, self.context)
            page = replace(page, hits=tuple(shown))
        built = completion.answer_of(self.query, state.first, self.context, page)
        return replace(
            completion.with_entities(built, state.guided.matches, state.guided.guidance),
            search_mode="multihop",
            fallback_reason=built.fallback_reason,
            query_type=built.query_type,
            degraded=tuple(dict.fromkeys(self.context.degraded)),
            hops=tuple(state.hops),
            total_results=sum(hop.result_count for hop in state.hops),
        )

    async def _hits(self, state: HopState, wanted: PageRequest) -> list[Hit]:
        """The merged chunks in their final order, as far as the page needs them, and one more."""
        scores = self._scores(state)
        best = 1.0 if state.only_first_hop else self.strategy.best_score(state)
        merged = [
            Hit(replace(chunk.candidate, score=scores[chunk.chunk_id].score / best), "low", ())
            for chunk in await self._leading(merge.order(scores, state.brought), state, wanted)
            if chunk.candidate is not None
        ]
        ordered = await ordering.run(self.query, merged, state.first, self.context, keep_all=True)
        hits = [self._hit(hit, state, scores[hit.candidate.chunk_id], best) for hit in ordered]
        return hits if state.only_first_hop else self._assessed(hits)

    async def _leading(self, order: Sequence[UUID], state: HopState, wanted: PageRequest) -> list[HopChunk]:
        """The best stored chunks without those that contain what the query excludes."""
        # Chunks reached by names were not checked for excluded words, so any number of chunks may be left out.
        needs_all = wanted.group_size is not None or bool(state.first.parsed.excluded)
        needed = wanted.end + 1
        if rerank.is_wanted(self.query):
            needed = max(needed, rerank.pool_size(self.query.limit))
        leading = [state.chunks[chunk_id] for chunk_id in (order if needs_all else order[:needed])]
        await self._read_missing(leading, state)
        excluded = await self._containing_excluded(leading, state)
        stored = [chunk for chunk in leading if chunk.candidate and chunk.chunk_id in state.chunks]
        return [chunk for chunk in stored if chunk.chunk_id not in excluded]

    def _assessed(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits with the relevance and confidence of a search over several hops, which linked sums show."""
        best = max((hit.relevance for hit in hits if hit.relevance is not None), default=None)
        if best is None or self.question.merge != "linked":
            return list(hits)
        known = [relevance.over_hops(hit.combined_score or 0.0, best) for hit in hits]
        return [
            replace(hit, relevance=value, confidence=relevance.confidence(value))
            for hit, value in zip(hits, known, strict=True)
        ]

    async def _read_missing(self, leading: Sequence[HopChunk], state: HopState) -> None:
        """Fetch the text of the chunks that were reached by names only."""
        missing = [chunk for chunk in leading if chunk.candidate is None]
        if not missing:
            return
        async with self._reading(state) as reading:
            ids = [chunk.chunk_id for chunk in missing]
            read = await chunks.by_id(reading, ids, vector=None)
        for chunk in missing:
            chunk.candidate, _similarity = read.get(chunk.chunk_id, (None, None))

    async def _containing_excluded(self, leading: Sequence[HopChunk], state: HopState) -> set[UUID]:
        """The chunks of later hops that contain what the query excludes."""
        lexical = understanding.lexical_query(state.first.parsed)
        later = [chunk.chunk_id for chunk in leading if chunk.hop not in (None, 1)]
        if not later or not lexical.excluded:
            return set()
        async with self._reading(state) as reading:
            return await recall.containing_excluded(reading, later, lexical)

    def _hit(self, ranked: Hit, state: HopState, scored: Scored, best: float) -> Hit:
        chunk = state.chunks[ranked.candidate.chunk_id]
        candidate = replace(ranked.candidate, cosine=chunk.similarity)
        linked = state.hit_links.of(chunk.guided)
        hit = completion.hit_of(candidate, self.query, state.first, relaxed=bool(self.context.relaxed), linked=linked)
        ways = tuple(
            name
            for name in ("linked", "shared", "rare", "identifier", "named", "expanded", "asked")
            if chunk.signals.get(name)
        )
        via = state.via(chunk)
        explain = None
        if hit.explain is not None:
            heading = {"heading": via.name} if via and via.heading else {}
            explain = {
                **completion.of_later_hop({**hit.explain, **chunk.guided_steps}, chunk.hop),
                "signals": dict(chunk.signals),
                **heading,
                "parts": dict(scored.parts),
                "best": best,
                **(ranked.explain or {}),
                **completion.capped(candidate.score),
            }
        return replace(
            hit,
            strategies=tuple(dict.fromkeys((*hit.strategies, *ways))),
            hop=chunk.hop or 1,
            combined_score=scored.score,
            via=via,
            guidance=chunk.guided.guidance if chunk.guided else None,
            boost=chunk.guided.boost if chunk.guided else None,
            explain=explain,
        )


def _rrf_weights(request: HybridRequest) -> Weights:
    """Even weights if hop 1 chose others for a convex sum; a leg that did not run there runs nowhere."""
    both = request.weights.vector > 0 and request.weights.text > 0
    return fusion_plan.EVEN if both and request.fusion == "convex" else request.weights
