"""Says in one or two sentences why a passage is in an answer or not, and what would bring it in."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.pipelines.why import obstacles, passage_steps
from app.pipelines.why.obstacles import Case
from app.shapes import PassageKey, RequestChange, Verdict, limits

NOT_BY_HOPS = "The search over several hops did not return it."
HOPS_OUT = f"{NOT_BY_HOPS} A single search does: set depth to fast."


def not_found(passage: PassageKey) -> str:
    """The sentence about a passage that is not stored."""
    kind, key = ("chunk", passage.chunk_id) if passage.chunk_id else ("document", passage.document_id or passage.uri)
    return f"No {kind} {passage_steps.shown(str(key))} is stored: check it, or add the document."


def returned(rank: int, limit: int, relevance: float | None) -> str:
    """The sentence about a passage that is in the answer."""
    likely = "" if relevance is None else f", with a probability of {relevance:.2f} of being relevant"
    return f"It is in the answer: result {rank} of up to {limit}{likely}."


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes of a request, and the rank of the passage with them; `is_enough` if it is then returned."""

    changes: tuple[RequestChange, ...] = ()
    rank: int | None = None
    is_enough: bool = False


def of(case: Case, remedy: Remedy) -> str:
    """The cause and the remedy."""
    verdict = obstacles.verdict(case)
    if verdict == "returned":
        hit = case.completed
        return returned(case.rank or 0, case.trial.query.limit, hit.relevance if hit else None)
    return f"{_CAUSES[verdict](case)} {_remedy(case, remedy)}"


def _remedy(case: Case, remedy: Remedy) -> str:
    if case.trial.query.rerank == "provider":
        return "Changes are not tried with a re-ranking provider."
    changes = _joined(remedy.changes)
    if remedy.is_enough:
        return f"{changes} to get it."
    rank = remedy.rank if remedy.changes else case.rank
    further = f"Follow next_cursor to result {rank}" if rank and rank <= limits.MAX_RESULTS else ""
    if remedy.changes and rank is None:
        return f"{changes}, and use more words of the passage in the query."
    if remedy.changes:
        return f"{changes}; it is then number {rank}. {further or 'Use more words of the passage in the query'}."
    return f"{further}, or use more words of the passage." if further else "Use more words of the passage in the query."


def _joined(changes: Sequence[RequestChange]) -> str:
    written = [_change(change) for change in changes]
    joined = " and ".join(part for part in (", ".join(written[:-1]), *written[-1:]) if part)
    return joined[:1].upper() + joined[1:]


def _change(change: RequestChange) -> str:
    if change.value is None:
        return f"leave out {change.field}"
    if change.field == "exclude_chunk_ids":
        return "take it off exclude_chunk_ids"
    if change.field.startswith("min_"):
        least = math.floor(change.value * 1e4) / 1e4 if isinstance(change.value, float) else change.value
        return f"lower {change.field} to {least}"
    verb = "raise" if change.field in ("limit", "candidates") else "set"
    return f"{verb} {change.field} to {json.dumps(change.value, ensure_ascii=False)}"


def _first_failed(case: Case) -> str:
    return next((step.detail for step in passage_steps.of(case) if not step.passed), "")


def _outranked(case: Case) -> str:
    return f"It is number {case.rank} and the limit is {case.trial.query.limit}."


def _moved(by: str) -> Callable[[Case], str]:
    def sentence(case: Case) -> str:
        before = [place for _, place in case.places if place <= case.trial.query.limit][-1:]
        from_place = f" from {before[0]}" if before else ""
        return f"{by} moved it{from_place} to {case.rank}, beyond the limit of {case.trial.query.limit}."

    return sentence


def _not_a_candidate(case: Case) -> str:
    return " ".join(map(passage_steps.leg_sentence, case.facts.legs)) or "No leg of the search could run."


_CAUSES: dict[Verdict, Callable[[Case], str]] = {
    "filtered": _first_failed,
    "excluded": _first_failed,
    "missing_words": _first_failed,
    "not_a_candidate": _not_a_candidate,
    "below_threshold": lambda case: next(
        (passage_steps.threshold_sentence(one) for one in obstacles.thresholds(case) if not one.passed), ""
    ),
    "outranked": _outranked,
    "guided_out": _moved("The entities of the query"),
    "reranked_out": _moved("Re-ranking"),
    "diversified_out": _moved("Diversification"),
    "grouped_out": lambda _: "Its document is in the answer, but other chunks of it rank higher.",
}
