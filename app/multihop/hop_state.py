"""Defines the state of a multi-hop search: what each hop did, and each chunk with its signals and its link."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from uuid import UUID

from app.database.transactions import SearchTransaction
from app.enums import Json
from app.multihop.hop_terms import HopTerms
from app.multihop.store import LinkedChunk
from app.query import hop_signal_weights
from app.query.search_types import Candidate, ChunkLink, Hit, Hop
from app.relevance import cosine_scales
from app.search import hybrid_request, replaced_chunks
from app.search.rank_fusion import Scored
from app.search.state import SearchContext, SearchState
from app.search.store.hybrid_search import RankedChunk
from app.text.names import names


@dataclass(slots=True)
class HopChunk:
    """A chunk as the hops found it.

    `hop` is the hop that brought it (None: it is only compared). `rrf_sum` (of weight / (k + rank)) and `similarity`
    are its scores against the original question, `signals` the values of its signals. `link` is the shown link to it,
    `followed` whether its own links were followed. `lexemes` are the question's lexemes that it contains, and `guided`
    is the hit of hop 1 with the effect of entities.
    """

    chunk_id: UUID
    document_id: UUID
    hop: int | None = None
    candidate: Candidate | None = None
    rrf_sum: float | None = None
    similarity: float | None = None
    signals: dict[str, float] = field(default_factory=dict)
    link: ChunkLink | None = None
    followed: bool = False
    lexemes: frozenset[str] | None = None
    guided: Hit | None = None

    @property
    def guided_steps(self) -> Json:
        """The steps that changed the score in hop 1."""
        return (self.guided.explain if self.guided else None) or {}

    @property
    def text(self) -> str:
        """Its title and content; empty if they have not been read."""
        return f"{self.candidate.title}\n{self.candidate.content}" if self.candidate else ""

    def compare(self, similarity: float | None, unrelated: float | None) -> None:
        """Record the similarity to the question, if it is known. `unrelated` is the similarity of unrelated texts."""
        if similarity is not None:
            self.similarity = similarity
            self.raise_signal("cos", cosine_scales.like_built_in(similarity, unrelated))

    def raise_signal(self, name: str, value: float) -> bool:
        """Keep the larger value of a signal. Returns whether it is the new value."""
        is_larger = value > self.signals.get(name, 0.0)
        if is_larger:
            self.signals[name] = value
        return is_larger

    def add_link(self, link: ChunkLink, value: float) -> None:
        """Raise the signal of a link to a value. The link is shown, unless the shown link has priority."""
        if self.raise_signal(link.signal, value) and (self.link is None or _priority(link) <= _priority(self.link)):
            self.link = link


def _priority(link: ChunkLink) -> int:
    return hop_signal_weights.LINKS[link.signal].priority


@dataclass(slots=True)
class HopState:
    """The search of the first hop, what each hop did, its terms, and the chunks by id.

    `is_current` is set if no provider was called since the chunks were read or checked. `sums` has the sums of the
    signals of all chunks; None if a signal has changed since they were computed.
    """

    first: SearchState
    hops: list[Hop] = field(default_factory=list)
    terms: dict[int, HopTerms] = field(default_factory=dict)
    chunks: dict[UUID, HopChunk] = field(default_factory=dict)
    is_current: bool = True
    sums: Mapping[UUID, Scored] | None = None

    @classmethod
    def after_first_hop(cls, first: SearchState, *, width: int) -> HopState:
        """The state after hop 1, which brings its best `width` chunks. The others count only by their score."""
        state, weights = cls(first), first.result.weights
        unrelated = state.unrelated
        for rank, hit in enumerate(first.hits, 1):
            candidate = hit.candidate
            chunk = state.chunk(candidate.chunk_id, candidate.document_id)
            chunk.candidate, chunk.guided = candidate, hit
            chunk.rrf_sum = hybrid_request.rrf_sum(candidate.rrf_score, weights)
            chunk.raise_signal("fused", min(1.0, candidate.score))
            chunk.compare(candidate.cosine, unrelated)
            if rank <= width:
                chunk.hop = 1
        similarities = [chunk.similarity for chunk in state.chunks.values() if chunk.similarity is not None]
        best = max(similarities, default=None)
        state.hops.append(Hop(1, first.query.text, len(state.brought), best_similarity=best))
        return state

    @property
    def unrelated(self) -> float | None:
        """The similarity of unrelated texts, if the first hop has determined it."""
        return cosine_scales.known(self.first.context.services)

    @property
    def brought(self) -> dict[UUID, int]:
        """The hop of every chunk that a hop brought."""
        return {chunk.chunk_id: chunk.hop for chunk in self.chunks.values() if chunk.hop is not None}

    @property
    def follows_names(self) -> bool:
        """Whether a name of the question or of a chunk leads to a chunk."""
        return any(name in chunk.signals for chunk in self.chunks.values() for name in hop_signal_weights.BY_NAME)

    @property
    def question_idf(self) -> dict[str, float]:
        """The idf of the question's lexemes that any chunk contains.

        Empty for a question in another language than the documents: most words that they share are accidental.
        """
        assessed = self.first.assessment
        if assessed is not None and assessed.is_foreign:
            return {}
        return {term.lexeme: term.idf for term in self.first.result.terms if term.df and not term.is_added}

    @property
    def question_lexemes(self) -> dict[UUID, frozenset[str]]:
        """The question's lexemes in each chunk, as far as they were read."""
        return {chunk.chunk_id: chunk.lexemes for chunk in self.chunks.values() if chunk.lexemes is not None}

    def chunk(self, chunk_id: UUID, document_id: UUID) -> HopChunk:
        """The record of a chunk, new if there is none."""
        found = self.chunks.get(chunk_id)
        if found is None:
            found = self.chunks[chunk_id] = HopChunk(chunk_id, document_id)
        return found

    def record_search(self, question: str | None, ranked: Iterable[RankedChunk], decay: float) -> None:
        """For each chunk that a search found, raise its signal to `decay` times its score in the search."""
        for one in ranked:
            chunk = self.chunk(one.chunk_id, one.document_id)
            if question is None:
                chunk.raise_signal("expanded", decay * one.score)
            else:
                chunk.add_link(ChunkLink("asked", question), decay * one.score)

    def record_links(self, linked: Iterable[LinkedChunk]) -> list[UUID]:
        """Record the linked and the compared chunks. Returns the chunks of links with a weight."""
        unrelated, weighted = self.unrelated, []
        for one in linked:
            chunk = self.chunk(one.chunk_id, one.document_id)
            chunk.compare(one.similarity, unrelated)
            if one.link is not None and one.weight:
                chunk.add_link(one.link, one.weight)
                weighted.append(one.chunk_id)
        return weighted

    def is_compared(self, chunk_id: UUID) -> bool:
        """Whether the similarity of a chunk to the question is known."""
        return chunk_id in self.chunks and self.chunks[chunk_id].similarity is not None

    def assign_hop(self, chunk_ids: Iterable[UUID], hop: int) -> list[UUID]:
        """Assign the hop to the chunks that no hop brought before. Returns these chunks."""
        known = (chunk_id for chunk_id in dict.fromkeys(chunk_ids) if chunk_id in self.chunks)
        new = [chunk_id for chunk_id in known if self.chunks[chunk_id].hop is None]
        for chunk_id in new:
            self.chunks[chunk_id].hop = hop
        return new

    def remove(self, chunk_ids: Collection[UUID]) -> None:
        """Remove chunks that are no longer stored."""
        if not chunk_ids:
            return
        self.sums = None
        self.chunks = {chunk_id: chunk for chunk_id, chunk in self.chunks.items() if chunk_id not in chunk_ids}
        kept = [hit for hit in self.first.hits if hit.candidate.chunk_id not in chunk_ids]
        self.first = replace(self.first, hits=kept)

    @asynccontextmanager
    async def reading(self, context: SearchContext) -> AsyncIterator[SearchTransaction]:
        """Open a transaction, and remove the chunks that its snapshot does not contain."""
        async with context.services.db.searching(
            context.user_id, candidates=self.first.query.ranking.candidates
        ) as reading:
            read = [chunk.candidate for chunk in self.chunks.values() if chunk.candidate is not None]
            self.remove(await replaced_chunks.find(read, context, reading))
            context.version = reading.version
            self.is_current = True
            yield reading

    def link_to(self, chunk: HopChunk) -> ChunkLink | None:
        """How a later hop found a chunk: the link to it, or else the search that found it.

        A removed source is omitted.
        """
        if chunk.hop in (None, 1):
            return None
        link = _as_in_text(chunk.link, chunk.text) if chunk.link else _of_search(chunk, self.terms[chunk.hop])
        if link is None or link.source_chunk_id in self.chunks:
            return link
        return replace(link, source_chunk_id=None)


def _as_in_text(link: ChunkLink, text: str) -> ChunkLink:
    """Replaces a lexeme in a link by the word of the text."""
    return replace(link, name=_word_of(link.name, text)) if hop_signal_weights.LINKS[link.signal].is_lexeme else link


def _of_search(chunk: HopChunk, searched: HopTerms) -> ChunkLink | None:
    """The term that the chunk contains, or the first term; without terms, the first question of the model."""
    if chunk.candidate is None:
        return None
    if not searched.terms:
        return ChunkLink("asked", searched.questions[0])
    text = names.space(names.words(chunk.text))
    keys = {term: names.key(term) for term in searched.terms}
    term = next((term for term, key in keys.items() if key and names.space([key]) in text), searched.terms[0])
    return ChunkLink("expanded", term, searched.sources.get(term))


def _word_of(lexeme: str, text: str) -> str:
    """The first word of a text that begins with a lexeme, or with a lexeme without its last letter ("compani")."""
    words = names.words(text)
    beginnings = [lexeme, lexeme[:-1]] if len(lexeme) > 3 else [lexeme]
    found = (word for beginning in beginnings for word in words if word.startswith(beginning))
    return next(found, lexeme)
