"""Extracts terms for the next hop from the best chunks: by a language model, stored names, or statistics.

The best available extractor runs first and each falls back to the next: llm, entities, statistical. A model chooses
among the stored names, which are known to lead somewhere, and adds to them; so a model that fails costs nothing.
Without terms (`none`) a hop follows links and does not search again, which takes about half of its time.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from app import errors
from app.pipelines.running.context import SearchContext
from app.providers.base import Proposal
from app.shapes import Candidate, ChunkName
from app.store.connection.transactions import retry_read
from app.store.documents import chunks
from app.store.multihop import links
from app.text.names import names
from app.text.queries import terms

log = logging.getLogger(__name__)

Extractor = Literal["auto", "llm", "entities", "statistical", "none"]
ExtractorUsed = Literal["llm", "entities", "statistical"]
PASSAGES = 3
PASSAGE_CHARACTERS = 500
FALLBACK_ORDER: tuple[ExtractorUsed, ...] = ("llm", "entities", "statistical")


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """A question, the chunks to extract from (best first), and the size of the user's corpus in chunks."""

    user_id: str
    question: str
    chunk_ids: Sequence[UUID]
    extractor: Extractor
    corpus_chunks: int


@dataclass(frozen=True, slots=True)
class Extraction:
    """The terms, the extractor that found them (None: none did), and the chunk that contains each.

    `questions` are those that a language model would ask next.
    """

    terms: tuple[str, ...]
    extractor: ExtractorUsed | None
    sources: Mapping[str, UUID]
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """The chunks extracted from, best first, with their texts and the stored names in them."""

    request: ExtractionRequest
    chunk_ids: Sequence[UUID]
    candidates: Mapping[UUID, Candidate]
    names: Sequence[ChunkName]

    @property
    def passages(self) -> list[str]:
        """The beginning of each chunk."""
        return [candidate.content[:PASSAGE_CHARACTERS] for candidate in self.candidates.values()]

    @property
    def passages_with_titles(self) -> list[str]:
        """The beginning of each chunk below the title of its document."""
        titles = [candidate.title for candidate in self.candidates.values()]
        return [f"{title}\n{passage}" for title, passage in zip(titles, self.passages, strict=True)]


async def run(request: ExtractionRequest, context: SearchContext) -> Extraction:
    """Up to five terms of the first PASSAGES chunks; none if every extractor found none.

    Raises DatabaseUnavailable, DeadlineExceeded. A failing model is noted as `llm_failed`.
    """
    if request.extractor == "none":
        return Extraction((), None, {})
    with context.timed("extract"):
        source = await _read(request, context)
        proposal = Proposal(())
        if request.extractor in ("auto", "llm"):
            proposal = await _proposed_by_model(source, context)
        questions = tuple(terms.usable_questions(proposal.questions, request.question))
        first: ExtractorUsed = "llm" if request.extractor == "auto" else request.extractor
        for extractor in FALLBACK_ORDER[FALLBACK_ORDER.index(first) :]:
            found = _extract(extractor, source, proposal)
            if found:
                return Extraction(tuple(found), extractor, _sources(found, source), questions)
    return Extraction((), "llm" if questions else None, {}, questions)


@retry_read
async def _read(request: ExtractionRequest, context: SearchContext) -> _Source:
    best = list(request.chunk_ids[:PASSAGES])
    async with context.services.db.searching(request.user_id) as reading:
        stored_names = await links.names(reading, best)
        read = await chunks.by_id(reading, best, vector=None)
    candidates = {chunk_id: read[chunk_id][0] for chunk_id in best if chunk_id in read}
    return _Source(request, best, candidates, stored_names)


def _extract(extractor: ExtractorUsed, source: _Source, proposal: Proposal) -> list[str]:
    if extractor == "llm":
        proposed = terms.usable(list(proposal.terms), source.passages_with_titles, source.request.question)
        return _chosen_by_model(proposed, source)
    if extractor == "entities":
        return _stored_names(source)
    frequencies = {name.name_key: name.chunks for name in source.names}
    request = source.request
    return terms.statistical(source.passages, request.question, chunks=frequencies, total=request.corpus_chunks)


async def _proposed_by_model(source: _Source, context: SearchContext) -> Proposal:
    """What the model proposes, unchecked; nothing if there is no model or it fails."""
    llm = context.services.llm
    if llm is None:
        context.degraded += ["llm_failed"] if source.request.extractor == "llm" else []
        return Proposal(())
    try:
        async with context.turn.released(), asyncio.timeout(context.services.budget.llm_s):
            return await llm.propose(source.request.question, source.passages_with_titles)
    except (errors.ProviderError, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        log.warning("extraction by model failed: %s", reason, extra={"action": "llm_failed"})
        context.degraded.append("llm_failed")
        return Proposal(())


def _chosen_by_model(proposed: Sequence[str], source: _Source) -> list[str]:
    """The model's terms that are stored names of several chunks, the other stored names, and its other terms.

    Nothing if none of the model's terms is among the first five.
    """
    shared = {name.name_key for name in source.names if name.chunks > 1}
    known = [term for term in proposed if names.key(term) in shared]
    mixed = terms.distinct((*known, *_stored_names(source), *proposed))
    return mixed if set(mixed) & set(proposed) else []


def _stored_names(source: _Source) -> list[str]:
    """Stored names of several chunks that the question lacks, those of better chunks and in fewer chunks first."""
    in_question = names.sequences(source.request.question)

    def weight(name: ChunkName) -> float:
        idf = math.log(1 + source.request.corpus_chunks / name.chunks)
        return idf / (1 + source.chunk_ids.index(name.chunk_id))

    shared = [name for name in source.names if name.name_key not in in_question and name.chunks > 1]
    ranked = sorted(shared, key=lambda name: (-weight(name), name.name_key))
    return terms.distinct(name.name for name in ranked)


def _sources(found: Sequence[str], source: _Source) -> dict[str, UUID]:
    """The chunk that contains each term, by default the best one."""
    by_name = {name.name_key: name.chunk_id for name in source.names}
    best = next(iter(source.candidates), None)
    chunk_ids = {term: by_name.get(names.key(term) or "", best) for term in found}
    return {term: chunk_id for term, chunk_id in chunk_ids.items() if chunk_id is not None}
