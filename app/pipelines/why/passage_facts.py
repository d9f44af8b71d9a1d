"""Reads what a search knows of one passage: the conditions that it meets, its candidates' places and exact ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.pipelines.running.context import SearchContext
from app.pipelines.why.trials import Trial
from app.shapes import Candidate, Filters, HybridRequest, IndexText, LegPlace, LexicalQuery, SearchLeg, Term, Weights
from app.store.connection.transactions import Reading, retry_read
from app.store.documents import chunks
from app.store.filters import filters
from app.store.filters.filters import NamedCondition
from app.store.search import passages, recall
from app.store.search.passages import LegRanks, TestedConditions
from app.text.queries import grammar


@dataclass(frozen=True, slots=True)
class TestedCondition:
    """A condition of the filters, whether the document of the passage meets it, and the value that is stored."""

    condition: NamedCondition
    passed: bool
    stored: Any


@dataclass(frozen=True, slots=True)
class PassageFacts:
    """What a search knows of one chunk.

    `excluded_words` are those that it contains, `missing_words` required words and phrases that it does not contain.
    """

    chunk: Candidate
    conditions: tuple[TestedCondition, ...]
    is_excluded: bool
    excluded_words: tuple[str, ...]
    missing_words: tuple[str, ...]
    legs: tuple[LegPlace, ...]

    @property
    def failed(self) -> list[TestedCondition]:
        """The conditions that the document does not meet."""
        return [each for each in self.conditions if not each.passed]

    @property
    def is_in_scope(self) -> bool:
        """Whether neither filters nor exclusions leave the chunk out of the legs."""
        return not (self.failed or self.is_excluded or self.excluded_words)

    @property
    def chunk_id(self) -> UUID:
        """The id of the chunk."""
        return self.chunk.chunk_id


@retry_read
async def read(trial: Trial, chunk_ids: Sequence[UUID], context: SearchContext) -> PassageFacts | None:
    """The facts of the best placed of a document's chunks; None if they are no longer stored."""
    request = trial.request
    with context.timed("standing"):
        async with context.services.db.searching(request.user_id, candidates=request.candidates) as db:
            placed = trial.first_of(set(chunk_ids))
            chosen = placed or await _best_of_document(db, request, chunk_ids)
            stored = (await chunks.by_id(db, [chosen], vector=request.vector)).get(chosen)
            if stored is None:
                return None
            chunk = replace(stored[0], cosine=stored[1])
            parsed, lexical = trial.recalled.parsed, request.lexical or LexicalQuery(IndexText("", ""))
            conditions = await _conditions(db, request, chunk)
            strict = (*parsed.required, *parsed.phrases)
            contains = await passages.contained(db, chosen, (*lexical.strict, *lexical.excluded))
            required, excluded = contains[: len(lexical.strict)], contains[len(lexical.strict) :]
            groups = [written for written, is_met in await _groups(db, trial, chosen) if not is_met]
            facts = PassageFacts(
                chunk=chunk,
                conditions=conditions,
                is_excluded=chosen in request.exclude_chunk_ids,
                excluded_words=_where(parsed.excluded, excluded, True),
                missing_words=(*_where(strict, required, False), *groups),
                legs=(),
            )
            return replace(facts, legs=await _legs(db, trial, facts))


async def _groups(db: Reading, trial: Trial, chunk_id: UUID) -> list[tuple[str, bool]]:
    """Each condition of an expression that was not dropped, as it is written, and whether the chunk meets it."""
    lexical, found = trial.request.lexical, []
    for group in lexical.groups if lexical else ():
        alone = LexicalQuery(IndexText("", ""), groups=(group,))
        found.append((grammar.written(group), not await recall.failing_conditions(db, [chunk_id], alone)))
    return found


def _where(words: Sequence[str], contains: Sequence[bool | None], wanted: bool) -> tuple[str, ...]:
    """The words of which the chunk contains, or does not contain, each; none after a relaxation that drops them."""
    return tuple(word for word, found in zip(words, contains, strict=False) if found is wanted)


async def _best_of_document(db: Reading, request: HybridRequest, chunk_ids: Sequence[UUID]) -> UUID:
    """The chunk that the request ranks first in its document, if possible one that is not excluded."""
    if len(chunk_ids) == 1:
        return chunk_ids[0]
    excluded = set(request.exclude_chunk_ids).intersection(chunk_ids)
    if request.lexical:
        excluded |= await recall.failing_conditions(db, chunk_ids, request.lexical)
    left = [one for one in chunk_ids if one not in excluded] or list(chunk_ids)
    first = (await chunks.by_id(db, left[:1], vector=None)).get(left[0])
    if first is None:
        return left[0]
    result = await recall.hybrid(
        db, _within(request, first[0].document_id, excluded if len(left) < len(chunk_ids) else set())
    )
    return next((one.chunk_id for one in result.candidates), left[0])


def _within(request: HybridRequest, document_id: UUID, excluded: set[UUID]) -> HybridRequest:
    """The request for the best chunk of one document."""
    lexical = request.lexical
    return replace(
        request,
        lexical=lexical and replace(lexical, strict=(), excluded=()),
        limit=1,
        filters=Filters(document_ids=(document_id,)),
        exclude_chunk_ids=tuple(excluded),
        min_vector_score=None,
        min_rrf_score=None,
        with_content=False,
    )


async def _conditions(db: Reading, request: HybridRequest, chunk: Candidate) -> tuple[TestedCondition, ...]:
    named = list(filters.named_conditions(request.filters))
    tested = await passages.conditions(db, chunk.document_id, named) if named else None
    if tested is None:
        return ()
    return tuple(
        TestedCondition(condition, passed, _stored(condition, chunk, tested))
        for condition, passed in zip(named, tested.passed, strict=True)
    )


def _stored(condition: NamedCondition, chunk: Candidate, tested: TestedConditions) -> Any:
    """The value of a document that a condition is about; None for a group."""
    if condition.key is not None:
        return chunk.metadata.get(condition.key)
    by_field = {
        "document_ids": str(chunk.document_id),
        "source_ids": chunk.source_id and str(chunk.source_id),
        "uri_prefix": chunk.uri,
        "folder": chunk.uri,
        "file_types": chunk.uri,
        "source_names": chunk.source_id and str(chunk.source_id),
        "created_after": tested.created_at.isoformat(),
        "created_before": tested.created_at.isoformat(),
    }
    return by_field.get(condition.field)


async def _legs(db: Reading, trial: Trial, facts: PassageFacts) -> tuple[LegPlace, ...]:
    """The place in each leg that ran; ranks beyond the candidates are those without what leaves the chunk out."""
    request = trial.request
    candidate = next((one for one in trial.legs.candidates if one.chunk_id == facts.chunk_id), None)
    running: list[SearchLeg] = [leg for leg in ("vector", "text") if leg in recall.needed_parts(request)]
    known = {leg for leg in running if candidate and getattr(candidate, f"{leg}_rank") is not None}
    words: frozenset[str] = frozenset()
    if "text" in running:
        lexemes = [lexeme for term in trial.legs.terms for lexeme in term.parts]
        by_id = await chunks.matching_lexemes(db, [facts.chunk_id], lexemes)
        words = by_id.get(facts.chunk_id, words)
    unknown = [leg for leg in running if leg not in known and (leg == "vector" or words)]
    found = (
        await passages.leg_ranks(db, _in_legs(_in_scope(request, facts), unknown), facts.chunk_id) if unknown else None
    )
    return tuple(
        _leg(leg, trial, candidate if leg in known else found if leg in unknown else None, words) for leg in running
    )


def _in_legs(request: HybridRequest, legs: Sequence[SearchLeg]) -> HybridRequest:
    """The request with these legs only."""
    weights = request.weights
    return replace(
        request,
        weights=Weights(weights.vector if "vector" in legs else 0.0, weights.text if "text" in legs else 0.0),
    )


def _in_scope(request: HybridRequest, facts: PassageFacts) -> HybridRequest:
    """The request without the filters, exclusions and required words that leave the chunk out."""
    lexical = request.lexical
    if lexical and facts.excluded_words:
        lexical = replace(lexical, excluded=())
    if lexical and facts.missing_words:
        lexical = replace(lexical, strict=(), groups=())
    return replace(
        request,
        lexical=lexical,
        filters=filters_without(request.filters, [each.condition for each in facts.failed]),
        exclude_chunk_ids=tuple(one for one in request.exclude_chunk_ids if one != facts.chunk_id),
    )


def filters_without(given: Filters, conditions: Sequence[NamedCondition]) -> Filters:
    """The filters without some of their conditions."""
    keys = {condition.key for condition in conditions if condition.key is not None}
    metadata = {key: value for key, value in (given.metadata or {}).items() if key not in keys} or None
    left_out: dict[str, Any] = {condition.field: None for condition in conditions if condition.key is None}
    return replace(given, metadata=metadata, **left_out)


def _synonyms(terms: Sequence[Term]) -> set[str]:
    """The lexemes that only synonyms of the query's words have."""
    own = {term.lexeme for term in terms if not term.is_synonym}
    return {lexeme for term in terms if term.is_synonym for lexeme in term.parts} - own


def _leg(leg: SearchLeg, trial: Trial, source: Candidate | LegRanks | None, words: frozenset[str]) -> LegPlace:
    count = trial.legs.vector_found if leg == "vector" else trial.legs.text_found
    scores = [score for one in trial.legs.candidates if (score := getattr(one, f"{leg}_score")) is not None]
    return LegPlace(
        leg=leg,
        candidate=isinstance(source, Candidate),
        rank=getattr(source, f"{leg}_rank", None),
        candidates=count,
        score=getattr(source, f"{leg}_score", None),
        entry_score=min(scores, default=None) if count >= trial.request.candidates else None,
        exact=leg == "text" or not isinstance(source, LegRanks) or source.exact,
        words=tuple(sorted(words)) if leg == "text" else None,
        synonyms=tuple(sorted(words & _synonyms(trial.legs.terms))) if leg == "text" else None,
    )
