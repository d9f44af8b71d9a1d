"""Expands and merges hops: `linked` follows names and sums signals, `classic` searches again and adds bonuses.

Both order every chunk against the original question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

from app.pipelines.multihop.hop_state import HopChunk, HopState
from app.pipelines.search import understanding
from app.ranking import merge
from app.ranking.merge import HopHit, Scored
from app.shapes import (
    Candidate,
    Fusion,
    HybridRequest,
    IdentifierRequest,
    LinkedChunk,
    LinkRequest,
    Query,
    RareWordRequest,
    SourceIdentifier,
    WordLink,
)
from app.store.connection.transactions import Reading
from app.store.documents import chunks
from app.store.multihop import links
from app.store.search import recall
from app.text.names import headings, names
from app.text.queries import identifiers

MIN_WIDTH = 5
"""Smallest number of chunks that a hop adds from a search."""
MAX_SOURCES = 5
"""Chunks whose names a hop follows."""
SOURCE_WEIGHT = 0.5
"""Weight of links from a retrieved chunk; links from a document that the question names have weight 1."""
HOP_DECAY = 0.5
"""Factor of the signals from one hop to the next."""
MAX_IDENTIFIERS = 12
"""Identifiers, those of the best sources first, that a hop follows."""
RARE_FLOOR = 0.5
"""Rare words and identifiers of a source link if its score in hop 1 is at least this share of the best one there."""


def hop_width(query: Query) -> int:
    """Number of chunks that a hop adds from a search."""
    return max(MIN_WIDTH, query.limit)


@dataclass(frozen=True, slots=True)
class HopSearches:
    """The searches of a further hop: the question with the added terms, and by its text each question of a model."""

    expanded: HybridRequest | None
    asked: Mapping[str, HybridRequest]


class HopStrategy(Protocol):
    """How further hops retrieve, and how the chunks of all hops are scored."""

    def first_fusion(self) -> Fusion:
        """The fusion of hop 1."""
        ...

    def further_request(self, request: HybridRequest, state: HopState) -> HybridRequest:
        """A request of a further hop, made from one with the question's options."""
        ...

    async def collect(
        self, hop: int, searches: HopSearches, sources: Sequence[UUID], state: HopState, db: Reading
    ) -> list[UUID]:
        """Retrieve a further hop into the state, from the best chunks so far; returns the chunks that are new."""
        ...

    def scores(self, state: HopState) -> Mapping[UUID, Scored]:
        """The combined scores after at least one further hop."""
        ...

    def best_score(self, state: HopState) -> float:
        """The combined score of a chunk that is first by every measure."""
        ...


@dataclass(frozen=True, slots=True)
class Linked:
    """Follows the names in the best chunks, and scores by a weighted sum of signals (docs/decisions/0003)."""

    query: Query

    def first_fusion(self) -> Fusion:
        """As the query asks."""
        return self.query.fusion

    def further_request(self, request: HybridRequest, state: HopState) -> HybridRequest:
        """All candidates without their text, those of earlier hops among them: the score here is a signal."""
        return replace(request, limit=self.query.candidates, with_content=False)

    async def collect(
        self, hop: int, searches: HopSearches, sources: Sequence[UUID], state: HopState, db: Reading
    ) -> list[UUID]:
        """Raise the signals of chunks that a search finds or names in the sources link."""
        expanded = (await recall.hybrid(db, searches.expanded)).candidates if searches.expanded else ()
        # Scores of RRF hardly tell the first hits apart; those of the convex fusion do.
        asked = {
            question: (await recall.hybrid(db, replace(request, fusion="convex"))).candidates
            for question, request in searches.asked.items()
        }
        found = [expanded, *asked.values()]
        decay = HOP_DECAY ** (hop - 2)
        new_sources = [chunk_id for chunk_id in sources if not state.chunks[chunk_id].followed][:MAX_SOURCES]
        weights = {chunk_id: decay * _source_weight(state.chunks[chunk_id], state) for chunk_id in new_sources}
        retrieved = {*state.chunks, *(candidate.chunk_id for candidates in found for candidate in candidates)}
        compared = {chunk_id for chunk_id in retrieved if not state.is_compared(chunk_id)}
        linked = await self._follow(weights, compared, state, db)
        for chunk_id in new_sources:
            state.chunks[chunk_id].followed = True
        for candidate in expanded:
            state.add_expanded(candidate, decay * candidate.score)
        for question, candidates in asked.items():
            for candidate in candidates:
                state.add_asked(candidate, decay * candidate.score, question)
        width = hop_width(self.query)
        brought = dict.fromkeys(candidate.chunk_id for candidates in found for candidate in candidates[:width])
        brought |= dict.fromkeys(chunk.chunk_id for chunk in linked if state.add_linked(chunk))
        good = _good_sources(weights, state)
        rare = await self._by_rare_words(good, state, db)
        brought |= dict.fromkeys(link.chunk_id for link in rare if state.add_word_link(link, "rare"))
        identified = await self._by_identifiers(good, state, db)
        brought |= dict.fromkeys(link.chunk_id for link in identified if state.add_word_link(link, "identifier"))
        await self._read_lexemes(state, db)
        return state.bring(brought, hop)

    async def _follow(
        self, sources: Mapping[UUID, float], compared: set[UUID], state: HopState, db: Reading
    ) -> list[LinkedChunk]:
        text = state.first.parsed.text
        request = LinkRequest(
            self.query.user_id,
            sources=sources,
            keys=names.sequences(text),
            heading_keys=headings.question_keys(text),
            vector=state.first.request.vector,
            compared=compared,
            filters=self.query.filters,
            exclude_chunk_ids=self.query.exclude_chunk_ids,
        )
        return await links.follow(db, request)

    async def _by_rare_words(self, good: Mapping[UUID, float], state: HopState, db: Reading) -> Sequence[WordLink]:
        """The chunks that share a rare word with a good source; none if the question's own words are not known."""
        if not (good and state.question_idf):
            return []
        request = RareWordRequest(
            self.query.user_id,
            sources=good,
            skipped={chunk_id: identifiers.pieces(state.chunks[chunk_id].text) for chunk_id in good},
            words={lexeme: idf * idf for lexeme, idf in state.question_idf.items()},
            corpus_chunks=state.first.result.corpus_chunks,
            vector=state.first.request.vector,
            filters=self.query.filters,
            exclude_chunk_ids=self.query.exclude_chunk_ids,
        )
        return await links.by_rare_words(db, request)

    async def _by_identifiers(self, good: Mapping[UUID, float], state: HopState, db: Reading) -> Sequence[WordLink]:
        """The chunks that contain an identifier of a good source that the question does not contain."""
        found = _source_identifiers(good, state)
        if not found:
            return []
        request = IdentifierRequest(
            self.query.user_id,
            found,
            words=[term.lexeme for term in state.first.result.terms],
            vector=state.first.request.vector,
            filters=self.query.filters,
            exclude_chunk_ids=self.query.exclude_chunk_ids,
        )
        return await links.by_identifiers(db, request)

    async def _read_lexemes(self, state: HopState, db: Reading) -> None:
        """Read which lexemes of the question the leading chunks contain, for their coverage."""
        leading = merge.order(state.linked_scores(), state.brought)[: merge.COVERAGE_POOL]
        lexemes = await chunks.matching_lexemes(db, leading, state.question_idf)
        for chunk_id, contained in lexemes.items():
            state.chunks[chunk_id].lexemes = contained

    def scores(self, state: HopState) -> Mapping[UUID, Scored]:
        """The linked sums, each with what the chunk covers of the question beyond the chunks above it."""
        words, idf = state.question_lexemes, state.question_idf
        limited = merge.with_limited_links(state.linked_scores(), words, idf)
        return merge.with_coverage(limited, words, idf, state.brought)

    def best_score(self, state: HopState) -> float:
        """The sum with every signal at its largest."""
        return merge.MAX_LINKED_SCORE + (merge.WEIGHTS["asked"] if state.has_questions else 0.0)


@dataclass(frozen=True, slots=True)
class Classic:
    """Searches again with the added terms, and scores by RRF with a bonus for hop 1 and for single documents."""

    query: Query

    def first_fusion(self) -> Fusion:
        """RRF, whatever the query asks: the bonuses are on its scale."""
        return "rrf"

    def further_request(self, request: HybridRequest, state: HopState) -> HybridRequest:
        """The best chunks that no hop has brought."""
        excluded = (*self.query.exclude_chunk_ids, *state.brought)
        return replace(request, limit=hop_width(self.query), exclude_chunk_ids=excluded)

    async def collect(
        self, hop: int, searches: HopSearches, sources: Sequence[UUID], state: HopState, db: Reading
    ) -> list[UUID]:
        """Add what the searches find; a chunk that hop 1 only compared takes its scores from here.

        A chunk that several of them find keeps its scores from the first.
        """
        requests = [*([searches.expanded] if searches.expanded else []), *searches.asked.values()]
        found: dict[UUID, Candidate] = {}
        for request in requests:
            for candidate in (await recall.hybrid(db, request)).candidates:
                found.setdefault(candidate.chunk_id, candidate)
        chunk_ids = list(found)
        read = await chunks.by_id(db, chunk_ids, vector=state.first.request.vector)
        for candidate in found.values():
            _, similarity = read.get(candidate.chunk_id, (candidate, None))
            state.replace(candidate, similarity=similarity)
        return state.bring(chunk_ids, hop)

    def scores(self, state: HopState) -> Mapping[UUID, Scored]:
        """RRF within the chunk's own hop, with the bonuses."""
        return merge.classic(
            HopHit(chunk.chunk_id, chunk.document_id, chunk.hop, chunk.rrf_score or 0.0)
            for chunk in state.chunks.values()
            if chunk.hop is not None
        )

    def best_score(self, state: HopState) -> float:
        """First in both legs of hop 1, with both bonuses."""
        request = state.first.request
        return merge.max_classic((request.weights.vector + request.weights.text) / (request.k + 1))


def _source_weight(chunk: HopChunk, state: HopState) -> float:
    """How much links from a chunk count: its RRF score in hop 1, scaled to 0–1, or for a later one its linked score."""
    request = state.first.request
    if chunk.rrf_score is not None:
        return SOURCE_WEIGHT * chunk.rrf_score * (request.k + 1) / (request.weights.vector + request.weights.text)
    return SOURCE_WEIGHT * min(1.0, merge.linked(chunk.signals).score / merge.MAX_SUM)


def _good_sources(sources: Mapping[UUID, float], state: HopState) -> dict[UUID, float]:
    """The sources that are not far below the best chunk of hop 1."""
    best = max((chunk.signals.get("fused", 0.0) for chunk in state.chunks.values()), default=0.0)
    return {
        chunk_id: weight
        for chunk_id, weight in sources.items()
        if state.chunks[chunk_id].signals.get("fused", 0.0) >= RARE_FLOOR * best
    }


def _source_identifiers(sources: Mapping[UUID, float], state: HopState) -> list[SourceIdentifier]:
    """The identifiers of the sources that the question does not contain, each in the best source that contains it."""
    asked = {text.casefold() for text in identifiers.whole(state.first.parsed.text)}
    found: dict[str, SourceIdentifier] = {}
    for chunk_id, weight in sorted(sources.items(), key=lambda source: -source[1]):
        for text in identifiers.whole(state.chunks[chunk_id].text):
            if text.casefold() not in asked:
                indexed = understanding.index_text(text)
                found.setdefault(text.casefold(), SourceIdentifier(text, indexed, chunk_id, weight))
    return list(found.values())[:MAX_IDENTIFIERS]
