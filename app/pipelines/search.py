"""What are the best passages for this query?

Embed the query, recall through both legs, weigh how sure each hit is, and say what was left out on the way.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from app import errors
from app.pipelines import explaining, guiding, pass_one, relaxation, reranking
from app.pipelines.guiding import Led
from app.pipelines.pass_one import Guided
from app.pipelines.remembered import Remembered
from app.providers import base
from app.providers.base import Embedder, Reranker
from app.ranking import confidence, steering
from app.shapes import (
    Answer,
    Candidate,
    Degraded,
    Filters,
    Hit,
    IndexText,
    Lexical,
    ParsedQuery,
    Query,
    Recall,
    Recalled,
    Vector,
)
from app.store import recall
from app.store.db import Database, rereading
from app.text import analysis, cleaning, exactness, lexical

log = logging.getLogger(__name__)

PREVIEW_CHARACTERS = 240
FOLDING, KEEPING = "english", "german"
"""A configuration whose index text has its accents folded, and one that keeps them; all others are like one of them."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long the parts of a search may take, in seconds."""

    embed_s: float = 3.0
    whole_s: float = 10.0
    llm_s: float = 4.0
    rerank_s: float = 2.0


@dataclass(slots=True)
class Course:
    """What happened on the way of one search."""

    timings: dict[str, float] = field(default_factory=dict)
    degraded: list[Degraded] = field(default_factory=list)
    relaxed: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, stage: str) -> Any:
        """Add the block's duration to the stage, in milliseconds."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] = round(self.timings.get(stage, 0.0) + (time.perf_counter() - start) * 1000, 3)


async def run(
    query: Query,
    *,
    db: Database,
    embedder: Embedder,
    budget: Budget | None = None,
    remembered: Remembered | None = None,
    reranker: Reranker | None = None,
) -> Answer:
    """Answer one query; what is remembered of entities may be shared by searches.

    Raises BlankQuery, DatabaseUnavailable, and DeadlineExceeded when `budget.whole_s` is over. A failing embedder or
    re-ranker degrades the answer instead.
    """
    budget = budget or Budget()
    if cleaning.is_blank(query.text):
        raise errors.BlankQuery
    course = Course()
    embedder = base.for_user(embedder, query.user_id)
    try:
        async with asyncio.timeout(budget.whole_s):
            with course.timed("total"):
                retrieved, guided, led = await _search(
                    query, course, db=db, embedder=embedder, budget=budget, remembered=remembered or Remembered()
                )
                means = reranking.Means(db, reranker, budget.rerank_s)
                hits = await _ordered(query, retrieved, led, course, means=means)
                return guiding.told(answered(query, retrieved, course, led, hits), guided, led)
    except TimeoutError as error:
        raise errors.DeadlineExceeded("The search did not finish within its time limit.") from error


@dataclass(frozen=True, slots=True)
class Retrieved:
    """One round of recall: what was understood, asked and found."""

    parsed: ParsedQuery
    plan: steering.Plan
    ask: Recall
    found: Recalled


async def _search(
    query: Query, course: Course, *, db: Database, embedder: Embedder, budget: Budget, remembered: Remembered
) -> tuple[Retrieved, Guided, Led]:
    parsed, plan, ask = await understand(query, course, embedder=embedder, budget=budget)
    guided, led = await _led(query, parsed, ask, course, db=db, remembered=remembered)
    found = led.found
    _note_terms(plan, found, course)
    if not found.candidates and found.scope_chunks:
        ask, found = await _relaxed(ask, parsed, found, course, db=db, embedder=embedder, budget=budget)
    return Retrieved(parsed, replace(plan, weights=ask.weights), ask, found), guided, led


async def _ordered(
    query: Query, retrieved: Retrieved, led: Led, course: Course, *, means: reranking.Means
) -> list[Hit]:
    """The candidates as entities order them, and then as they come when looked at once more, if that is wanted."""
    hits = guiding.ordered(_bare(retrieved), led, query.guidance)
    if not reranking.is_wanted(query):
        return hits
    with course.timed("rerank"):
        ordered = await reranking.hits(hits, query, retrieved.parsed.text, retrieved.ask.vector, means)
    course.degraded += ordered.degraded
    return reranking.applied(hits, ordered)


def _bare(retrieved: Retrieved) -> list[Hit]:
    return [Hit(candidate, "low", ()) for candidate in retrieved.found.candidates]


async def understand(
    query: Query, course: Course, *, embedder: Embedder, budget: Budget
) -> tuple[ParsedQuery, steering.Plan, Recall]:
    """What the query asks for, how its legs are weighed, and what the store is asked."""
    parsed = analysis.parse(query.text)
    plan = steering.choose(query.mode, query.fusion, query.weights, parsed.query_type)
    needed = plan.weights.vector > 0 or query.rerank == "cosine"
    vector = await vector_of(parsed.text, course, embedder=embedder, budget=budget) if needed else None
    return parsed, plan, _ask(query, parsed, plan, vector)


async def retrieve(query: Query, course: Course, *, db: Database, embedder: Embedder, budget: Budget) -> Retrieved:
    """Run both legs, and relax the query where they find nothing."""
    parsed, plan, ask = await understand(query, course, embedder=embedder, budget=budget)
    with course.timed("recall"):
        found = await _recalled(ask, db=db)
    _note_terms(plan, found, course)
    if not found.candidates and found.scope_chunks:
        ask, found = await _relaxed(ask, parsed, found, course, db=db, embedder=embedder, budget=budget)
    return Retrieved(parsed, replace(plan, weights=ask.weights), ask, found)


def _note_terms(plan: steering.Plan, found: Recalled, course: Course) -> None:
    if plan.weights.text > 0 and not found.terms:
        course.degraded.append("no_text_terms")


async def vector_of(text: str, course: Course, *, embedder: Embedder, budget: Budget) -> Vector | None:
    """The query's vector, or None with the reason noted."""
    try:
        with course.timed("embed"):
            async with asyncio.timeout(budget.embed_s):
                vector = await embedder.embed_query(text)
        if not base.is_usable(vector, embedder.model.dimension):
            raise errors.BadEmbedding("The embedding model returned no usable vector.")
        return vector
    except (errors.ProviderError, TimeoutError) as error:
        log.warning("query embedding failed: %s", type(error).__name__, extra={"action": "embedding_failed"})
        course.degraded += ["embedding_failed", "no_query_vector"]
        return None


@rereading
async def _recalled(ask: Recall, *, db: Database) -> Recalled:
    async with db.reading(ask.user_id, candidates=ask.candidates, plain=True) as reading:
        return await recall.hybrid(reading, ask)


@rereading
async def _led(
    query: Query, parsed: ParsedQuery, ask: Recall, course: Course, *, db: Database, remembered: Remembered
) -> tuple[Guided, Led]:
    """What the query is about, and what that leads to, as one transaction sees it."""
    async with db.reading(query.user_id, candidates=query.candidates, plain=True) as reading:
        with course.timed("pass1"):
            guided = await pass_one.run(reading, query, parsed, ask.vector, remembered=remembered)
        with course.timed("recall"):
            led = await guiding.run(reading, ask, guided, query.guidance, limit=query.limit, remembered=remembered)
    return guided, led


@rereading
async def _loosened(
    step: relaxation.Step, ask: Recall, found: Recalled, *, db: Database
) -> tuple[Recall | None, Recalled | None]:
    async with db.reading(ask.user_id, candidates=ask.candidates) as reading:
        looser = await relaxation.loosened(step, ask, found, reading)
        return looser, await recall.hybrid(reading, looser) if looser is not None else None


def _ask(query: Query, parsed: ParsedQuery, plan: steering.Plan, vector: Vector | None) -> Recall:
    return Recall(
        user_id=query.user_id,
        vector=vector,
        lexical=lexical_of(parsed),
        weights=plan.weights,
        fusion=plan.fusion,
        limit=_room(query),
        k=query.k,
        candidates=query.candidates,
        filters=query.filters,
        exclude_chunk_ids=query.exclude_chunk_ids,
        min_vector_score=query.min_vector_score,
        min_rrf_score=query.min_rrf_score,
        with_content=query.detail != "ids"
        or bool(parsed.phrases)
        or parsed.query_type == "technical"
        or reranking.is_wanted(query),
    )


def _room(query: Query) -> int:
    """How many candidates are needed for the hits wanted."""
    if query.min_confidence is not None:
        return 2 * query.candidates
    return reranking.room(query.limit) if reranking.is_wanted(query) else query.limit


def lexical_of(parsed: ParsedQuery) -> Lexical:
    """A parsed query as the text leg reads it."""
    return Lexical(
        words=index_text(parsed.words),
        strict=tuple(index_text(text) for text in (*parsed.required, *parsed.phrases)),
        excluded=tuple(index_text(text) for text in parsed.excluded),
    )


def index_text(text: str) -> IndexText:
    """Text as documents of either kind of configuration were indexed."""
    return IndexText(folded=lexical.index_text(text, FOLDING), plain=lexical.index_text(text, KEEPING))


async def _relaxed(
    ask: Recall,
    parsed: ParsedQuery,
    found: Recalled,
    course: Course,
    *,
    db: Database,
    embedder: Embedder,
    budget: Budget,
) -> tuple[Recall, Recalled]:
    """The first relaxation that brings anything, noted by name; all unchanged where none does."""
    for step in relaxation.STEPS:
        if step.needs_vector and ask.vector is None and "embedding_failed" not in course.degraded:
            ask = replace(ask, vector=await vector_of(parsed.text, course, embedder=embedder, budget=budget))
        with course.timed("relax"):
            looser, more = await _loosened(step, ask, found, db=db)
        if looser is not None and more is not None and more.candidates:
            course.relaxed.append(step.name)
            return looser, more
    return ask, found


def answered(
    query: Query, retrieved: Retrieved, course: Course, led: Led | None = None, ordered: Sequence[Hit] | None = None
) -> Answer:
    """What a search answers, entities having led it or not; the order is the candidates' own unless given."""
    parsed, plan, found = retrieved.parsed, retrieved.plan, retrieved.found
    ordered = _bare(retrieved) if ordered is None else ordered
    hits = list(itertools.islice(_hits(ordered, query, retrieved, led, relaxed=bool(course.relaxed)), query.limit))
    return Answer(
        hits=tuple(hits),
        confidence=hits[0].confidence if hits else None,
        strategies_matched=tuple(dict.fromkeys(name for hit in hits for name in hit.strategies)),
        query_type=parsed.query_type,
        mode=query.mode,
        fusion=plan.fusion,
        search_mode="flat",
        fallback_reason=None if hits else why_empty(query.filters, query.exclude_chunk_ids, found),
        approximate=found.approximate and len(hits) < query.limit,
        degraded=tuple(course.degraded),
        relaxed=tuple(course.relaxed),
        timings=course.timings,
        explain=explaining.query(plan, parsed, found, rerank=query.rerank, mmr=query.mmr) if query.explain else None,
    )


def _hits(
    ordered: Iterable[Hit], query: Query, retrieved: Retrieved, led: Led | None, *, relaxed: bool
) -> Iterator[Hit]:
    """The hits that are sure enough, in their order; what makes them sure is looked for as they are wanted."""
    linked = led.links if led else {}
    for place in ordered:
        about = place.candidate.document_id in linked
        hit = hit_of(place.candidate, query, retrieved, relaxed=relaxed, entity=about)
        if not query.min_confidence or confidence.at_least(hit.confidence, query.min_confidence):
            told = {**hit.explain, **(place.explain or {})} if hit.explain else None
            yield replace(hit, parent=place.parent, lift=place.lift, explain=told)


def hit_of(candidate: Candidate, query: Query, retrieved: Retrieved, *, relaxed: bool, entity: bool = False) -> Hit:
    """A candidate with how sure it is, why, and as much of its text as was asked for."""
    parsed = retrieved.parsed
    reasons = exactness.reasons(parsed, title=candidate.title, content=candidate.content)
    sure = confidence.of(candidate, query_type=parsed.query_type, exact=bool(reasons), relaxed=relaxed, entity=entity)
    legs = [name for name, rank in (("vector", candidate.vector_rank), ("text", candidate.text_rank)) if rank]
    legs += ["entity"] if entity else []
    explain = explaining.hit(candidate, retrieved.plan, query.k) if query.explain else None
    return Hit(_shown(candidate, query), sure, (*legs, *reasons), explain)


def _shown(candidate: Candidate, query: Query) -> Candidate:
    if query.detail == "full":
        return candidate
    return replace(candidate, content="" if query.detail == "ids" else candidate.content[:PREVIEW_CHARACTERS])


def why_empty(filters: Filters, excluded: tuple[object, ...], found: Recalled) -> str:
    """Why an answer holds no hit."""
    if not found.corpus_chunks:
        return "no_documents"
    if not found.scope_chunks or (not (found.vector_found or found.text_found) and (filters or excluded)):
        return "filters_exclude_all"
    return "below_thresholds" if found.vector_found or found.text_found else "nothing_found"
