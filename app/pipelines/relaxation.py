"""What may be dropped from a query that found nothing?

An answer is empty only where no chunk passes the filters: first the quotes, required and excluded words go, then words
are widened to what they may have meant, and at last the nearest chunks by meaning answer (SPEC §3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.shapes import IndexText, Lexical, Recall, Recalled, Weights
from app.store import vocabulary
from app.store.db import Reading
from app.text import spelling


@dataclass(frozen=True, slots=True)
class Step:
    """One relaxation, by the name that the answer gives it."""

    name: str
    needs_vector: bool = False


DROP_CONSTRAINTS = Step("constraints_dropped")
SIMILAR_WORDS = Step("similar_words")
NEAREST = Step("nearest_vectors", needs_vector=True)
STEPS = (DROP_CONSTRAINTS, SIMILAR_WORDS, NEAREST)


async def loosened(step: Step, ask: Recall, found: Recalled, db: Reading) -> Recall | None:
    """What to ask instead of `ask`, which found nothing; None where the step changes nothing."""
    if step is NEAREST:
        return None if ask.vector is None else replace(ask, lexical=None, weights=Weights(1.0, 0.0))
    if ask.lexical is None:
        return None
    if step is DROP_CONSTRAINTS:
        bound = ask.lexical.strict or ask.lexical.excluded
        return replace(ask, lexical=Lexical(ask.lexical.words)) if bound else None
    return await _respelled(ask, found, db)


async def _respelled(ask: Recall, found: Recalled, db: Reading) -> Recall | None:
    """The query's unknown words replaced by stored ones that begin like them or are spelled like them."""
    unknown = [term.lexeme for term in found.terms if term.df == 0]
    known = {word: await vocabulary.starting_like(db, ask.user_id, word=word) for word in unknown}
    words = [near for word, stored in known.items() for near in spelling.nearest(word, stored)]
    if not words:
        return None
    text = " ".join(words)
    return replace(
        ask, lexical=Lexical(IndexText(text, text)), weights=Weights(ask.weights.vector, ask.weights.text or 1.0)
    )
