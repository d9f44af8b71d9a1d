"""Reports each step of a search that a passage passed or did not pass, with its value and the value needed."""

from __future__ import annotations

from collections.abc import Iterator

from app.pipelines.why import obstacles
from app.pipelines.why.obstacles import Case
from app.pipelines.why.passage_facts import TestedCondition
from app.ranking import rescoring
from app.shapes import FilterPart, StepResult
from app.text.queries import grammar


def of(case: Case) -> list[StepResult]:
    """The steps that the request has, in their order, up to the last that the passage reached."""
    steps = [*_scope(case), *_words(case)]
    if case.facts.is_in_scope:
        steps.append(_candidates(case))
        steps += (StepResult(one.name, one.passed, one.value, one.least) for one in obstacles.thresholds(case))
        steps += _order(case)
    return steps


def _scope(case: Case) -> Iterator[StepResult]:
    yield from map(_condition, case.facts.conditions)
    if case.trial.request.exclude_chunk_ids:
        yield StepResult("exclude_chunk_ids", not case.facts.is_excluded)


def _condition(tested: TestedCondition) -> StepResult:
    part = FilterPart(tested.condition.field, tested.condition.key)
    return StepResult("filter", tested.passed, tested.stored, tested.condition.needed, part)


def _words(case: Case) -> Iterator[StepResult]:
    lexical, parsed = case.trial.request.lexical, case.trial.recalled.parsed
    if lexical is None:
        return
    for word in parsed.excluded if lexical.excluded else ():
        yield StepResult("excluded_word", word not in case.facts.excluded_words, needed=word)
    for word in (*parsed.required, *parsed.phrases) if lexical.strict else ():
        yield StepResult("required_word", word not in case.facts.missing_words, needed=word)
    for written in map(grammar.written, lexical.groups):
        yield StepResult("condition", written not in case.facts.missing_words, needed=written)


def _candidates(case: Case) -> StepResult:
    passed = case.candidate is not None or case.hit is not None
    ranks = [leg.rank for leg in case.facts.legs if leg.rank is not None]
    return StepResult("candidates", passed, min(ranks, default=None), case.trial.request.candidates)


def _order(case: Case) -> Iterator[StepResult]:
    query = case.trial.query
    for step, place in case.places:
        yield StepResult(step, place <= query.limit, place, query.limit)
    if query.ranking.rerank != "none" and not any(step == "rerank" for step, _ in case.places) and case.places:
        yield StepResult("rerank", False, case.places[-1][1], rescoring.pool_size(query.limit), reached=False)
    found, rank = obstacles.verdict(case), case.rank
    if found in ("below_threshold", "not_a_candidate", "missing_words") or rank is None:
        return
    if query.is_collapsed:
        yield StepResult("collapse", case.repeated is None, case.repeated)
    if query.group_size is not None:
        yield StepResult("group", found != "grouped_out", needed=query.group_size)
    yield StepResult("limit", rank <= query.limit, rank, query.limit)
