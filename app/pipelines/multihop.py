"""Answers a question over several hops: searches, expands it with names from the best chunks, repeats, and merges.

A failure of a later hop never fails the search: the hops that worked are answered, and `hops` and `degraded` say so.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from app import errors
from app.pipelines import answers, extraction, query_vector, retrieval, turns, understanding
from app.pipelines.context import SearchContext
from app.pipelines.extraction import Extraction, ExtractionRequest, Extractor
from app.pipelines.hop_state import HopChunk, HopState
from app.pipelines.hop_strategies import Classic, HopStrategy, Linked, hop_width
from app.pipelines.services import Services
from app.pipelines.turns import SearchTurn
from app.ranking import fusion_plan, merge
from app.ranking.merge import Scored
from app.shapes import Answer, Hit, Hop, HybridRequest, ParsedQuery, Query, Weights
from app.store import links
from app.text import cleaning, names

log = logging.getLogger(__name__)

Merge = Literal["linked", "classic"]
STOP_BELOW = 0.5
"""A hop whose best similarity to the question is under this share of hop 1's best is the last."""


@dataclass(frozen=True, slots=True)
class MultihopQuery:
    """A search over several hops. `query.limit` is 1 to 20, `max_hops` 2 to 4."""

    query: Query
    max_hops: int = 2
    extractor: Extractor = "auto"
    merge: Merge = "linked"


async def run(question: MultihopQuery, services: Services, turn: SearchTurn = turns.UNLIMITED) -> Answer:
    """Answer one question over several hops.

    Raises BlankQuery, and from hop 1 alone DatabaseUnavailable and DeadlineExceeded.
    """
    if cleaning.is_blank(question.query.text):
        raise errors.BlankQuery
    strategy = Classic(question.query) if question.merge == "classic" else Linked(question.query)
    search = _MultihopSearch(question, strategy, SearchContext(services, question.query.user_id, turn))
    async with search.context.running():
        state = await search.first_hop()
        if state.brought:
            for hop in range(2, question.max_hops + 1):
                if not await search.next_hop(hop, state):
                    break
        return await search.answer(state)


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
        )
        first = await retrieval.retrieve(wide, self.context)
        return HopState.after_first_hop(self.query.text, first, width=hop_width(self.query))

    async def next_hop(self, hop: int, state: HopState) -> bool:
        """Go one hop further; False ends the search. A failure is noted and leaves the state as it was."""
        extraction_found: Extraction | None = None
        try:
            sources = self._sources(hop, state)
            extraction_found = await self._extract(sources, state)
            if not extraction_found.terms:
                return False
            state.extractions[hop] = extraction_found
            with self.context.timed("hops"):
                new = await self._retrieve(hop, extraction_found, sources, state)
        except errors.StepwellError as error:
            log.warning("hop %d failed: %s", hop, type(error).__name__, extra={"action": "hop2_failed"})
            self.context.degraded.append("hop2_failed")
            state.hops.append(replace(self._hop(hop, extraction_found), error=error.code))
            return False
        best = max((state.chunks[chunk_id].similarity or 0.0 for chunk_id in new), default=None)
        state.hops.append(replace(self._hop(hop, extraction_found), result_count=len(new), best_similarity=best))
        first_best = state.hops[0].best_similarity
        faded = first_best is not None and (best or 0.0) < STOP_BELOW * first_best
        return bool(new) and not faded

    def _sources(self, hop: int, state: HopState) -> list[UUID]:
        """The chunks that the hop starts from, best first: hop 1's own order, later the merged one."""
        if hop == 2:
            order = [candidate.chunk_id for candidate in state.first.result.candidates]
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
        return await extraction.run(request, self.context)

    async def _retrieve(self, hop: int, found: Extraction, sources: Sequence[UUID], state: HopState) -> list[UUID]:
        """Run the hop's statements in one transaction; returns the chunks that are new."""
        expanded = self.strategy.expanded_request(await self._expanded(found, state), state)
        db = self.context.services.db
        async with db.searching(self.query.user_id, candidates=self.query.candidates) as reading:
            return await self.strategy.collect(hop, expanded, sources, state, reading)

    async def _expanded(self, found: Extraction, state: HopState) -> HybridRequest:
        """The question with the terms appended, any of which may match; words required in hop 1 are not required here.

        Raises ProviderError if hop 1 had a vector and this hop has none.
        """
        query, parsed, first = self.query, state.first.parsed, state.first.request
        words = " ".join([parsed.words, *(" ".join(names.words(term)) for term in found.terms)])
        expanded = ParsedQuery(text=" ".join((parsed.text, *found.terms)), words=words, excluded=parsed.excluded)
        vector = None
        if first.vector is not None:
            vector = await query_vector.embed(expanded.text, self.context)
            if vector is None:
                raise errors.ProviderError("The expanded query could not be embedded.")
        return HybridRequest(
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

    def _hop(self, hop: int, found: Extraction | None) -> Hop:
        terms = found.terms if found else ()
        expanded = " ".join((self.query.text, *terms))
        return Hop(hop, expanded, 0, terms, found.extractor if found else None)

    def _scores(self, state: HopState) -> Mapping[UUID, Scored]:
        """Every chunk's combined score; hop 1's own if no further hop worked."""
        if not state.only_first_hop:
            return self.strategy.scores(state)
        candidates = [chunk.candidate for chunk in state.chunks.values() if chunk.hop is not None and chunk.candidate]
        return {c.chunk_id: Scored(c.score, {"fused": c.score}) for c in candidates}

    async def answer(self, state: HopState) -> Answer:
        """The merged chunks, cut to the limit."""
        query, first = self.query, state.first
        hits = await self._hits(state) if state.brought else []
        return replace(
            answers.build(query, first, self.context),
            hits=tuple(hits),
            confidence=hits[0].confidence if hits else None,
            strategies_matched=tuple(dict.fromkeys(name for hit in hits for name in hit.strategies)),
            search_mode="multihop",
            approximate=first.result.approximate and len(hits) < query.limit,
            degraded=tuple(dict.fromkeys(self.context.degraded)),
            hops=tuple(state.hops),
            total_results=sum(hop.result_count for hop in state.hops),
        )

    async def _hits(self, state: HopState) -> list[Hit]:
        scores = self._scores(state)
        order = merge.order(scores, state.brought)
        limit = self.query.limit
        # Chunks that names led to were not checked for excluded words: twice as many leave enough.
        leading = [state.chunks[chunk_id] for chunk_id in order[: 2 * limit if state.first.parsed.excluded else limit]]
        await self._read_missing(leading, state)
        best = 1.0 if state.only_first_hop else self.strategy.best_score(state)
        kept = [chunk for chunk in leading if chunk.candidate and not _holds_excluded(chunk, state)]
        return [self._hit(chunk, state, scores[chunk.chunk_id], best) for chunk in kept[:limit]]

    async def _read_missing(self, chunks: Sequence[HopChunk], state: HopState) -> None:
        """Fetch the text of the chunks to which only names led."""
        missing = [chunk.chunk_id for chunk in chunks if chunk.candidate is None]
        if not missing:
            return
        async with self.context.services.db.searching(self.query.user_id) as reading:
            read = await links.chunks(reading, self.query.user_id, missing, vector=None)
        for chunk_id, (candidate, _similarity) in read.items():
            state.chunks[chunk_id].candidate = candidate

    def _hit(self, chunk: HopChunk, state: HopState, scored: Scored, best: float) -> Hit:
        assert chunk.candidate is not None
        candidate = replace(chunk.candidate, score=min(1.0, scored.score / best))
        hit = answers.hit_of(candidate, self.query, state.first, relaxed=bool(self.context.relaxed))
        ways = tuple(name for name in ("linked", "shared", "named", "expanded") if chunk.signals.get(name))
        via = state.via(chunk)
        explain = None
        if hit.explain is not None:
            heading = {"heading": via.name} if via and via.heading else {}
            explain = {**hit.explain, "signals": dict(chunk.signals), "parts": dict(scored.parts), **heading}
        return replace(
            hit,
            strategies=tuple(dict.fromkeys((*hit.strategies, *ways))),
            hop=chunk.hop or 1,
            combined_score=scored.score,
            via=via,
            explain=explain,
        )


def _rrf_weights(request: HybridRequest) -> Weights:
    """Even weights if hop 1 chose others for a convex sum; a leg that did not run there runs nowhere."""
    both = request.weights.vector > 0 and request.weights.text > 0
    return fusion_plan.EVEN if both and request.fusion == "convex" else request.weights


def _holds_excluded(chunk: HopChunk, state: HopState) -> bool:
    """Whether a chunk that a later hop brought contains what the query excludes."""
    excluded = state.first.parsed.excluded
    if not excluded or chunk.hop in (None, 1) or chunk.candidate is None:
        return False
    sequences = names.sequences(f"{chunk.candidate.title}\n{chunk.candidate.content}")
    return any(" ".join(names.words(text)) in sequences for text in excluded)
