"""Explains where a passage ranks in a search, what keeps it out of the answer, and what brings it in.

The search is run unchanged. If filters, exclusions or conditions leave the passage out, it is run once more without
them, so that the passage is a candidate. Everything else is read from this run.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from uuid import UUID

from app import errors, limits
from app.concurrency.limiter import UNLIMITED, Released
from app.database import filters
from app.database.filter_types import Filters
from app.database.transactions import Reading, retry_read
from app.documents.store import chunk_reads, selections
from app.enums import Vector
from app.query import model_replacement
from app.query.search_request import SearchRequest
from app.query.search_types import Answer, Candidate, Hit, HybridRequest, LexicalQuery
from app.relevance import relevance
from app.search import answer_completion, result_pages, search, state
from app.search.state import SearchContext, SearchState
from app.search.steps.why.api_models import (
    KeptOutBy,
    LegPlace,
    OrderingStep,
    Placement,
    SearchLeg,
    StepPlace,
    WhyRequest,
)
from app.search.store import hybrid_search
from app.services import Services
from app.text import uris
from app.text.queries import parsed_query
from app.text.queries.parsed_query import EMPTY

Change = Mapping[str, Any]

_WITHOUT: Mapping[OrderingStep, Change] = {
    "guidance": {"ranking.guidance.mode": "off", "ranking.guidance.boost": False},
    "rerank": {"ranking.rerank": "none"},
    "recency": {"ranking.recency": None},
    "mmr": {"ranking.mmr": False},
}
_NAMES_OF_GROUPS = {"any_of": "any", "all_of": "all", "negated": "not"}


LATER_STEPS: tuple[OrderingStep, ...] = ("rerank", "recency", "mmr")
"""The steps after guidance that order hits, in order. Each has an entry in the `explain` of a hit."""


@dataclass(frozen=True, slots=True)
class SearchRun:
    """A search before and after its final order, and the results of all its pages.

    `widest` has what its legs find with the most candidates.
    """

    found: SearchState
    ordered: SearchState
    results: Sequence[Hit]
    widest: Sequence[Candidate]

    @property
    def query(self) -> SearchRequest:
        """The request of the search."""
        return self.found.query

    @property
    def request(self) -> HybridRequest:
        """The request of the hybrid statement, after relaxation."""
        return self.found.request

    def first_of(self, chunk_ids: Container[UUID]) -> UUID | None:
        """The best placed of these chunks: in the results, else in the final order, else in the legs."""
        shown = (hit for result in self.results for hit in (result, *result.more))
        ordered = (hit.candidate for hit in itertools.chain(shown, self.ordered.hits))
        every = itertools.chain(ordered, self.widest)
        return next((one.chunk_id for one in every if one.chunk_id in chunk_ids), None)


@dataclass(frozen=True, slots=True)
class PlacedPassage:
    """A chunk, and its places in a search."""

    run: SearchRun
    chunk: Candidate

    @property
    def rank(self) -> int | None:
        """Its place in the results, from 1. A chunk in the `more` of a result has the place of the result."""
        ids = ([hit.candidate.chunk_id for hit in (result, *result.more)] for result in self.run.results)
        return next((number for number, some in enumerate(ids, 1) if self.chunk.chunk_id in some), None)

    @property
    def hit(self) -> Hit | None:
        """The chunk as a hit in the final order, before minimums, duplicates and groups."""
        return next((hit for hit in self.run.ordered.hits if hit.candidate.chunk_id == self.chunk.chunk_id), None)

    @property
    def place(self) -> int | None:
        """Its place in the final order, before minimums, duplicates and groups, or else in the widest legs."""
        return self._place_of_hit(self.run.ordered.hits) or self._place(self.run.widest)

    def longer(self, place: int | None) -> dict[str, Any]:
        """The larger `limit` that includes a place. Empty if none is needed or allowed."""
        return {"limit": place} if place and self.run.query.limit < place <= limits.MAX_HITS else {}

    def legs(self) -> dict[SearchLeg, LegPlace]:
        """Its place in each leg that ran."""
        one = next((one for one in self.run.widest if one.chunk_id == self.chunk.chunk_id), None)
        weights = self.run.found.result.weights
        found: dict[SearchLeg, LegPlace] = {}
        if weights.vector > 0:
            found["vector"] = self._leg(one.vector_rank if one else None, self.chunk.cosine)
        if weights.text > 0:
            found["text"] = self._leg(one.text_rank if one else None, one.text_score if one else None)
        return found

    def _leg(self, rank: int | None, score: float | None) -> LegPlace:
        is_candidate = rank is not None and rank <= self.run.request.candidates
        return LegPlace(rank=rank, score=None if score is None else round(score, 4), is_candidate=is_candidate)

    def steps(self) -> Iterator[StepPlace]:
        """Its places before and after each step that ordered the hits; none if it is not among these hits."""
        hit, search = self.hit, self.run.found
        if hit is None:
            return
        if any(one.guidance or one.boost for one in search.hits):
            fused, guided = self._place(search.result.candidates), self._place_of_hit(search.hits)
            yield StepPlace(step="guidance", rank_before=fused or 0, rank_after=guided or 0)
        details = hit.explain or {}
        taken = [step for step in LATER_STEPS if step in details]
        before = [details[step]["place_before"] for step in taken]
        after = [*before[1:], self._place_of_hit(self.run.ordered.hits)]
        for step, rank_before, rank_after in zip(taken, before, after, strict=False):
            yield StepPlace(step=step, rank_before=rank_before, rank_after=rank_after)

    def _place_of_hit(self, hits: Iterable[Hit]) -> int | None:
        return self._place(hit.candidate for hit in hits)

    def _place(self, candidates: Iterable[Candidate]) -> int | None:
        ids = (one.chunk_id for one in candidates)
        return next((number for number, chunk_id in enumerate(ids, 1) if chunk_id == self.chunk.chunk_id), None)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps a passage out, the reason, and the change of the request that removes it; None if no change does."""

    code: KeptOutBy
    reason: str
    change: Change | None


async def run(
    query: WhyRequest, user_id: str, services: Services, turn: Released = UNLIMITED
) -> tuple[Placement, Mapping[str, float]]:
    """Explain the passage in a search, and return the timings. For a document, explain its best placed chunk.

    Raises NotFound if the passage is not stored, BadRequest for a cursor, and what the search raises.
    """
    return await model_replacement.run(services.embedder, services.db, lambda: _locate(query, user_id, services, turn))


async def _locate(
    query: WhyRequest, user_id: str, services: Services, turn: Released
) -> tuple[Placement, Mapping[str, float]]:
    search.check(query)
    if query.cursor is not None:
        raise errors.BadRequest("The explanation is about all pages: leave cursor out.", field="cursor")
    context = SearchContext(services, user_id, turn)
    with context.timed("total"):
        chunk_ids = await _find(query, context)
        answer = await search.run(query, user_id, services, turn) if query.depth != "fast" else None
        one_search = query.completed(mode="auto")
        if answer is None or answer.depth == "fast":
            return await _explain(one_search, chunk_ids, context), context.timings
        return await _explain_hops(answer, one_search, chunk_ids, context), context.timings


@retry_read
async def _find(query: WhyRequest, context: SearchContext) -> list[UUID]:
    """The chunks of the passage. Raises NotFound."""
    async with context.services.db.searching(context.user_id) as db:
        identity = None if query.uri is None else uris.identity(query.uri)
        found = await chunk_reads.ids(db, chunk_id=query.chunk_id, document_id=query.document_id, identity=identity)
    if not found:
        raise errors.NotFound("No such passage.")
    return found


async def _explain_hops(
    answer: Answer, query: SearchRequest, chunk_ids: Sequence[UUID], context: SearchContext
) -> Placement:
    """Explains a passage in an answer over several hops."""
    for rank, result in enumerate(answer.hits, 1):
        for hit in (result, *result.more):
            if hit.candidate.chunk_id in chunk_ids:
                placed = await _explain(query, [hit.candidate.chunk_id], context)
                reason = f"Hop {hit.hop} found it: it is number {rank}."
                found = {"found": True, "rank": rank, "kept_out_by": None, "change": None, "reason": reason}
                return placed.model_copy(update=found)
    placed = await _explain(query, chunk_ids, context)
    single: Change = {"depth": "fast", **({} if query.ranking.hops is None else {"ranking.hops": None})}
    if not placed.found:
        return placed.model_copy(update={"change": {**single, **(placed.change or {})}})
    reason = f"One search returns it as number {placed.rank}, but the search over several hops does not."
    return placed.model_copy(update={"found": False, "kept_out_by": "hops", "reason": reason, "change": single})


async def _explain(query: SearchRequest, chunk_ids: Sequence[UUID], context: SearchContext) -> Placement:
    """Explains the best placed of these chunks in one search."""
    run = await _search(query, context)
    chunk_ids, obstacles, in_scope = await _read_scope(run, chunk_ids, context)
    can_enter = all(one.change for one in obstacles)
    if obstacles and can_enter:
        run = await _search(in_scope, context)
    passage = await _place(run, chunk_ids, context)
    if can_enter and (further := _find_obstacle(passage)):
        obstacles.append(further)
    first = obstacles[0] if obstacles else None
    return Placement(
        found=first is None,
        rank=passage.rank,
        kept_out_by=first.code if first else None,
        reason=first.reason if first else f"It is number {passage.rank}.",
        change={field: value for one in obstacles for field, value in (one.change or {}).items()} or None,
        legs=passage.legs(),
        steps=list(passage.steps()),
        chunk_id=passage.chunk.chunk_id,
        document_id=passage.chunk.document_id,
        title=passage.chunk.title,
        uri=passage.chunk.uri,
    )


@retry_read
async def _read_scope(
    run: SearchRun, chunk_ids: Sequence[UUID], context: SearchContext
) -> tuple[Sequence[UUID], list[Obstacle], SearchRequest]:
    """The chunks in scope, or all if none is; what leaves them out; and the query without these conditions."""
    query, excluded = run.query, run.request.exclude_chunk_ids
    passed, obstacles = list[Filters](), list[Obstacle]()
    async with context.services.db.searching(context.user_id) as db:
        alone = Filters(document_ids=((await _read(db, chunk_ids[0])).document_id,))
        for path, condition in _conditions(query.filters):
            if await selections.page(db, filters.both(alone, condition), after=None, limit=1):
                passed.append(condition)
            else:
                obstacles.append(Obstacle("filters", f"{path} leaves it out.", {path: None}))
        query = query.changed(filters=Filters(all_of=tuple(passed)) if passed else Filters())
        left = [one for one in chunk_ids if one not in excluded]
        if not left:
            left, others = list(chunk_ids), [one for one in excluded if one not in chunk_ids]
            obstacles.append(Obstacle("exclude_chunk_ids", "Its id is excluded.", {"exclude_chunk_ids": others}))
            query = query.changed(exclude_chunk_ids=others)
        failing = await hybrid_search.find_failing(db, left, run.request.lexical or LexicalQuery(EMPTY))
        if not failing.issuperset(left):
            return [one for one in left if one not in failing], obstacles, query
        words = run.found.parsed.words
        reason = await _failing_condition(db, run, left[0])
        obstacles.append(Obstacle("query", reason, {"query": words} if words else None))
        return left, obstacles, query.changed(query=words)


def _conditions(given: Filters) -> Iterator[tuple[str, Filters]]:
    """The single conditions of filters, each with its path in the request. A group is one condition."""
    for key, value in (given.metadata or {}).items():
        yield f"filters.metadata.{key}", Filters(metadata={key: value})
    for field in fields(given):
        value = getattr(given, field.name)
        if value is not None and field.name != "metadata":
            yield f"filters.{_NAMES_OF_GROUPS.get(field.name, field.name)}", Filters(**{field.name: value})


async def _failing_condition(db: Reading, run: SearchRun, chunk_id: UUID) -> str:
    """Names the first condition of the query that the chunk does not meet."""
    lexical, parsed = run.request.lexical or LexicalQuery(EMPTY), run.found.parsed
    required = zip((*parsed.required, *parsed.phrases), lexical.strict, strict=False)
    excluded = zip(parsed.excluded, lexical.excluded, strict=False)
    named = [(f'It lacks "{word}".', LexicalQuery(EMPTY, strict=(text,))) for word, text in required]
    named += [(f'It contains "{word}".', LexicalQuery(EMPTY, excluded=(text,))) for word, text in excluded]
    named += [(f"It fails {parsed_query.write(one)}.", LexicalQuery(EMPTY, groups=(one,))) for one in lexical.groups]
    failing = [reason for reason, condition in named if await hybrid_search.find_failing(db, [chunk_id], condition)]
    return next(iter(failing), "It does not meet the conditions of the query.")


async def _read(db: Reading, chunk_id: UUID, vector: Vector | None = None) -> Candidate:
    """A chunk with its cosine to the vector. Raises NotFound if the chunk has been deleted."""
    stored = (await chunk_reads.by_id(db, [chunk_id], vector=vector)).get(chunk_id)
    if stored is None:
        raise errors.NotFound("No such passage.")
    return stored[0]._replace(cosine=stored[1])


@retry_read
async def _place(run: SearchRun, chunk_ids: Sequence[UUID], context: SearchContext) -> PlacedPassage:
    """The best placed of these chunks of a document; the first chunk if none has a place."""
    async with context.services.db.searching(context.user_id) as db:
        return PlacedPassage(run, await _read(db, run.first_of(set(chunk_ids)) or chunk_ids[0], run.request.vector))


def _find_obstacle(passage: PlacedPassage) -> Obstacle | None:
    """What keeps out a passage that is in scope; None if it is in the answer."""
    rank, is_candidate = passage.rank, any(leg.is_candidate for leg in passage.legs().values())
    if not (is_candidate or passage.hit):
        return _not_a_candidate(passage)
    if rank is None:
        beyond = Obstacle("limit", f"It is beyond the {limits.MAX_RESULTS:,} results of all pages.", None)
        return _repeats(passage) or _below_minimum(passage) or _grouped_out(passage) or beyond
    return _beyond(passage, rank) if rank > passage.run.query.limit else None


def _not_a_candidate(passage: PlacedPassage) -> Obstacle:
    """The obstacle of a passage that no leg has among its candidates.

    More candidates remove it if the most candidates include the passage. Otherwise a lexical search may become `auto`.
    """
    query, place = passage.run.query, passage.place
    reason = f"No leg has it among its {passage.run.request.candidates} candidates."
    if place is None:
        return Obstacle("candidates", reason, {"mode": "auto"} if query.mode == "lexical" else None)
    return Obstacle("candidates", reason, {"ranking.candidates": limits.MAX_CANDIDATES, **passage.longer(place)})


def _beyond(passage: PlacedPassage, rank: int) -> Obstacle:
    """The last step that moved the passage beyond the limit; if no step did, the limit itself."""
    for one in reversed(list(passage.steps())):
        if one.rank_before <= passage.run.query.limit < one.rank_after:
            reason = f"The step {one.step} moves it from number {one.rank_before} to {one.rank_after}."
            return Obstacle(one.step, reason, _WITHOUT[one.step])
    return Obstacle("limit", f"It is number {rank}, beyond the limit.", passage.longer(rank) or None)


def _repeats(passage: PlacedPassage) -> Obstacle | None:
    """The result that the passage repeats, if duplicates are collapsed."""
    for rank, result in enumerate(passage.run.results, 1):
        if any(one.chunk_id == passage.chunk.chunk_id for hit in (result, *result.more) for one in hit.duplicates):
            reason = f'It repeats number {rank}, "{result.candidate.title}".'
            return Obstacle("collapse", reason, {"collapse": "off", **passage.longer(passage.place)})
    return None


def _below_minimum(passage: PlacedPassage) -> Obstacle | None:
    """The first minimum that a candidate does not reach."""
    given, hit = passage.run.query.ranking, passage.hit
    if hit is None:
        leg, least = passage.legs().get("vector"), given.min_vector_score
        score = leg.score if leg else None
        if least is not None and (score is None or score < least):
            return _below(passage, "min_vector_score", "min_rrf_score")
        return None if given.min_rrf_score is None else _below(passage, "min_rrf_score")
    (whole,) = answer_completion.complete([hit], passage.run.found)
    if given.min_confidence is not None and not relevance.is_at_least(whole.confidence, given.min_confidence):
        return _below(passage, "min_confidence", "min_relevance")
    is_less = given.min_relevance is not None and (whole.relevance or 0.0) < given.min_relevance
    return _below(passage, "min_relevance") if is_less else None


def _below(passage: PlacedPassage, code: KeptOutBy, *others: KeptOutBy) -> Obstacle:
    """The obstacle of a minimum. The change drops it and `others`, which the passage may not reach either."""
    given = passage.run.query.ranking
    change = {f"ranking.{name}": None for name in (code, *others) if getattr(given, name) is not None}
    reason = f"It is below ranking.{code}, which is {getattr(given, code)}."
    return Obstacle(code, reason, {**change, **passage.longer(passage.place)})


def _grouped_out(passage: PlacedPassage) -> Obstacle | None:
    """The obstacle of grouped results: the result of the passage's document has no room for the passage."""
    size = passage.run.query.group_size
    if size is None or passage.hit is None:
        return None
    reason = f"The result of its document has {size + 1} better passages."
    return Obstacle("group", reason, {"ranking.group": None, **passage.longer(passage.place)})


async def _search(query: SearchRequest, context: SearchContext) -> SearchRun:
    """Run the search. Raises what `search.run` raises."""
    page = result_pages.request_of(query, context)
    context.moment = page.moment
    found = await search.candidates(query, context, ahead=1, keep_all=True)
    ordered = await state.run_steps("order", found)
    every = replace(page, is_whole=True)
    results = (await result_pages.of_search(ordered, every)).hits
    return SearchRun(found, ordered, results, await _widest(found.request, context))


@retry_read
async def _widest(request: HybridRequest, context: SearchContext) -> Sequence[Candidate]:
    """What the legs find with the most candidates and without minimum scores, in the order of the fusion."""
    most = limits.MAX_CANDIDATES
    widest = replace(request, candidates=most, limit=2 * most, min_vector_score=None, min_rrf_score=None)
    async with context.services.db.searching(context.user_id, candidates=most) as reading:
        return (await hybrid_search.hybrid(reading, replace(widest, with_content=False))).candidates
