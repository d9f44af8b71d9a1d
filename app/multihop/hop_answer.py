"""Answers with a page of the chunks of all hops: merged into one order, with how each was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app import errors
from app.documents.store import chunks
from app.multihop import hop_strategies
from app.multihop.hop_state import HopChunk, HopState
from app.multihop.hop_strategies import HopScores, HopStrategy
from app.query import signals
from app.query.search_request import SearchRequest
from app.query.types import Answer, Candidate, ChunkLink, Hit
from app.relevance import confidence
from app.search import completion, merge, named_sources, pages, state, understanding
from app.search.merge import Scored
from app.search.pages import PageRequest
from app.search.state import Page, SearchContext

_WAYS = [link.name for link in sorted(signals.LINKS.values(), key=lambda link: link.start != "source")]
"""Links of sources, then those of the query and of searches, as the strategies of a hit list them."""


@dataclass(frozen=True, slots=True)
class HopAnswer:
    """The hops of a question, whose chunks become the answer."""

    query: SearchRequest
    strategy: HopStrategy
    state: HopState
    context: SearchContext

    async def read(self, wanted: PageRequest) -> Answer:
        """The answer with a page of the merged chunks. Raises `stale_cursor`, DatabaseUnavailable."""
        await self._refresh()
        scores = hop_strategies.scores(self.strategy, self.state)
        page = await self._page(scores, wanted)
        hits = tuple(self._hit(hit, scores) for hit in page.hits)
        search = replace(self.state.first, query=self.query)
        built = completion.answer_of(search, page, hits)
        return replace(
            await state.finish(search, built),
            search_mode="multihop",
            fallback_reason=built.fallback_reason,
            query_type=built.query_type,
            degraded=tuple(dict.fromkeys(self.context.degraded)),
            hops=tuple(self.state.hops),
            total_results=sum(hop.result_count for hop in self.state.hops),
        )

    async def _refresh(self) -> None:
        """Remove the chunks that are no longer stored, as far as the database can be asked."""
        if not self.state.is_current:
            with suppress(errors.StepwellError):
                async with self.state.reading(self.context):
                    pass

    async def _page(self, scores: HopScores, wanted: PageRequest) -> Page:
        """The page of the merged chunks: of all of them where duplicates among the leading ones leave it incomplete."""
        needed = self._needed(wanted)
        page = await pages.read(await self._ranked(scores, needed), wanted, self.context)
        if wanted.collapse and needed is not None and page.next_cursor is None and needed < len(self.state.brought):
            page = await pages.read(await self._ranked(scores, None), wanted, self.context)
        return page

    def _needed(self, wanted: PageRequest) -> int | None:
        """Number of leading chunks from which the page and the result after it are made; None for all."""
        if wanted.group_size is not None or (wanted.collapse and wanted.offset):
            return None
        needed = wanted.end + 1
        if self.query.is_reordered or wanted.collapse:
            needed = max(needed, understanding.pool_size(self.query.limit))
        return max(needed, self.query.ranking.candidates) if self.query.recency is not None else needed

    async def _ranked(self, scores: HopScores, needed: int | None) -> list[Hit]:
        """The merged chunks in their final order, the leading ones or all."""
        if not self.state.brought:
            return []
        merged = [
            Hit(replace(chunk.candidate, score=scores.by_chunk[chunk.chunk_id].score / scores.largest), "low", ())
            for chunk in await self._leading(merge.order(scores.by_chunk, self.state.brought)[:needed])
            if chunk.candidate is not None
        ]
        first = self.state.first
        request = replace(first.request, fusion=self.strategy.merged_fusion())
        search = replace(first, query=self.query, request=request, hits=merged, keep_all=True)
        return list((await state.order(search)).hits)

    async def _leading(self, order: Sequence[UUID]) -> list[HopChunk]:
        """The stored ones of these chunks."""
        leading = [self.state.chunks[chunk_id] for chunk_id in order]
        await self._read_missing(leading)
        return [chunk for chunk in leading if chunk.candidate and chunk.chunk_id in self.state.chunks]

    async def _read_missing(self, leading: Sequence[HopChunk]) -> None:
        """Read the text of the chunks to which only links led."""
        missing = [chunk for chunk in leading if chunk.candidate is None]
        if not missing:
            return
        async with self.state.reading(self.context) as reading:
            read = await chunks.by_id(reading, [chunk.chunk_id for chunk in missing], vector=None)
            await named_sources.read(self.context, (candidate for candidate, _similarity in read.values()), reading)
        for chunk in missing:
            chunk.candidate, _similarity = read.get(chunk.chunk_id, (None, None))

    def _hit(self, ranked: Hit, scores: HopScores) -> Hit:
        """A hit with what its hop found, and what entities added to it in hop 1."""
        first, chunk = replace(self.state.first, query=self.query), self.state.chunks[ranked.candidate.chunk_id]
        scored = scores.by_chunk[chunk.chunk_id]
        candidate = _with_similarity(ranked.candidate, chunk.similarity)
        hit = completion.hit_of(
            replace(ranked, candidate=candidate),
            first,
            is_linked=chunk.guided is not None and candidate.document_id in first.surely_linked,
        )
        via = self.state.link_to(chunk)
        explain = None
        if hit.explain is not None:
            explain = {
                **completion.of_later_hop({**hit.explain, **chunk.guided_steps}, chunk.hop),
                **_explain(chunk, via, scored, scores.largest),
                **(ranked.explain or {}),
                **completion.cap(candidate.score),
            }
        found = replace(
            hit,
            strategies=tuple(dict.fromkeys((*hit.strategies, *(way for way in _WAYS if chunk.signals.get(way))))),
            hop=chunk.hop or 1,
            combined_score=scored.score,
            via=via,
            guidance=chunk.guided.guidance if chunk.guided else None,
            boost=chunk.guided.boost if chunk.guided else None,
            explain=explain,
            more=tuple(self._hit(other, scores) for other in ranked.more),
            duplicates=ranked.duplicates,
        )
        return found if self.state.only_first_hop else self._assessed(found, scored.score / scores.largest)

    def _assessed(self, hit: Hit, share: float) -> Hit:
        """The hit with the relevance and confidence that its share of the largest combined score shows."""
        assessed = self.state.first.assessment
        if assessed is None:
            return hit
        value = self.strategy.relevance(share, assessed)
        return replace(hit, relevance=value, confidence=confidence.of(value))


def _with_similarity(candidate: Candidate, similarity: float | None) -> Candidate:
    """The candidate with its similarity to the question, which is its vector score if no search has found it."""
    is_found = candidate.vector_rank is not None or candidate.text_rank is not None
    vector_score = candidate.vector_score if is_found else similarity
    return replace(candidate, cosine=similarity, vector_score=vector_score)


def _explain(chunk: HopChunk, via: ChunkLink | None, scored: Scored, largest: float) -> Mapping[str, Any]:
    heading = {"heading": via.name} if via and via.heading else {}
    return {"signals": dict(chunk.signals), **heading, "parts": dict(scored.parts), "best": largest}
