"""Says in sentences where a passage stands in a search, why it is in the answer or not, and what would bring it in."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from app.api.search import placement_fields
from app.api.search.placement_fields import GROUPS
from app.shapes import LegPlace, PassageKey, Placement, PlacementVerdict, QueryChange, SearchStep, StepResult, limits

_WHAT = {
    "document_ids": "document",
    **dict.fromkeys(("source_ids", "source_names"), "source"),
    **dict.fromkeys(("created_after", "created_before"), "time of creation"),
    **dict.fromkeys(("uri_prefix", "folder", "file_types"), "URI"),
}
"""What each filter besides metadata and groups is about."""
_LONGEST = 100
"""Characters of a value that are shown."""
_ORDERED_BY: dict[SearchStep, str] = {
    "fusion": "Fusion of the legs",
    "entities": "Guidance by entities",
    "rerank": "Re-ranking",
    "recency": "The age of documents",
    "mmr": "Diversification",
}
_THRESHOLDS = ("min_vector_score", "min_rrf_score", "min_confidence", "min_relevance")
_LEGS = {"vector": "by meaning", "text": "by words"}
_ADDED_BY = {
    "entity": "its document is linked to an entity of the query",
    "documents": "the candidates had too few documents",
}
_NOT_BY_HOPS = "The search over several hops did not return it."


def summary(placement: Placement) -> str:
    """The cause and the remedy in one or two sentences."""
    if placement.verdict == "not_found":
        return _not_found(placement.passage)
    if placement.verdict == "returned":
        return _returned(placement)
    if placement.verdict == "hops_out":
        return f"{_NOT_BY_HOPS} A single search does: set depth to fast."
    both = f"{_CAUSES[placement.verdict](placement)} {_remedy(placement)}"
    return f"{_NOT_BY_HOPS} As a single search (depth fast): {both}" if placement.is_missed_by_hops else both


def detail(step: StepResult, placement: Placement) -> str:
    """What a step of the explanation found."""
    if step.filter is not None:
        return _filter(step, placement)
    if step.step in _THRESHOLDS:
        return _threshold(step)
    if step.step in _ORDERED_BY:
        return _order(step)
    return _DETAILS[step.step](step, placement)


def _shown(value: Any) -> str:
    """A value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# steps


def _depth(step: StepResult, _: Placement) -> str:
    return f"The search over several hops returned it as result {step.value}." if step.passed else _NOT_BY_HOPS


def _filter(step: StepResult, placement: Placement) -> str:
    assert step.filter is not None
    assert placement.chunk is not None
    key, field = step.filter.key, placement_fields.of_filter(step.filter)
    if key is not None:
        absent = key not in placement.chunk.metadata
        has = f"It has no metadata {_shown(key)}" if absent else f"Its metadata {_shown(key)} is {_shown(step.value)}"
        return f"{has}; the filter needs {_shown(step.needed)}."
    if step.filter.field in GROUPS:
        return f"Its document {'passes' if step.passed else 'does not pass'} the group {field}."
    needed = placement_fields.needed(step)
    needs = f"one of {len(step.needed)}" if needed is None else _shown(needed)
    return f"Its {_WHAT[step.filter.field]} is {_shown(step.value)}; {field} needs {needs}."


def _excluded(step: StepResult, _: Placement) -> str:
    return f"It is {'not ' if step.passed else ''}among the chunks to leave out."


def _excluded_word(step: StepResult, _: Placement) -> str:
    return f"It {'does not contain' if step.passed else 'contains'} the excluded {_shown(step.needed)}."


def _required_word(step: StepResult, _: Placement) -> str:
    contains = "contains" if step.passed else "does not contain"
    return f"It {contains} {_shown(step.needed)}, which the query requires."


def _condition(step: StepResult, _: Placement) -> str:
    return f"It {'meets' if step.passed else 'does not meet'} the condition {step.needed} of the query."


def _candidates(_: StepResult, placement: Placement) -> str:
    added = f" It was added because {_ADDED_BY[placement.added_by]}." if placement.added_by else ""
    return " ".join(map(_leg, placement.legs)) + added


def _leg(leg: LegPlace) -> str:
    if leg.rank is None and not leg.words:
        return "It shares no word with the query."
    if leg.rank is None:
        return f"It shares only {', '.join(leg.words or ())} with the query, too frequent to find it by."
    place = f"It is {'' if leg.exact else 'at best '}number {leg.rank} {_LEGS[leg.leg]}"
    if not leg.candidate and leg.rank <= leg.candidates and leg.leg == "vector":
        return f"{place}, but the approximate search of the vector index missed it."
    among = "is" if leg.candidate else "is not"
    shared = f" It contains synonyms of the query's words: {', '.join(leg.synonyms)}." if leg.synonyms else ""
    return f"{place} and {among} among the {leg.candidates} candidates of the {leg.leg} leg.{shared}"


def _threshold(step: StepResult) -> str:
    value = "none" if step.value is None else f"{step.value:.4g}" if isinstance(step.value, float) else step.value
    return f"Its {step.step.removeprefix('min_').replace('_', ' ')} is {value}; {step.step} is {step.needed}."


def _order(step: StepResult) -> str:
    if not step.reached:
        return f"It was not re-ranked: only the first {step.needed} are."
    return f"{_ORDERED_BY[step.step]} places it at {step.value}."


def _group(step: StepResult, placement: Placement) -> str:
    if step.passed:
        return f"Its document is result {placement.rank}."
    return f"More than {step.needed + 1} chunks of its document rank above it."


def _collapse(step: StepResult, _: Placement) -> str:
    if step.passed:
        return "It repeats no passage of the answer."
    return f"Its text is that of result {step.value}, but for a few words."


def _limit(step: StepResult, _: Placement) -> str:
    return f"It is result {step.value} of an answer of up to {step.needed}."


_DETAILS: dict[SearchStep, Callable[[StepResult, Placement], str]] = {
    "depth": _depth,
    "exclude_chunk_ids": _excluded,
    "excluded_word": _excluded_word,
    "required_word": _required_word,
    "condition": _condition,
    "candidates": _candidates,
    "collapse": _collapse,
    "group": _group,
    "limit": _limit,
}


# causes


def _not_found(passage: PassageKey) -> str:
    kind, key = ("chunk", passage.chunk_id) if passage.chunk_id else ("document", passage.document_id or passage.uri)
    return f"No {kind} {_shown(str(key))} is stored: check it, or add the document."


def _returned(placement: Placement) -> str:
    relevance = placement.relevance
    likely = "" if relevance is None else f", with a probability of {relevance:.2f} of being relevant"
    return f"It is in the answer: result {placement.rank or 0} of up to {placement.limit}{likely}."


def _first_failed(placement: Placement) -> str:
    failed = (one for one in placement.steps if not one.passed and one.step != "depth")
    return next((detail(one, placement) for one in failed), "")


def _below(placement: Placement) -> str:
    failed = (one for one in placement.steps if not one.passed and one.step in _THRESHOLDS)
    return next(map(_threshold, failed), "")


def _outranked(placement: Placement) -> str:
    return f"It is number {placement.rank} and the limit is {placement.limit}."


def _moved(by: str) -> Callable[[Placement], str]:
    def sentence(placement: Placement) -> str:
        before = [one.value for one in placement.steps if one.step in _ORDERED_BY and one.passed][-1:]
        from_place = f" from {before[0]}" if before else ""
        return f"{by} moved it{from_place} to {placement.rank}, beyond the limit of {placement.limit}."

    return sentence


def _not_a_candidate(placement: Placement) -> str:
    return " ".join(map(_leg, placement.legs)) or "No leg of the search could run."


_CAUSES: dict[PlacementVerdict, Callable[[Placement], str]] = {
    "filtered": _first_failed,
    "excluded": _first_failed,
    "missing_words": _first_failed,
    "not_a_candidate": _not_a_candidate,
    "below_threshold": _below,
    "outranked": _outranked,
    "guided_out": _moved("The entities of the query"),
    "reranked_out": _moved("Re-ranking"),
    "aged_out": _moved("The age of its document"),
    "diversified_out": _moved("Diversification"),
    "duplicate": lambda placement: f"It repeats number {placement.rank} of the answer.",
    "grouped_out": lambda _: "Its document is in the answer, but other chunks of it rank higher.",
}


# remedies


def _remedy(placement: Placement) -> str:
    remedy = placement.remedy
    if not remedy.is_tried:
        return "Changes are not tried with a re-ranking provider."
    changes = _joined(remedy.changes)
    if remedy.is_enough:
        return f"{changes} to get it."
    rank = remedy.rank if remedy.changes else placement.rank
    further = f"Follow next_cursor to result {rank}" if rank and rank <= limits.MAX_RESULTS else ""
    if remedy.changes and rank is None:
        return f"{changes}, and use more words of the passage in the query."
    if remedy.changes:
        return f"{changes}; it is then number {rank}. {further or 'Use more words of the passage in the query'}."
    return f"{further}, or use more words of the passage." if further else "Use more words of the passage in the query."


def _joined(changes: Iterable[QueryChange]) -> str:
    written = [_change(field, value) for one in changes for field, value in placement_fields.of_change(one)]
    joined = " and ".join(part for part in (", ".join(written[:-1]), *written[-1:]) if part)
    return joined[:1].upper() + joined[1:]


def _change(field: str, value: Any) -> str:
    if value is None:
        return f"leave out {field}"
    if field == "exclude_chunk_ids":
        return "take it off exclude_chunk_ids"
    name = field.removeprefix("ranking.")
    if name.startswith("min_"):
        least = math.floor(value * 1e4) / 1e4 if isinstance(value, float) else value
        return f"lower {field} to {least}"
    verb = "raise" if name in ("limit", "candidates") else "set"
    return f"{verb} {field} to {json.dumps(value, ensure_ascii=False)}"
