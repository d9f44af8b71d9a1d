"""Reports each step of a search that a passage passed or did not pass, with its value and the value needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from app.pipelines.why import obstacles
from app.pipelines.why.obstacles import Case, Threshold
from app.pipelines.why.passage_facts import TestedCondition
from app.ranking import rescoring
from app.shapes import Json, LegPlace, StepResult

_ORDERED_BY = {
    "fusion": "Fusion of the legs",
    "entities": "Guidance by entities",
    "rerank": "Re-ranking",
    "mmr": "Diversification",
}
MOST_REPEATED = 20
"""Ids of a filter that are repeated in an explanation; more are only counted."""
_LEGS = {"vector": "by meaning", "text": "by words"}


def of(case: Case) -> list[StepResult]:
    """The steps that the request has, in their order, up to the last that the passage reached."""
    steps = [*_scope(case), *_words(case)]
    if case.facts.is_in_scope:
        steps.append(_candidates(case))
        steps += (_threshold(one) for one in obstacles.thresholds(case))
        steps += _order(case)
    return steps


def _scope(case: Case) -> Iterator[StepResult]:
    yield from (_condition(tested, case.facts.chunk.metadata) for tested in case.facts.conditions)
    if case.trial.request.exclude_chunk_ids:
        excluded = case.facts.is_excluded
        detail = "It is among the chunks to leave out." if excluded else "It is not among the chunks to leave out."
        yield StepResult("exclude_chunk_ids", not excluded, detail, "exclude_chunk_ids")


def _condition(tested: TestedCondition, metadata: Json) -> StepResult:
    condition = tested.condition
    if condition.key is not None:
        field = f"filters.metadata.{condition.key}"
        absent = condition.key not in metadata
        has = (
            f"It has no metadata {shown(condition.key)}"
            if absent
            else f"Its metadata {shown(condition.key)} is {shown(tested.stored)}"
        )
        detail = f"{has}; the filter needs {shown(condition.needed)}."
        return StepResult("filter", tested.passed, detail, field, tested.stored, condition.needed)
    field = obstacles.filter_name(condition.field)
    if condition.field in obstacles.FILTER_NAMES:
        passes = "passes" if tested.passed else "does not pass"
        return StepResult("filter", tested.passed, f"Its document {passes} the group {field}.", field)
    what = {"document_ids": "document", "source_ids": "source"}.get(condition.field, "time of creation")
    has = f"Its {what} is {shown(tested.stored)}; {field} needs"
    if isinstance(condition.needed, datetime):
        needed: Any = condition.needed.isoformat()
    elif len(condition.needed) > MOST_REPEATED:
        return StepResult("filter", tested.passed, f"{has} one of {len(condition.needed)}.", field, tested.stored)
    else:
        needed = [str(one) for one in condition.needed]
    return StepResult("filter", tested.passed, f"{has} {shown(needed)}.", field, tested.stored, needed)


def shown(value: Any) -> str:
    """A value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 100 else f"{text[:99]}…"


def _words(case: Case) -> Iterator[StepResult]:
    lexical, parsed = case.trial.request.lexical, case.trial.recalled.parsed
    if lexical is None:
        return
    for word in parsed.excluded if lexical.excluded else ():
        has = word in case.facts.excluded_words
        detail = f"It {'contains' if has else 'does not contain'} the excluded {shown(word)}."
        yield StepResult("excluded_word", not has, detail, "query", None, word)
    for word in (*parsed.required, *parsed.phrases) if lexical.strict else ():
        lacks = word in case.facts.missing_words
        detail = f"It {'does not contain' if lacks else 'contains'} {shown(word)}, which the text leg requires."
        yield StepResult("required_word", not lacks, detail, "query", None, word)


def _candidates(case: Case) -> StepResult:
    legs = case.facts.legs
    passed = case.candidate is not None or case.hit is not None
    ranks = [leg.rank for leg in legs if leg.rank is not None]
    detail = " ".join(map(leg_sentence, legs))
    if case.candidate is None and passed:
        is_linked = case.facts.chunk.document_id in {
            link.document_id for link in case.trial.ranking.candidates.guidance.links.values()
        }
        by = "its document is linked to an entity of the query" if is_linked else "the candidates had too few documents"
        detail += f" It was added because {by}."
    return StepResult(
        "candidates", passed, detail, "candidates", min(ranks, default=None), case.trial.request.candidates
    )


def leg_sentence(leg: LegPlace) -> str:
    """Where the passage stands in a leg."""
    if leg.rank is None and not leg.words:
        return "It shares no word with the query."
    if leg.rank is None:
        return f"It shares only {', '.join(leg.words or ())} with the query, too frequent to find it by."
    place = f"It is {'' if leg.exact else 'at best '}number {leg.rank} {_LEGS[leg.leg]}"
    if not leg.candidate and leg.rank <= leg.candidates and leg.leg == "vector":
        return f"{place}, but the approximate search of the vector index missed it."
    among = "is" if leg.candidate else "is not"
    return f"{place} and {among} among the {leg.candidates} candidates of the {leg.leg} leg."


def _threshold(one: Threshold) -> StepResult:
    return StepResult(one.name, one.passed, threshold_sentence(one), one.name, one.value, one.least)


def threshold_sentence(one: Threshold) -> str:
    """The value of the passage and the threshold."""
    value = "none" if one.value is None else f"{one.value:.4g}" if isinstance(one.value, float) else one.value
    return f"Its {one.name.removeprefix('min_').replace('_', ' ')} is {value}; {one.name} is {one.least}."


def _order(case: Case) -> Iterator[StepResult]:
    query = case.trial.query
    for step, place in case.places:
        passed = place <= query.limit
        yield StepResult(step, passed, f"{_ORDERED_BY[step]} places it at {place}.", "limit", place, query.limit)
    if query.rerank != "none" and not any(step == "rerank" for step, _ in case.places) and case.places:
        pool = rescoring.pool_size(query.limit)
        detail = f"It was not re-ranked: only the first {pool} are."
        yield StepResult("rerank", False, detail, "rerank", case.places[-1][1], pool)
    found, rank = obstacles.verdict(case), case.rank
    if found in ("below_threshold", "not_a_candidate", "missing_words") or rank is None:
        return
    if query.group_size is not None:
        detail = (
            f"More than {query.group_size + 1} chunks of its document rank above it."
            if found == "grouped_out"
            else f"Its document is result {rank}."
        )
        yield StepResult("group", found != "grouped_out", detail, "group_size", None, query.group_size)
    detail = f"It is result {rank} of an answer of up to {query.limit}."
    yield StepResult("limit", rank <= query.limit, detail, "limit", rank, query.limit)
