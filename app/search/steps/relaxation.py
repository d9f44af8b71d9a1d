"""Runs looser requests for a query that found nothing: no requirements, similar words, then nearest vectors.

First what is required is dropped, then unknown words are replaced by stored ones of similar spelling, then the nearest
chunks by vector are returned. What is excluded stays excluded, unless it excludes everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

from app.concurrency import offload
from app.database.transactions import Reading, retry_read
from app.query.context import SearchContext
from app.query.types import HybridRequest, HybridResult, LexicalQuery, Weights
from app.search import named_sources
from app.search.steps.corrections import spelling
from app.search.steps.corrections import store as vocabulary
from app.search.store import recall
from app.search.understanding import Understanding
from app.text.queries.conditions import IndexText, Negation

Kind = Literal["words", "similar_words", "nearest_vectors"]


class Step(NamedTuple):
    """A looser request of the words, of similar ones or of the vector, and whether it keeps what is excluded."""

    kind: Kind
    excludes: bool


STEPS = tuple(Step(kind, excludes) for excludes in (True, False) for kind in get_args(Kind))

MAX_UNKNOWN_WORDS = 16
"""Unknown words of a query that are replaced, the longest: these have the fewest neighbours by chance."""
COMPARISON_COST = 10
"""Cost of comparing a word with a stored one, in units of `offload.run`."""

_NOTHING = IndexText("", "")
_NO_CONDITIONS = LexicalQuery(_NOTHING)


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
        if step.kind == "nearest_vectors" and request.vector is None and "embedding_failed" not in context.degraded:
            request = replace(request, vector=await context.embed(understood.parsed.text))
        with context.timed("relax"):
            relaxed = await _run_looser(step, request, result, context)
        if relaxed is not None:
            context.relaxed += _names(step, understood.request, relaxed[0])
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
        await named_sources.read(context, found.candidates, reading)
        return (looser, found) if found.candidates else None


def _names(step: Step, request: HybridRequest, looser: HybridRequest) -> list[str]:
    """What was done to the request, for the answer."""
    is_dropped = _conditions(request) != _conditions(looser)
    return [*(["constraints_dropped"] if is_dropped else []), *([] if step.kind == "words" else [step.kind])]


def _conditions(request: HybridRequest) -> LexicalQuery:
    """What a request requires and excludes, without its words."""
    return replace(request.lexical or _NO_CONDITIONS, words=_NOTHING, corrections=(), synonyms=())


async def _looser(step: Step, request: HybridRequest, result: HybridResult, db: Reading) -> HybridRequest | None:
    """The request to run instead of one that found nothing; None if the step changes nothing."""
    lexical = request.lexical or _NO_CONDITIONS
    excluded = lexical.excluded if step.excludes else ()
    groups = tuple(group for group in lexical.groups if isinstance(group, Negation)) if step.excludes else ()
    if not step.excludes and not lexical.excluded and not any(isinstance(one, Negation) for one in lexical.groups):
        return None
    looser = replace(lexical, strict=(), excluded=excluded, groups=groups)
    if step.kind == "words":
        return None if looser == lexical or request.lexical is None else replace(request, lexical=looser)
    if step.kind == "nearest_vectors":
        conditions = replace(looser, words=_NOTHING, corrections=(), synonyms=())
        return None if request.vector is None else replace(request, lexical=conditions, weights=Weights(1.0, 0.0))
    return None if request.lexical is None else await _respelled(replace(request, lexical=looser), result, db)


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
    lexical = replace(request.lexical or _NO_CONDITIONS, words=IndexText(text, text), corrections=(), synonyms=())
    return replace(
        request,
        lexical=lexical,
        weights=Weights(request.weights.vector, request.weights.text or 1.0),
    )


def _similar_words(stored: Mapping[str, Sequence[str]]) -> list[str]:
    return [near for word, lexemes in stored.items() for near in spelling.nearest(word, lexemes)]
