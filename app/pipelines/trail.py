"""What have the hops of one question found so far?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from app.pipelines.extraction import Extracted
from app.pipelines.search import Retrieved
from app.ranking import merge
from app.ranking.merge import Scored
from app.shapes import Candidate, Hop, Led, Via
from app.text import names

_PRIORITY = {"linked": 0, "named": 1, "shared": 2}
"""Where several names lead to a chunk, the way that says most is told."""


@dataclass(slots=True)
class Trail:
    """The chunks by id: which hop brought each, its signals, and the name that leads there."""

    first: Retrieved
    relaxed: bool = False
    hops: list[Hop] = field(default_factory=list)
    extracted: dict[int, Extracted] = field(default_factory=dict)
    hop_of: dict[UUID, int] = field(default_factory=dict)
    documents: dict[UUID, UUID] = field(default_factory=dict)
    candidates: dict[UUID, Candidate] = field(default_factory=dict)
    signals: dict[UUID, dict[str, float]] = field(default_factory=dict)
    similarity: dict[UUID, float] = field(default_factory=dict)
    rrf: dict[UUID, float] = field(default_factory=dict)
    via: dict[UUID, Via] = field(default_factory=dict)
    led: set[UUID] = field(default_factory=set)
    held: dict[UUID, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def begun(cls, query: str, first: Retrieved, *, width: int, relaxed: bool) -> Trail:
        """Hop 1: its best `width` chunks are its own, the others count only by their score."""
        trail = cls(first, relaxed)
        for place, candidate in enumerate(first.found.candidates):
            trail.note(candidate, rrf_score=candidate.rrf_score, similarity=candidate.vector_score)
            trail.raise_signal(candidate.chunk_id, "fused", candidate.score)
            if place < width:
                trail.hop_of[candidate.chunk_id] = 1
        best = max(trail.similarity.values(), default=None)
        trail.hops.append(Hop(1, query, len(trail.hop_of), best_similarity=best))
        return trail

    @property
    def stayed(self) -> bool:
        """Whether no further hop worked."""
        return not self.led and len(self.hop_of) == self.hops[0].result_count

    @property
    def idf(self) -> dict[str, float]:
        """The question's words, as far as any chunk holds them."""
        return {term.lexeme: term.idf for term in self.first.found.terms if term.df}

    def sums(self) -> dict[UUID, Scored]:
        """Every chunk's linked sum."""
        return {c: merge.linked(signals) for c, signals in self.signals.items() if c in self.documents}

    def note(self, candidate: Candidate, *, rrf_score: float | None, similarity: float | None) -> None:
        """Remember a chunk with what it says."""
        self.candidates.setdefault(candidate.chunk_id, candidate)
        self.documents.setdefault(candidate.chunk_id, candidate.document_id)
        self.rrf.setdefault(candidate.chunk_id, rrf_score or 0.0)
        if similarity is not None:
            self.similarity.setdefault(candidate.chunk_id, similarity)

    def take(self, chunk: Led) -> bool:
        """Remember where names lead; returns whether any does, for a chunk may only have been compared."""
        self.documents[chunk.chunk_id] = chunk.document_id
        if chunk.similarity is not None:
            self.similarity[chunk.chunk_id] = chunk.similarity
            self.raise_signal(chunk.chunk_id, "cos", chunk.similarity)
        if chunk.named_name is not None:
            self.raise_signal(
                chunk.chunk_id, "named", 1.0, Via(chunk.named_name, "named", heading=bool(chunk.named_heading))
            )
        if chunk.shared and chunk.shared_name is not None:
            via = Via(chunk.shared_name, "shared", chunk.shared_source, chunk.shared_chunks, 1)
            self.raise_signal(chunk.chunk_id, "shared", chunk.shared, via)
        if chunk.linked and chunk.linked_name is not None:
            told = (chunk.linked_source, chunk.linked_chunks, chunk.linked_steps, bool(chunk.linked_heading))
            self.raise_signal(chunk.chunk_id, "linked", chunk.linked, Via(chunk.linked_name, "linked", *told))
        return bool(chunk.named_name or chunk.linked or chunk.shared)

    def raise_signal(self, chunk_id: UUID, name: str, value: float, via: Via | None = None) -> None:
        """Keep the larger value of a signal, and the best way that leads to the chunk."""
        signals = self.signals.setdefault(chunk_id, {})
        if value <= signals.get(name, 0.0):
            return
        signals[name] = value
        known = self.via.get(chunk_id)
        if via is not None and (known is None or _PRIORITY[via.kind] <= _PRIORITY[known.kind]):
            self.via[chunk_id] = via

    def enter(self, chunk_ids: Iterable[UUID], hop: int) -> list[UUID]:
        """Those of the chunks that are new, now the hop's own."""
        fresh = [chunk_id for chunk_id in chunk_ids if chunk_id not in self.hop_of and chunk_id in self.documents]
        self.hop_of.update(dict.fromkeys(fresh, hop))
        return fresh

    def way_to(self, chunk_id: UUID) -> Via | None:
        """How a later hop came to a chunk that was read: the name behind its links, else the term that it holds."""
        hop = self.hop_of.get(chunk_id, 1)
        if hop == 1 or chunk_id in self.via:
            return self.via.get(chunk_id) if hop > 1 else None
        extracted, candidate = self.extracted[hop], self.candidates[chunk_id]
        told = names.sequences(f"{candidate.title}\n{candidate.content}")
        term = next((term for term in extracted.terms if names.key(term) in told), extracted.terms[0])
        return Via(term, "expanded", extracted.sources.get(term))
