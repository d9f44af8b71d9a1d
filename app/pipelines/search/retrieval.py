"""Relaxes a query whose hybrid statement found nothing, and adds the scale of relevance to what was retrieved."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.pipelines.running import query_vector
from app.pipelines.running.context import SearchContext
from app.pipelines.search import relaxation
from app.pipelines.search.understanding import Understanding
from app.ranking import relevance
from app.ranking.fusion_plan import FusionPlan
from app.shapes import HybridRequest, HybridResult, ParsedQuery
from app.store.connection.transactions import Database, retry_read
from app.store.search import recall


@dataclass(frozen=True, slots=True)
class Retrieval:
    """A parsed query, its fusion plan, the request that was run last, and its result.

    `scale` assesses the relevance of the candidates; None if the embedding model is not calibrated.
    """

    parsed: ParsedQuery
    plan: FusionPlan
    request: HybridRequest
    result: HybridResult
    scale: relevance.Scale | None = None


async def completed(understood: Understanding, result: HybridResult, context: SearchContext) -> Retrieval:
    """Note a text leg without terms, and relax the query if chunks are in scope and none was found."""
    parsed, plan, request = understood.parsed, understood.plan, understood.request
    if plan.weights.text > 0 and not result.terms:
        context.degraded.append("no_text_terms")
    if not result.candidates and result.scope_chunks:
        request, result = await _relaxed(understood, result, context)
    scale = _scale(request, result, context.services.embedder.model.name)
    return Retrieval(parsed, replace(plan, weights=recall.effective_weights(request)), request, result, scale)


def _scale(request: HybridRequest, result: HybridResult, model: str) -> relevance.Scale | None:
    has_vector = request.vector is not None and request.weights.vector > 0
    return relevance.scale(result.terms, model=model, has_vector=has_vector)


async def _relaxed(
    understood: Understanding, result: HybridResult, context: SearchContext
) -> tuple[HybridRequest, HybridResult]:
    """The first relaxation that finds anything, noted by name; the originals if none does."""
    request = understood.request
    for step in relaxation.STEPS:
        if step.needs_vector and request.vector is None and "embedding_failed" not in context.degraded:
            request = replace(request, vector=await query_vector.embed(understood.parsed.text, context))
        with context.timed("relax"):
            relaxed = await _loosened(step, request, result, context.services.db)
        if relaxed is not None:
            context.relaxed.append(step.name)
            return relaxed
    return request, result


@retry_read
async def _loosened(
    step: relaxation.Step, request: HybridRequest, result: HybridResult, db: Database
) -> tuple[HybridRequest, HybridResult] | None:
    async with db.searching(request.user_id, candidates=request.candidates) as reading:
        await reading.use_custom_plans()
        looser = await relaxation.loosened(step, request, result, reading)
        if looser is None:
            return None
        found = await recall.hybrid(reading, looser)
        return (looser, found) if found.candidates else None
