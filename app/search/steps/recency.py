"""Raises hits from newer documents and lowers those from older ones, if the request or the query asks for it.

`score · (1 + w · (2 · decay − 1))^(1/p)`, with `decay = 0.5^(age / half-life)`: the exponential prior of time-based
language models (Li and Croft 2003), which multiplies the likelihood of a document. As a factor it raises nothing that
does not match, and it needs no common scale with the score. The factor is 1 + w for a new document, 1 at an age of one
half-life, and 1 − w for a very old document. A document without a date keeps its score, so it has neither an advantage
nor a disadvantage. `p` is the exponent of the fusion, as for boosts (see `blending`).

If the query asks for the newest, ages count from the newest hit that they may place first: else the versions of a
policy, all of them years old, would be equally old.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any
from uuid import UUID

from app.database.transactions import retry_read
from app.documents.store import documents
from app.enums import FusionUsed
from app.query import scoring_constants
from app.query.search_request import Recency
from app.query.search_types import Hit
from app.search.state import SearchContext, SearchState, Step

MICROSECONDS_OF_DAY = 86_400_000_000


async def order(search: SearchState) -> SearchState:
    """Order the hits by score and age of their documents; ties keep their order.

    Re-ranked scores count as convex scores, which are spread in the same way. Raises DatabaseUnavailable.
    """
    options = search.query.recency
    if options is None:
        return search
    hits, context = search.hits, search.context
    is_replaced = any("rerank" in (hit.explain or {}) for hit in hits)
    fusion: FusionUsed = "convex" if is_replaced else search.request.fusion
    with context.timed("recency"):
        dates = await _dates({hit.candidate.document_id for hit in hits}, options, context)
    ages = {document_id: max(0, context.moment - date) for document_id, date in dates.items()}
    newest = _newest(hits, ages, options, fusion) if options.only_if_asked else 0
    dated = []
    for place, hit in enumerate(hits, 1):
        age = ages.get(hit.candidate.document_id)
        step: dict[str, Any] = {"age_days": None, "factor": 1.0}  # without a date it keeps its score
        if age is not None:
            step = _weigh(age, newest, options, fusion)
        score = rescore(hit.candidate.score, step["factor"])
        dated.append(hit.rescored("recency", score, **step, place_before=place))
    return replace(search, hits=sorted(dated, key=lambda hit: -round(hit.candidate.score, 12)))


def explain(search: SearchState) -> dict[str, Any]:
    """How the age of documents is weighed."""
    options = search.query.recency
    return {"recency": None if options is None else options.model_dump()}


@retry_read
async def _dates(document_ids: set[UUID], options: Recency, context: SearchContext) -> dict[UUID, int]:
    async with context.services.db.reading(context.user_id) as reading:
        return await documents.dates(reading, document_ids, key=options.key)


def _newest(hits: Sequence[Hit], ages: Mapping[UUID, int], options: Recency, fusion: FusionUsed) -> int:
    """The age of the newest of the hits that their age may place first, in microseconds; 0 without a date."""
    lowest, highest = (factor(decayed, weight=options.weight, fusion=fusion) for decayed in (0.0, 1.0))
    first = (one.candidate for one in hits if one.candidate.score * highest >= hits[0].candidate.score * lowest)
    return min((ages[one.document_id] for one in first if one.document_id in ages), default=0)


def _weigh(age_us: int, newest_us: int, options: Recency, fusion: FusionUsed) -> dict[str, float]:
    """The factor for an age, of which the age of the newest is no part, with the values it is computed from."""
    decayed = decay((age_us - newest_us) / MICROSECONDS_OF_DAY, half_life_days=options.half_life_days)
    return {
        "age_days": round(age_us / MICROSECONDS_OF_DAY, 3),
        "decay": decayed,
        "factor": factor(decayed, weight=options.weight, fusion=fusion),
    }


def decay(age_days: float, *, half_life_days: float) -> float:
    """Returns the decay at an age, 0 to 1. A date in the future counts as the present."""
    decayed: float = 0.5 ** (max(age_days, 0.0) / half_life_days)
    return decayed


def factor(decayed: float, *, weight: float, fusion: FusionUsed) -> float:
    """Returns the factor of a score: 1 − weight to 1 + weight, or its p-th root."""
    raised: float = (1 + weight * (2 * decayed - 1)) ** (1 / scoring_constants.EXPONENTS[fusion])
    return raised


def rescore(score: float, by: float) -> float:
    """Multiplies a score by a factor. A negative score, which some re-rankers return, is divided by it."""
    return score * by if score >= 0 or by == 0 else score / by


STEP = Step(uses=attrgetter("query.ranking.recency"), order=order, explain=explain)
