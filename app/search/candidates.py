"""Defines what the steps of a search hand on: what was recalled, the candidates, their ranking, and a page of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from app.query.context import SearchContext
from app.query.search_request import SearchRequest
from app.query.types import Hit, HybridRequest, HybridResult
from app.relevance import relevance
from app.search.ranking.fusion_plan import FusionPlan
from app.search.steps.guidance.guidance import AppliedGuidance
from app.search.steps.guidance.matching import EntityMatches
from app.search.store import recall
from app.search.understanding import Understanding
from app.text.queries.parsed_query import ParsedQuery


@dataclass(frozen=True, slots=True)
class Recalled:
    """A parsed query, its fusion plan, the request that was run last, and its result.

    `scale` assesses the relevance of the candidates; None if the embedding model is not calibrated. `source_names` are
    those of the sources of what the search has read by id; those of later hops and pages are added to them.
    """

    parsed: ParsedQuery
    plan: FusionPlan
    request: HybridRequest
    result: HybridResult
    scale: relevance.Scale | None = None
    source_names: Mapping[UUID, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        understood: Understanding,
        request: HybridRequest,
        result: HybridResult,
        context: SearchContext,
        entities: relevance.MeanEffect,
    ) -> Recalled:
        """What a request of an understood query has found, with the weights of the legs that were run."""
        weights = recall.effective_weights(request)
        model = context.services.embedder.model.name
        assessed = relevance.Assessed(
            understood.plan.fusion,
            cosine=result.best_cosine if weights.vector > 0 else None,
            coverage=relevance.coverage(result.best_text_score, result.terms),
            is_phrase=bool(understood.parsed.phrases) and request is understood.request,
            entities=entities,
        )
        is_known = bool(understood.parsed.text)  # of a vector alone, nobody knows what it is the vector of
        scale = relevance.scale(assessed, model=model, calibration=context.calibration) if is_known else None
        plan = replace(understood.plan, weights=weights)
        return cls(understood.parsed, plan, request, result, scale, context.source_names)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was recalled for a query, its entities, how they are applied, and the hits in the order of both.

    `relaxed`: a looser request than the query's was run.
    """

    query: SearchRequest
    recalled: Recalled
    matches: EntityMatches
    guidance: AppliedGuidance
    hits: Sequence[Hit]
    relaxed: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates of a search and its hits in their final order."""

    candidates: Candidates
    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True)
class Page:
    """The results of a page after `offset` others, and the cursor of the next page."""

    hits: tuple[Hit, ...] = ()
    next_cursor: str | None = None
    offset: int = 0
