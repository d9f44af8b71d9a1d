"""Holds the state of a multi-hop search: each chunk with its signals and the name that links to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID

from app.pipelines.guidance.guidance import HitLinks
from app.pipelines.multihop.expansion_terms import Extraction
from app.pipelines.search.candidates import Candidates, Recalled
from app.ranking import merge
from app.ranking.merge import Scored
from app.shapes import Candidate, Hit, Hop, Json, LinkedChunk, Via, WordLink
from app.text.names import names

_VIA_PRIORITY = {"linked": 0, "named": 1, "identifier": 2, "shared": 3, "asked": 4, "rare": 5}
"""If several names link to a chunk, `via` is one of the kind with the lowest number."""


@dataclass(slots=True)
class HopChunk:
    """One chunk as the hops found it.

    `hop` is the hop that brought it (None: it is only compared), `rrf_score` and `similarity` its scores against the
    original question, `signals` the parts of its linked score, `followed` whether its names were followed already,
    `lexemes` those of the question that it contains, and `guided` the hit of hop 1 with what entities added to it.
    """

    chunk_id: UUID
    document_id: UUID
    hop: int | None = None
    candidate: Candidate | None = None
    rrf_score: float | None = None
    similarity: float | None = None
    signals: dict[str, float] = field(default_factory=dict)
    via: Via | None = None
    followed: bool = False
    lexemes: frozenset[str] | None = None
    guided: Hit | None = None

    @property
    def guided_steps(self) -> Json:
        """The steps by which entities changed the score in hop 1."""
        return (self.guided.explain if self.guided else None) or {}

    @property
    def text(self) -> str:
        """Its title and content, as far as they were read."""
        return f"{self.candidate.title}\n{self.candidate.content}" if self.candidate else ""

    def raise_signal(self, name: str, value: float, via: Via | None = None) -> None:
        """Keep the larger value of a signal, and the best name that links to the chunk."""
        if value <= self.signals.get(name, 0.0):
            return
        self.signals[name] = value
        if via is not None and (self.via is None or _VIA_PRIORITY[via.kind] <= _VIA_PRIORITY[self.via.kind]):
            self.via = via


@dataclass(slots=True)
class HopState:
    """The first hop's retrieval, what each hop did, and the chunks by id.

    `is_current` is whether no provider was called since the chunks were read or checked.
    """

    guided: Candidates
    hops: list[Hop] = field(default_factory=list)
    extractions: dict[int, Extraction] = field(default_factory=dict)
    chunks: dict[UUID, HopChunk] = field(default_factory=dict)
    is_current: bool = True

    @classmethod
    def after_first_hop(cls, query: str, guided: Candidates, *, width: int) -> HopState:
        """Hop 1 brings its best `width` chunks; the others count only by their score."""
        state = cls(guided)
        for rank, hit in enumerate(guided.hits, 1):
            chunk = state.add(hit.candidate)
            chunk.guided = hit
            chunk.similarity = hit.candidate.vector_score
            chunk.raise_signal("fused", min(1.0, hit.candidate.score))
            if chunk.similarity is not None:
                chunk.raise_signal("cos", chunk.similarity)
            if rank <= width:
                chunk.hop = 1
        similarities = [c.similarity for c in state.chunks.values() if c.similarity is not None]
        state.hops.append(Hop(1, query, len(state.brought), best_similarity=max(similarities, default=None)))
        return state

    @property
    def first(self) -> Recalled:
        """What was recalled for the question itself."""
        return self.guided.recalled

    @property
    def hit_links(self) -> HitLinks:
        """How the hits of hop 1 are linked to the entities of the question."""
        return self.guided.guidance.hit_links

    @property
    def brought(self) -> dict[UUID, int]:
        """The hop of every chunk that a hop brought."""
        return {chunk.chunk_id: chunk.hop for chunk in self.chunks.values() if chunk.hop is not None}

    @property
    def only_first_hop(self) -> bool:
        """Whether no further hop followed a name or brought a chunk."""
        followed = any(chunk.followed for chunk in self.chunks.values())
        return not followed and all(hop == 1 for hop in self.brought.values())

    @property
    def has_questions(self) -> bool:
        """Whether a hop searched for questions of the model."""
        return any(extraction.questions for extraction in self.extractions.values())

    @property
    def question_idf(self) -> dict[str, float]:
        """The idf of the question's lexemes that any chunk contains."""
        return {term.lexeme: term.idf for term in self.first.result.terms if term.df}

    @property
    def question_lexemes(self) -> dict[UUID, frozenset[str]]:
        """The question's lexemes in each chunk for which they were read."""
        return {chunk.chunk_id: chunk.lexemes for chunk in self.chunks.values() if chunk.lexemes is not None}

    def is_compared(self, chunk_id: UUID) -> bool:
        """Whether the similarity of a chunk to the question is known."""
        return chunk_id in self.chunks and self.chunks[chunk_id].similarity is not None

    def linked_scores(self) -> dict[UUID, Scored]:
        """The linked sum of every chunk."""
        return {chunk_id: merge.linked(chunk.signals) for chunk_id, chunk in self.chunks.items()}

    def add(self, candidate: Candidate) -> HopChunk:
        """The record of a chunk that was retrieved with its text; its first candidate and RRF score are kept."""
        chunk = self._record(candidate.chunk_id, candidate.document_id)
        if chunk.candidate is None:
            chunk.candidate = candidate
        if chunk.rrf_score is None:
            chunk.rrf_score = candidate.rrf_score or 0.0
        return chunk

    def replace(self, candidate: Candidate, *, similarity: float | None) -> None:
        """Record a chunk as a later hop retrieved it, in place of its earlier text and RRF score."""
        chunk = self._record(candidate.chunk_id, candidate.document_id)
        chunk.candidate, chunk.rrf_score = candidate, candidate.rrf_score or 0.0
        if chunk.similarity is None:
            chunk.similarity = similarity

    def add_expanded(self, candidate: Candidate, signal: float) -> None:
        """Record that the expanded query found a chunk, with its scaled score there."""
        self._record(candidate.chunk_id, candidate.document_id).raise_signal("expanded", signal)

    def add_asked(self, candidate: Candidate, signal: float, question: str) -> None:
        """Record that a search for a question of the model found a chunk, with its convex score there."""
        chunk = self._record(candidate.chunk_id, candidate.document_id)
        chunk.raise_signal("asked", signal, Via(question, "asked"))

    def add_linked(self, linked: LinkedChunk) -> bool:
        """Record a chunk that `links.sql` returned; False if no name links to it and it was only compared."""
        chunk = self._record(linked.chunk_id, linked.document_id)
        if linked.similarity is not None:
            chunk.similarity = linked.similarity
            chunk.raise_signal("cos", linked.similarity)
        if linked.named_name is not None:
            chunk.raise_signal("named", 1.0, Via(linked.named_name, "named", heading=bool(linked.named_heading)))
        if linked.shared and linked.shared_name is not None:
            via = Via(linked.shared_name, "shared", linked.shared_source, linked.shared_chunks, 1)
            chunk.raise_signal("shared", linked.shared, via)
        if linked.linked and linked.linked_name is not None:
            source, chunks, steps = linked.linked_source, linked.linked_chunks, linked.linked_steps
            via = Via(linked.linked_name, "linked", source, chunks, steps, bool(linked.linked_heading))
            chunk.raise_signal("linked", linked.linked, via)
        return bool(linked.named_name or linked.linked or linked.shared)

    def add_word_link(self, link: WordLink, kind: Literal["rare", "identifier"]) -> bool:
        """Record a chunk that shares a rare word or an identifier with a source; False if the link has no weight."""
        chunk = self._record(link.chunk_id, link.document_id)
        if link.similarity is not None:
            chunk.similarity = link.similarity
            chunk.raise_signal("cos", link.similarity)
        chunk.raise_signal(kind, link.weight, Via(link.word, kind, link.source, link.chunks, 1))
        return link.weight > 0

    def bring(self, chunk_ids: Iterable[UUID], hop: int) -> list[UUID]:
        """Assign the hop to those of the chunks that no hop brought before; returns these."""
        new = [chunk_id for chunk_id in chunk_ids if chunk_id in self.chunks and self.chunks[chunk_id].hop is None]
        for chunk_id in new:
            self.chunks[chunk_id].hop = hop
        return new

    def remove(self, chunk_ids: Collection[UUID]) -> None:
        """Remove chunks that are no longer stored."""
        if not chunk_ids:
            return
        self.chunks = {chunk_id: chunk for chunk_id, chunk in self.chunks.items() if chunk_id not in chunk_ids}
        kept = [hit for hit in self.guided.hits if hit.candidate.chunk_id not in chunk_ids]
        self.guided = replace(self.guided, hits=kept)

    def via(self, chunk: HopChunk) -> Via | None:
        """How a hop after the first found a chunk: the name that links to it, else the added term it contains.

        The source is omitted if it was removed.
        """
        via = self._via(chunk)
        removed = via is not None and via.source_chunk_id not in self.chunks
        return replace(via, source_chunk_id=None) if via is not None and removed else via

    def _via(self, chunk: HopChunk) -> Via | None:
        if chunk.hop in (None, 1):
            return None
        extraction = self.extractions[chunk.hop]
        if chunk.via is not None and chunk.via.kind == "rare":
            return replace(chunk.via, name=_word_of(chunk.via.name, chunk.text))
        if chunk.via is not None or chunk.candidate is None:
            return chunk.via
        if not extraction.terms:
            return Via(extraction.questions[0], "asked")
        sequences = names.sequences(f"{chunk.candidate.title}\n{chunk.candidate.content}")
        term = next((term for term in extraction.terms if names.key(term) in sequences), extraction.terms[0])
        return Via(term, "expanded", extraction.sources.get(term))

    def _record(self, chunk_id: UUID, document_id: UUID) -> HopChunk:
        return self.chunks.setdefault(chunk_id, HopChunk(chunk_id, document_id))


def _word_of(lexeme: str, text: str) -> str:
    """The first word of a text that begins with a lexeme, or with all of it but its last letter ("compani")."""
    words = names.words(text)
    beginnings = [lexeme, lexeme[:-1]] if len(lexeme) > 3 else [lexeme]
    found = (word for beginning in beginnings for word in words if word.startswith(beginning))
    return next(found, lexeme)
