"""Runs looser requests for a query that found nothing: no requirements, similar words, then nearest vectors.

First the required conditions are dropped, then unknown words are replaced by stored words of similar spelling, then the
nearest chunks by vector are returned. Exclusions stay, unless they exclude everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Literal, NamedTuple, get_args

from app.concurrency import offload
from app.database.transactions import Reading, SearchTransaction
from app.query.types import HybridRequest, HybridResult, LexicalQuery, Weights
from app.search.state import SearchState, Step
from app.search.store import vocabulary
from app.text.queries import spelling
from app.text.queries.conditions import EMPTY, IndexText, Negation

Kind = Literal["words", "similar_words", "nearest_vectors"]


class Loosening(NamedTuple):
    """A kind of looser request (by the words, by similar words or by the vector), and whether it keeps exclusions."""

    kind: Kind
    excludes: bool


LOOSENINGS = tuple(Loosening(kind, excludes) for excludes in (True, False) for kind in get_args(Kind))

MAX_UNKNOWN_WORDS = 16
"""Most unknown words of a query to replace. The longest are chosen: they have the fewest neighbours by chance."""
COMPARISON_COST = 10
"""Cost of comparing a word with a stored word, in units of `offload.run`."""

_NO_CONDITIONS = LexicalQuery(EMPTY)


async def recall(search: SearchState, db: SearchTransaction) -> SearchState:
    """Run looser requests until one finds anything, if the search found nothing and any chunk is in scope.

    If it needs the vector of the text and the request has none, it asks for the vector and is run again.
    """
    await db.use_custom_plans()
    request = search.request
    if request.vector is None:
        request = replace(request, vector=search.spare_vector)
    with search.context.timed("relax"):
        for loosening in LOOSENINGS:
            is_nearest = loosening.kind == "nearest_vectors"
            if is_nearest and request.vector is None and "embedding_failed" not in search.context.degraded:
                return replace(search, wants_vector=True)
            looser = await _loosen(loosening, request, search.result, db)
            found = search if looser is None else await replace(search, pool=0).run(db, looser)
            if looser is not None and found.result.candidates:
                return replace(found, is_relaxed=True, relaxed=_names(loosening, search.request, looser))
    return search


def _names(loosening: Loosening, request: HybridRequest, looser: HybridRequest) -> tuple[str, ...]:
    """The names of the changes of the request, for the answer."""
    is_dropped = _conditions(request) != _conditions(looser)
    dropped = ("constraints_dropped",) if is_dropped else ()
    return dropped if loosening.kind == "words" else (*dropped, loosening.kind)


def _conditions(request: HybridRequest) -> LexicalQuery:
    """The requirements and exclusions of a request, without its words."""
    return replace(request.lexical or _NO_CONDITIONS, words=EMPTY, added=())


async def _loosen(
    loosening: Loosening, request: HybridRequest, result: HybridResult, db: Reading
) -> HybridRequest | None:
    """Loosens a request that found nothing; None if this changes nothing."""
    lexical = request.lexical or _NO_CONDITIONS
    excluded = lexical.excluded if loosening.excludes else ()
    groups = tuple(group for group in lexical.groups if isinstance(group, Negation)) if loosening.excludes else ()
    if not loosening.excludes and not lexical.excluded and not any(isinstance(one, Negation) for one in lexical.groups):
        return None
    looser = replace(lexical, strict=(), excluded=excluded, groups=groups)
    if loosening.kind == "words":
        return None if looser == lexical or request.lexical is None else replace(request, lexical=looser)
    if loosening.kind == "nearest_vectors":
        conditions = replace(looser, words=EMPTY, added=())
        return None if request.vector is None else replace(request, lexical=conditions, weights=Weights(1.0, 0.0))
    return None if request.lexical is None else await _respell(replace(request, lexical=looser), result, db)


async def _respell(request: HybridRequest, result: HybridResult, db: Reading) -> HybridRequest | None:
    """Replaces the longest unknown words of a request by their completions and by words of similar spelling."""
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
    lexical = replace(request.lexical or _NO_CONDITIONS, words=IndexText(text, text), added=())
    return replace(
        request,
        lexical=lexical,
        weights=Weights(request.weights.vector, request.weights.text or 1.0),
    )


def _similar_words(stored: Mapping[str, Sequence[str]]) -> list[str]:
    return [near for word, lexemes in stored.items() for near in spelling.nearest(word, lexemes)]


STEP = Step(uses=attrgetter("found_nothing"), recall=recall)
