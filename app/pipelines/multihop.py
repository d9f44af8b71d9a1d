"""Which passages answer a question whose link runs through another document?

Search, read names off the best chunks, search again with them, and order everything against the original question.
Nothing here raises because a later hop failed: the hops that worked answer, and `hops` and `degraded` tell.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from app import errors
from app.pipelines import extraction, search
from app.pipelines.extraction import Extracted, Extractor
from app.pipelines.search import Budget, Course
from app.pipelines.trail import Trail
from app.providers import base
from app.providers.base import Embedder, Llm
from app.ranking import merge, steering
from app.ranking.merge import Hopped, Scored
from app.shapes import Answer, Hit, Hop, ParsedQuery, Query, Recall, Recalled, Weights
from app.store import links, recall
from app.store.db import Database, Reading
from app.text import cleaning, headings, names

log = logging.getLogger(__name__)

Merge = Literal["linked", "classic"]
LEAST = 5
"""Chunks that a hop brings at least (SPEC §5)."""
SOURCES = 5
SOURCE_WEIGHT = 0.5
"""A chunk found by a search leads on with half the weight of a document that the question names."""
LATER_HOP = 0.5
"""What a further hop's signals weigh against those of the hop before."""
STOP_BELOW = 0.5
"""A hop whose best similarity to the question is under this share of hop 1's best ends the search."""


@dataclass(frozen=True, slots=True)
class Question:
    """A search over several hops. `query.limit` is 1 to 20, `max_hops` 2 to 4."""

    query: Query
    max_hops: int = 2
    extractor: Extractor = "auto"
    merge: Merge = "linked"


@dataclass(frozen=True, slots=True)
class Means:
    """What a hop works with."""

    db: Database
    embedder: Embedder
    budget: Budget
    llm: Llm | None
    course: Course


async def run(
    question: Question, *, db: Database, embedder: Embedder, budget: Budget | None = None, llm: Llm | None = None
) -> Answer:
    """Answer one question over several hops.

    Raises BlankQuery, and from hop 1 alone DatabaseUnavailable and DeadlineExceeded.
    """
    if cleaning.is_blank(question.query.text):
        raise errors.BlankQuery
    means = Means(db, base.for_user(embedder, question.query.user_id), budget or Budget(), llm, Course())
    try:
        async with asyncio.timeout(means.budget.whole_s):
            with means.course.timed("total"):
                return await _walk(question, means)
    except TimeoutError as error:
        raise errors.DeadlineExceeded("The search did not finish within its time limit.") from error


async def _walk(question: Question, means: Means) -> Answer:
    query = question.query
    fusion = "rrf" if question.merge == "classic" else query.fusion
    wide = replace(query, limit=query.candidates, fusion=fusion, detail="full", min_confidence=None)
    first = await search.retrieve(wide, means.course, db=means.db, embedder=means.embedder, budget=means.budget)
    relaxed = bool(means.course.relaxed)
    trail = Trail.begun(query.text, first, width=_width(question), relaxed=relaxed)
    if trail.hop_of:
        for number in range(2, question.max_hops + 1):
            if not await _hop(number, question, trail, means):
                break
    return await _answer(question, trail, means)


def _width(question: Question) -> int:
    return max(LEAST, question.query.limit)


async def _hop(number: int, question: Question, trail: Trail, means: Means) -> bool:
    """Go one hop further; False ends the walk. A failure is noted and leaves the trail as it was."""
    found: Extracted | None = None
    try:
        best = _best(question, trail, number)
        found = await extraction.run(
            question.query.text,
            best,
            user_id=question.query.user_id,
            wanted=question.extractor,
            total=int(trail.first.found.corpus_chunks),
            course=means.course,
            db=means.db,
            llm=means.llm,
            llm_s=means.budget.llm_s,
        )
        if not found.terms:
            return False
        trail.extracted[number] = found
        with means.course.timed("hops"):
            fresh = await _brought(number, question, trail, found, best, means)
    except errors.StepwellError as error:
        log.warning("hop %d failed: %s", number, type(error).__name__, extra={"action": "hop2_failed"})
        means.course.degraded.append("hop2_failed")
        trail.hops.append(_told(number, question, found, 0, error=error.code))
        return False
    best_similarity = max((trail.similarity.get(chunk_id, 0.0) for chunk_id in fresh), default=None)
    trail.hops.append(replace(_told(number, question, found, len(fresh)), best_similarity=best_similarity))
    first_best = trail.hops[0].best_similarity
    faded = first_best is not None and (best_similarity or 0.0) < STOP_BELOW * first_best
    return bool(fresh) and not faded


def _told(number: int, question: Question, found: Extracted | None, count: int, error: str | None = None) -> Hop:
    terms = found.terms if found else ()
    asked = " ".join((question.query.text, *terms))
    return Hop(number, asked, count, terms, found.extractor if found else None, error)


def _best(question: Question, trail: Trail, number: int) -> list[UUID]:
    """The chunks that the next hop starts from, best first: hop 1's own order, later the merged one."""
    if number == 2:
        return [c.chunk_id for c in trail.first.found.candidates if c.chunk_id in trail.hop_of]
    return [chunk_id for chunk_id in _ordered(question, trail) if chunk_id in trail.hop_of]


async def _brought(
    number: int, question: Question, trail: Trail, found: Extracted, best: Sequence[UUID], means: Means
) -> list[UUID]:
    """Search with the terms, and under `linked` follow names, in one transaction; returns the chunks that are new."""
    ask, query = await _wider(question, trail, found, means), question.query
    async with means.db.reading(query.user_id, candidates=query.candidates, plain=True) as reading:
        expanded = await recall.hybrid(reading, ask)
        if question.merge == "classic":
            return await _appended(number, question, trail, expanded, reading)
        return await _followed(number, question, trail, expanded, best, reading)


async def _wider(question: Question, trail: Trail, found: Extracted, means: Means) -> Recall:
    """The query with the terms behind it, any of which may match; what hop 1 had to hold is not asked for again.

    Raises ProviderError where hop 1 had a vector and this hop has none.
    """
    query, parsed = question.query, trail.first.parsed
    words = " ".join([parsed.words, *(" ".join(names.words(term)) for term in found.terms)])
    wider = ParsedQuery(text=" ".join((parsed.text, *found.terms)), words=words, excluded=parsed.excluded)
    vector = None
    if trail.first.ask.vector is not None:
        vector = await search.vector_of(wider.text, means.course, embedder=means.embedder, budget=means.budget)
        if vector is None:
            raise errors.ProviderError("The expanded query could not be embedded.")
    classic = question.merge == "classic"
    return Recall(
        user_id=query.user_id,
        vector=vector,
        lexical=search.lexical_of(wider),
        weights=_weights(trail.first.ask),
        fusion="rrf",
        limit=_width(question) if classic else query.candidates,
        k=query.k,
        candidates=query.candidates,
        filters=query.filters,
        exclude_chunk_ids=(*query.exclude_chunk_ids, *(trail.hop_of if classic else ())),
        with_content=classic,
    )


def _weights(ask: Recall) -> Weights:
    """RRF's own weights where hop 1 chose others for a convex sum; a leg that did not run there runs nowhere."""
    both = ask.weights.vector > 0 and ask.weights.text > 0
    return steering.EVEN if both and ask.fusion == "convex" else ask.weights


async def _appended(number: int, question: Question, trail: Trail, expanded: Recalled, db: Reading) -> list[UUID]:
    """Under `classic`, what the expanded query found, none of which was seen before."""
    ids = [candidate.chunk_id for candidate in expanded.candidates]
    near = await links.chunks(db, question.query.user_id, ids, vector=trail.first.ask.vector)
    for candidate in expanded.candidates:
        _read, similarity = near.get(candidate.chunk_id, (candidate, None))
        for known in (trail.rrf, trail.candidates):
            known.pop(candidate.chunk_id, None)
        trail.note(candidate, rrf_score=candidate.rrf_score, similarity=similarity)
    return trail.enter(ids, number)


async def _followed(
    number: int,
    question: Question,
    trail: Trail,
    expanded: Recalled,
    best: Sequence[UUID],
    db: Reading,
) -> list[UUID]:
    """Under `linked`, raise the signals of what the expanded query and the names lead to."""
    query = question.query
    fade = LATER_HOP ** (number - 2)
    sources = [chunk_id for chunk_id in best if chunk_id not in trail.led][:SOURCES]
    led = await links.follow(
        db,
        query.user_id,
        sources={chunk_id: fade * _weight(chunk_id, trail) for chunk_id in sources},
        keys=names.sequences(trail.first.parsed.text),
        headings=headings.asked(trail.first.parsed.text),
        vector=trail.first.ask.vector,
        also={*trail.documents, *(candidate.chunk_id for candidate in expanded.candidates)},
        filters=query.filters,
        exclude_chunk_ids=query.exclude_chunk_ids,
    )
    trail.led.update(sources)
    brought: dict[UUID, None] = {}
    for place, candidate in enumerate(expanded.candidates):
        trail.raise_signal(candidate.chunk_id, "expanded", fade * candidate.score)
        if place < _width(question):
            brought[candidate.chunk_id] = None
    for chunk in led:
        if trail.take(chunk):
            brought[chunk.chunk_id] = None
    front = merge.ordered(trail.sums(), trail.hop_of)[: merge.FRONT]
    trail.held |= await links.held(db, query.user_id, front, trail.idf)
    return trail.enter(brought, number)


def _weight(chunk_id: UUID, trail: Trail) -> float:
    """How much a chunk leads on: its RRF score in hop 1, scaled to 0–1, or for a later one what the merge says."""
    ask = trail.first.ask
    if chunk_id in trail.rrf:
        return SOURCE_WEIGHT * trail.rrf[chunk_id] * (ask.k + 1) / (ask.weights.vector + ask.weights.text)
    return SOURCE_WEIGHT * min(1.0, merge.linked(trail.signals[chunk_id]).score / merge.BEST_SUM)


def _ordered(question: Question, trail: Trail) -> list[UUID]:
    return merge.ordered(_scores(question, trail), trail.hop_of)


def _scores(question: Question, trail: Trail) -> Mapping[UUID, Scored]:
    """Every chunk's combined score; where no further hop worked, hop 1's own."""
    if trail.stayed:
        chunks = (trail.candidates[chunk_id] for chunk_id in trail.hop_of)
        return {chunk.chunk_id: Scored(chunk.score, {"fused": chunk.score}) for chunk in chunks}
    if question.merge == "classic":
        return merge.classic(
            Hopped(chunk_id, trail.documents[chunk_id], hop, trail.rrf[chunk_id])
            for chunk_id, hop in trail.hop_of.items()
        )
    return merge.covering(trail.sums(), trail.held, trail.idf, trail.hop_of)


async def _answer(question: Question, trail: Trail, means: Means) -> Answer:
    """The merged chunks with what they say, cut to the limit."""
    query, first = question.query, trail.first
    hits = await _hits(question, trail, means)
    return replace(
        search.answered(query, first, means.course),
        hits=tuple(hits),
        confidence=hits[0].confidence if hits else None,
        strategies_matched=tuple(dict.fromkeys(name for hit in hits for name in hit.strategies)),
        search_mode="multihop",
        approximate=first.found.approximate and len(hits) < query.limit,
        degraded=tuple(dict.fromkeys(means.course.degraded)),
        hops=tuple(trail.hops),
        total_results=sum(hop.result_count for hop in trail.hops),
    )


async def _hits(question: Question, trail: Trail, means: Means) -> list[Hit]:
    if not trail.hop_of:
        return []
    scores = _scores(question, trail)
    order = merge.ordered(scores, trail.hop_of)
    wanted = order[: 2 * question.query.limit if trail.first.parsed.excluded else question.query.limit]
    await _read(wanted, trail, means, question.query)
    hits = [_hit(chunk_id, question, trail, scores[chunk_id]) for chunk_id in wanted if chunk_id in trail.candidates]
    return [hit for hit in hits if not _is_barred(hit, trail)][: question.query.limit]


async def _read(wanted: Sequence[UUID], trail: Trail, means: Means, query: Query) -> None:
    """Fetch the chunks to which only names led."""
    missing = [chunk_id for chunk_id in wanted if chunk_id not in trail.candidates]
    if not missing:
        return
    async with means.db.reading(query.user_id, plain=True) as reading:
        read = await links.chunks(reading, query.user_id, missing, vector=None)
    trail.candidates |= {chunk_id: candidate for chunk_id, (candidate, _similarity) in read.items()}


def _hit(chunk_id: UUID, question: Question, trail: Trail, scored: Scored) -> Hit:
    candidate = replace(trail.candidates[chunk_id], score=min(1.0, scored.score / _best_possible(question, trail)))
    hit = search.hit_of(candidate, question.query, trail.first, relaxed=trail.relaxed)
    hop = trail.hop_of.get(chunk_id, 1)
    signals = trail.signals.get(chunk_id, {})
    ways = tuple(name for name in ("linked", "shared", "named", "expanded") if signals.get(name))
    via = trail.way_to(chunk_id)
    explain = None
    if hit.explain is not None:
        under = {"heading": via.name} if via and via.heading else {}
        explain = {**hit.explain, "signals": dict(signals), "parts": dict(scored.parts), **under}
    return replace(
        hit,
        strategies=tuple(dict.fromkeys((*hit.strategies, *ways))),
        hop=hop,
        combined_score=scored.score,
        via=via,
        explain=explain,
    )


def _best_possible(question: Question, trail: Trail) -> float:
    """The combined score of a chunk that is first in everything."""
    if trail.stayed:
        return 1.0
    if question.merge == "linked":
        return merge.BEST_LINKED
    ask = trail.first.ask
    return merge.best_classic((ask.weights.vector + ask.weights.text) / (ask.k + 1))


def _is_barred(hit: Hit, trail: Trail) -> bool:
    """Whether a chunk to which names led holds what the query excludes."""
    excluded = trail.first.parsed.excluded
    if not excluded or hit.hop == 1:
        return False
    held = names.sequences(f"{hit.candidate.title}\n{trail.candidates[hit.candidate.chunk_id].content}")
    return any(" ".join(names.words(text)) in held for text in excluded)
