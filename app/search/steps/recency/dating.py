"""Orders hits by their score and the age of their documents, if the query weighs it or asks for the newest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any
from uuid import UUID

from app.database.transactions import retry_read
from app.documents.store import document_dates
from app.kinds import FusionUsed
from app.query.search_request import Recency
from app.query.types import Hit
from app.search.state import SearchContext, SearchState, Step
from app.search.steps.recency import recency

MICROSECONDS_OF_DAY = 86_400_000_000


async def order(search: SearchState) -> SearchState:
    """Order the hits by their scores with the age of their documents, ties in their order.

    Scores of a re-ranking are spread as convex scores are. Raises DatabaseUnavailable.
    """
    options = search.query.recency
    if options is None:
        return search
    hits, context = search.hits, search.context
    is_replaced = any("rerank" in (hit.explain or {}) for hit in hits)
    with context.timed("recency"):
        dates = await _dates({hit.candidate.document_id for hit in hits}, options, context)
    weighed = _Weighed(options, "convex" if is_replaced else search.request.fusion, context.moment, dates)
    dated = [weighed.hit(hit, place) for place, hit in enumerate(hits, 1)]
    return replace(search, hits=sorted(dated, key=lambda hit: -round(hit.candidate.score, 12)))


def explain(search: SearchState) -> dict[str, Any]:
    """How the age of documents is weighed."""
    options = search.query.recency
    return {"recency": None if options is None else options.model_dump()}


@retry_read
async def _dates(document_ids: set[UUID], options: Recency, context: SearchContext) -> dict[UUID, int]:
    async with context.services.db.reading(context.user_id) as reading:
        return await document_dates.of(reading, document_ids, key=options.key)


@dataclass(frozen=True, slots=True)
class _Weighed:
    """What changes the scores of hits: the options, the fusion, the present and the dates of documents."""

    options: Recency
    fusion: FusionUsed
    moment: int
    dates: dict[UUID, int]

    def hit(self, hit: Hit, place: int) -> Hit:
        """The hit at a place with its score by age; one without a date keeps its score."""
        found = hit.candidate
        date = self.dates.get(found.document_id)
        if date is None:
            return hit.rescored("recency", found.score, age_days=None, factor=1.0, place_before=place)
        age = max(0.0, (self.moment - date) / MICROSECONDS_OF_DAY)
        decay = recency.decay(age, half_life_days=self.options.half_life_days)
        factor = recency.factor(decay, weight=self.options.weight, fusion=self.fusion)
        score = recency.rescore(found.score, factor)
        return hit.rescored("recency", score, age_days=round(age, 3), decay=decay, factor=factor, place_before=place)


STEP = Step(uses=attrgetter("query.ranking.recency"), order=order, explain=explain)
