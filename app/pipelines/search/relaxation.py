"""Runs looser requests for a query that found nothing: no operators, similar words, then nearest vectors.

First what is required is dropped, then what is excluded as well, then unknown words are replaced by stored ones
of similar spelling, and last the nearest chunks by vector are returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.pipelines.running import offload, query_vector
from app.pipelines.running.context import SearchContext
from app.pipelines.search.understanding import Understanding
from app.shapes import HybridRequest, HybridResult, IndexText, LexicalQuery, Negation, Weights
from app.store.connection.transactions import Reading, retry_read
from app.store.search import recall, vocabulary
from app.text.queries import spelling


@dataclass(frozen=True, slots=True)
class Step:
    """One relaxation, by its name in the answer's `relaxed`."""

    name: str
    needs_vector: bool = False


DROP_CONSTRAINTS = Step("constraints_dropped")
DROP_REQUIRED = Step("constraints_dropped")
SIMILAR_WORDS = Step("similar_words")
NEAREST = Step("nearest_vectors", needs_vector=True)
STEPS = (DROP_REQUIRED, DROP_CONSTRAINTS, SIMILAR_WORDS, NEAREST)

MAX_UNKNOWN_WORDS = 16
"""Unknown words of a query that are replaced, the longest: these have the fewest neighbours by chance."""
COMPARISON_COST = 10
"""Cost of comparing a word with a stored one, in units of `offload.run`."""


async def run(
    understood: Understanding, result: HybridResult, context: SearchContext
) -> tuple[HybridRequest, HybridResult]:
    """The request and the result of a search, of the first looser request that finds anything if it found nothing.

    Notes a text leg without terms, and the name of the relaxation. Nothing is relaxed if no chunk is in scope.
    """
    request = understood.request
    if understood.plan.weights.text > 0 and not result.terms:
        context.degraded.append("no_text_terms")
    for step in STEPS if result.scope_chunks and not result.candidates else ():
        if step.needs_vector and request.vector is None and "embedding_failed" not in context.degraded:
            request = replace(request, vector=await query_vector.embed(understood.parsed.text, context))
        with context.timed("relax"):
            relaxed = await _run_looser(step, request, result, context)
        if relaxed is not None:
            context.relaxed.append(step.name)
            return relaxed
    return request, result


@retry_read
async def _run_looser(
    step: Step, request: HybridRequest, result: HybridResult, context: SearchContext
) -> tuple[HybridRequest, HybridResult] | None:
    """The looser request of a step and what it finds; None if that is nothing."""
    async with context.services.db.searching(request.user_id, candidates=request.candidates) as reading:
        await reading.use_custom_plans()
        looser = await _looser(step, request, result, reading)
        if looser is None:
            return None
        found = await recall.hybrid(reading, looser)
        await context.name_sources(found.candidates, reading)
        return (looser, found) if found.candidates else None


async def _looser(step: Step, request: HybridRequest, result: HybridResult, db: Reading) -> HybridRequest | None:
    """The request to run instead of one that found nothing; None if the step changes nothing."""
    if step is NEAREST:
        return None if request.vector is None else replace(request, lexical=None, weights=Weights(1.0, 0.0))
    if request.lexical is None:
        return None
    lexical = request.lexical
    if step is DROP_REQUIRED:
        excluding = tuple(group for group in lexical.groups if isinstance(group, Negation))
        looser = replace(lexical, strict=(), groups=excluding)
        return None if looser == lexical else replace(request, lexical=looser)
    if step is DROP_CONSTRAINTS:
        is_bound = lexical.excluded or lexical.groups
        unbound = replace(lexical, strict=(), excluded=(), groups=())
        return replace(request, lexical=unbound) if is_bound else None
    return await _respelled(request, result, db)


async def _respelled(request: HybridRequest, result: HybridResult, db: Reading) -> HybridRequest | None:
    """The request with its longest unknown words replaced by completions of them and words of similar spelling."""
    unknown = sorted(
        (term.lexeme for term in result.terms if term.df == 0 and not term.is_added),
        key=lambda word: (-len(word), word),
    )
    stored = await vocabulary.starting_like(db, unknown[:MAX_UNKNOWN_WORDS])
    size = COMPARISON_COST * sum(map(len, stored.values()))
    words = await offload.run(size, _similar_words, stored)
    if not words:
        return None
    text = " ".join(words)
    return replace(
        request,
        lexical=LexicalQuery(IndexText(text, text)),
        weights=Weights(request.weights.vector, request.weights.text or 1.0),
    )


def _similar_words(stored: Mapping[str, Sequence[str]]) -> list[str]:
    return [near for word, lexemes in stored.items() for near in spelling.nearest(word, lexemes)]
