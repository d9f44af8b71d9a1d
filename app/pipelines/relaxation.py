"""Relaxes a query that found nothing, step by step, so that only filters can make an answer empty.

First quotes, required and excluded words are dropped, then unknown words are replaced by stored ones of similar
spelling, and last the nearest chunks by vector are returned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.shapes import HybridRequest, HybridResult, IndexText, LexicalQuery, Weights
from app.store import vocabulary
from app.store.db import Reading
from app.text import spelling


@dataclass(frozen=True, slots=True)
class Step:
    """One relaxation, by its name in the answer's `relaxed`."""

    name: str
    needs_vector: bool = False


DROP_CONSTRAINTS = Step("constraints_dropped")
SIMILAR_WORDS = Step("similar_words")
NEAREST = Step("nearest_vectors", needs_vector=True)
STEPS = (DROP_CONSTRAINTS, SIMILAR_WORDS, NEAREST)


async def loosened(step: Step, request: HybridRequest, result: HybridResult, db: Reading) -> HybridRequest | None:
    """The request to run instead of one that found nothing; None if the step changes nothing."""
    if step is NEAREST:
        return None if request.vector is None else replace(request, lexical=None, weights=Weights(1.0, 0.0))
    if request.lexical is None:
        return None
    if step is DROP_CONSTRAINTS:
        bound = request.lexical.strict or request.lexical.excluded
        return replace(request, lexical=LexicalQuery(request.lexical.words)) if bound else None
    return await _respelled(request, result, db)


async def _respelled(request: HybridRequest, result: HybridResult, db: Reading) -> HybridRequest | None:
    """The request with its unknown words replaced by stored ones with the same beginning or a similar spelling."""
    unknown = [term.lexeme for term in result.terms if term.df == 0]
    known = {word: await vocabulary.starting_like(db, request.user_id, word=word) for word in unknown}
    words = [near for word, stored in known.items() for near in spelling.nearest(word, stored)]
    if not words:
        return None
    text = " ".join(words)
    return replace(
        request,
        lexical=LexicalQuery(IndexText(text, text)),
        weights=Weights(request.weights.vector, request.weights.text or 1.0),
    )
