"""Names the first step of a search that keeps a passage out of the answer, and the changes that let it pass."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from app.pipelines.requests.search_request import Group, SearchRequest
from app.pipelines.search import rerank
from app.pipelines.why import passage_facts, trials
from app.pipelines.why.passage_facts import PassageFacts
from app.pipelines.why.trials import Trial
from app.ranking import confidence
from app.shapes import Candidate, FilterPart, Hit, PlacementVerdict, QueryChange, SearchStep, limits
from app.text.queries import analysis

_OUT: dict[SearchStep, PlacementVerdict] = {
    "entities": "guided_out",
    "rerank": "reranked_out",
    "recency": "aged_out",
    "mmr": "diversified_out",
}
_LATER: tuple[SearchStep, ...] = ("rerank", "recency", "mmr")
"""Steps of `explain` that order hits, in their order."""


@dataclass(frozen=True, slots=True)
class Looser:
    """A query without the obstacle, and the changes that lead to it."""

    query: SearchRequest
    changes: Sequence[QueryChange]


@dataclass(frozen=True)
class Case:
    """A passage in a search that was run."""

    trial: Trial
    facts: PassageFacts

    @cached_property
    def returned(self) -> int | None:
        """The rank of the passage in the answer."""
        return trials.position(self.trial.page.hits, self.facts.chunk_id)

    @cached_property
    def candidate(self) -> Candidate | None:
        """The passage as a candidate of the legs, before thresholds."""
        return next((one for one in self.trial.legs.candidates if one.chunk_id == self.facts.chunk_id), None)

    @cached_property
    def hit(self) -> Hit | None:
        """The passage in the order of all hits, or in the answer if that was widened beyond it."""
        shown = (one for hit in self.trial.page.hits for one in (hit, *hit.more))
        every = itertools.chain(self.trial.order, shown)
        return next((hit for hit in every if hit.candidate.chunk_id == self.facts.chunk_id), None)

    @cached_property
    def rank(self) -> int | None:
        """Its place in the results, else in the order of hits, else among the candidates."""
        if self.returned is not None:
            return self.returned
        chunk_id = self.facts.chunk_id
        first = trials.position(self.trial.results, chunk_id) or self.repeated or self.rank_of_group
        return first or trials.position(self.trial.order, chunk_id) or self.place_of(self.trial.legs.candidates)

    @cached_property
    def rank_of_group(self) -> int | None:
        """The rank of the document's result if the passage is wanted but no part of it."""
        if self.trial.query.group_size is None or self.hit is None or not self.trial.is_wanted(self.hit):
            return None
        document_id = self.facts.chunk.document_id
        ids = [hit.candidate.document_id for hit in self.trial.results]
        return ids.index(document_id) + 1 if document_id in ids else None

    @cached_property
    def repeated(self) -> int | None:
        """The rank of the hit of the answer that the passage repeats, if duplicates are collapsed."""
        repeated = (
            place
            for place, hit in enumerate(self.trial.page.hits, 1)
            for one in (hit, *hit.more)
            if any(other.chunk_id == self.facts.chunk_id for other in one.duplicates)
        )
        return next(repeated, None)

    @property
    def completed(self) -> Hit | None:
        """The hit with its relevance and confidence; also that of a candidate below a threshold."""
        hit = self.hit or (Hit(self.candidate, "low", ()) if self.candidate else None)
        if hit is None:
            return None
        whole = replace(hit, candidate=replace(hit.candidate, content=self.facts.chunk.content))
        return self.trial.completion.complete(whole)

    @property
    def added_by(self) -> Literal["entity", "documents"] | None:
        """What added the passage if it is a hit and no candidate; see `Placement`."""
        if self.candidate is not None or self.hit is None:
            return None
        linked = {link.document_id for link in self.trial.ranking.candidates.guidance.links.values()}
        return "entity" if self.facts.chunk.document_id in linked else "documents"

    def place_of(self, found: Sequence[Candidate]) -> int | None:
        """The place of the passage among candidates, from 1."""
        return next((place for place, one in enumerate(found, 1) if one.chunk_id == self.facts.chunk_id), None)

    @cached_property
    def places(self) -> list[tuple[SearchStep, int]]:
        """The place after each step that orders hits; nothing after the fusion for a passage beyond those it took."""
        found: list[tuple[SearchStep, int]] = []
        fused = self.place_of([one for one in self.trial.legs.candidates if self.trial.passes(one)])
        if fused is not None:
            found.append(("fusion", fused))
        hit, search = self.hit, self.trial.ranking.candidates
        guided = trials.position(search.hits, self.facts.chunk_id)
        if hit is None or guided is None:
            return found
        if search.guidance.links or search.guidance.mentions:
            found.append(("entities", guided))
        steps = hit.explain or {}
        taken = [step for step in _LATER if step in steps]
        after = [*(steps[step]["place_before"] for step in taken[1:]), self._final]
        return [*found, *zip(taken, after, strict=False)]

    @property
    def _final(self) -> int:
        return trials.position(self.trial.ranking.hits, self.facts.chunk_id) or 0


def verdict(case: Case) -> PlacementVerdict:
    """Whether the passage is returned, or the first reason why it is not."""
    facts = case.facts
    if case.returned is not None:
        return "returned"
    if case.hit is None:
        if not facts.is_in_scope:
            return "filtered" if facts.failed else "excluded"
        if case.candidate is not None:
            return "below_threshold"
        return "missing_words" if facts.missing_words else "not_a_candidate"
    if not case.trial.is_wanted(case.hit):
        return "below_threshold"
    if case.repeated is not None:
        return "duplicate"
    if case.rank_of_group and case.rank_of_group <= case.trial.query.limit:
        return "grouped_out"
    return _outranked_by(case)


def _outranked_by(case: Case) -> PlacementVerdict:
    """The step that moved the passage beyond the limit; none if every step placed it there."""
    limit = case.trial.query.limit
    for (_, before), (step, after) in reversed(list(zip(case.places, case.places[1:], strict=False))):
        if before <= limit < after:
            return _OUT[step]
    return "outranked"


def looser(case: Case) -> Looser | None:
    """The query without the obstacle; None if nothing of the request can be changed."""
    found = verdict(case)
    query = case.trial.query
    if found in ("filtered", "excluded"):
        return _in_scope(query, case.facts)
    if found == "missing_words":
        return _reworded(query, case.facts.missing_words)
    if found == "not_a_candidate":
        return _with_more_candidates(query, case)
    if found == "below_threshold":
        return _below(query, case)
    if found == "duplicate":
        return _changed(query, collapse="off")
    return _regrouped(query, case) if found == "grouped_out" else _longer(query, case, found)


def _changed(query: SearchRequest, **fields: Any) -> Looser:
    return Looser(query.changed(**fields), [QueryChange(name, value) for name, value in fields.items()])


def _tuned(query: SearchRequest, **options: Any) -> Looser:
    return Looser(query.tuned(**options), [QueryChange(f"ranking.{name}", value) for name, value in options.items()])


def _in_scope(query: SearchRequest, facts: PassageFacts) -> Looser:
    failed = [each.condition for each in facts.failed]
    changes = [QueryChange("filters", filter=FilterPart(one.field, one.key)) for one in failed]
    query = query.changed(filters=passage_facts.filters_without(query.filters, failed))
    if facts.is_excluded:
        left = [one for one in query.exclude_chunk_ids if one != facts.chunk_id]
        query = query.changed(exclude_chunk_ids=left)
        changes.append(QueryChange("exclude_chunk_ids", left))
    if facts.excluded_words:
        reworded = _reworded(query, facts.excluded_words)
        query, changes = reworded.query, [*changes, *reworded.changes]
    return Looser(query, changes)


def _reworded(query: SearchRequest, words: Sequence[str]) -> Looser:
    text = analysis.loosened(query.text, dropped=set(words))
    return Looser(query.changed(query=text), [QueryChange("query", text)])


def _with_more_candidates(query: SearchRequest, case: Case) -> Looser | None:
    """As many candidates as the better rank needs, twice as many if the index missed the passage, else both legs.

    The vector leg ranks every passage, so only a search by words alone can lack one that is near by meaning.
    """
    ranks = [leg.rank for leg in case.facts.legs if leg.rank is not None]
    wanted = min(ranks, default=limits.MAX_CANDIDATES + 1)
    if wanted <= query.ranking.candidates:
        wanted = min(2 * query.ranking.candidates, limits.MAX_CANDIDATES)
    if query.ranking.candidates < wanted <= limits.MAX_CANDIDATES:
        return _tuned(query, candidates=wanted)
    return _changed(query, mode="auto") if query.mode == "lexical" else None


def _below(query: SearchRequest, case: Case) -> Looser | None:
    """Each threshold that the passage does not reach, at its value; left out where it has none."""
    lower = {one.name: one.value for one in thresholds(case) if not one.passed}
    return _tuned(query, **lower) if lower else None


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold of the request, the value of the passage, and whether it reaches the threshold."""

    name: Literal["min_vector_score", "min_rrf_score", "min_confidence", "min_relevance"]
    least: float | str
    value: float | str | None
    passed: bool


def thresholds(case: Case) -> list[Threshold]:
    """The thresholds of the request, in their order, for a passage that is a candidate or was added by entities."""
    query, hit, request = case.trial.query, case.completed, case.trial.request
    if hit is None:
        return []
    found: list[Threshold] = []
    one = hit.candidate
    if (least := request.min_vector_score) is not None:
        found.append(Threshold("min_vector_score", least, one.vector_score, _reaches(one.vector_score, least)))
    if (least := request.min_rrf_score) is not None:
        found.append(Threshold("min_rrf_score", least, one.rrf_score, _reaches(one.rrf_score, least)))
    if query.ranking.min_confidence is not None:
        passed = confidence.at_least(hit.confidence, query.ranking.min_confidence)
        found.append(Threshold("min_confidence", query.ranking.min_confidence, hit.confidence, passed))
    if query.ranking.min_relevance is not None:
        passed = _reaches(hit.relevance, query.ranking.min_relevance)
        found.append(Threshold("min_relevance", query.ranking.min_relevance, hit.relevance, passed))
    return found


def _reaches(value: float | None, least: float) -> bool:
    return value is not None and value >= least


def _regrouped(query: SearchRequest, case: Case) -> Looser:
    """As many chunks of a document as the passage needs, or no groups."""
    document_id = case.facts.chunk.document_id
    wanted = [hit for hit in case.trial.order if case.trial.is_wanted(hit) and hit.candidate.document_id == document_id]
    size = trials.position(wanted, case.facts.chunk_id) or 1
    return _tuned(query, group=Group(size=size - 1) if size - 1 <= limits.MAX_GROUP_SIZE else None)


def _longer(query: SearchRequest, case: Case, found: PlacementVerdict) -> Looser | None:
    """The limit that the rank needs; if there is none, a search without the step that moved the passage down."""
    rank = case.rank or limits.MAX_HITS + 1
    wanted = min(max(rank, query.limit + 1), limits.MAX_HITS)
    if query.limit < wanted and (rank <= limits.MAX_HITS or not is_prefix_stable(case.trial)):
        longer = _changed(query, limit=wanted)
        return replace(longer, query=longer.query.tuned(candidates=max(query.ranking.candidates, wanted)))
    if found == "guided_out":
        return Looser(
            query.guided(mode="off", boost=False),
            [QueryChange("ranking.guidance.mode", "off"), QueryChange("ranking.guidance.boost", False)],
        )
    if found == "reranked_out":
        return _tuned(query, rerank="none")
    if found == "aged_out":
        return _tuned(query, recency=None)
    return _tuned(query, mmr=False) if found == "diversified_out" else None


def is_prefix_stable(trial: Trial) -> bool:
    """Whether the results of a smaller limit are the first ones of a larger limit: no later step depends on it."""
    query = trial.query
    return not (
        rerank.is_wanted(query)
        or trial.ranking.candidates.guidance.matches
        or query.group_size
        or query.is_collapsed
        or query.has_minimum
    )
