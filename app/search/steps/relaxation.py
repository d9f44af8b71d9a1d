"""Runs looser requests for a query that found nothing: without requirements, then the nearest vectors.

What is excluded stays excluded, unless it excludes everything.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Literal, NamedTuple, get_args

from app.database.transactions import SearchTransaction
from app.query.types import HybridRequest, LexicalQuery, Weights
from app.search.state import SearchState, Step
from app.text.queries.conditions import EMPTY, Negation

Kind = Literal["words", "nearest_vectors"]


class Loosening(NamedTuple):
    """A looser request of the words or of the vector, and whether it keeps what is excluded."""

    kind: Kind
    excludes: bool


LOOSENINGS = tuple(Loosening(kind, excludes) for excludes in (True, False) for kind in get_args(Kind))

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
            looser = _loosen(loosening, request)
            found = search if looser is None else await replace(search, pool=0).run(db, looser)
            if looser is not None and found.result.candidates:
                return replace(found, is_relaxed=True, relaxed=_names(loosening, search, looser))
    return search


def _names(loosening: Loosening, search: SearchState, looser: HybridRequest) -> tuple[str, ...]:
    """What was done to the query, for the answer."""
    is_dropped = _conditions(search.request) != _conditions(looser)
    dropped = ("constraints_dropped",) if is_dropped else ()
    return (*dropped, *search.relaxed) if loosening.kind == "words" else (*dropped, loosening.kind)


def _conditions(request: HybridRequest) -> LexicalQuery:
    """The requirements and exclusions of a request, without its words."""
    return replace(request.lexical or _NO_CONDITIONS, words=EMPTY, added=())


def _loosen(loosening: Loosening, request: HybridRequest) -> HybridRequest | None:
    """The request to run instead of one that found nothing; None if that changes nothing."""
    lexical = request.lexical or _NO_CONDITIONS
    excluded = lexical.excluded if loosening.excludes else ()
    groups = tuple(group for group in lexical.groups if isinstance(group, Negation)) if loosening.excludes else ()
    if not loosening.excludes and not lexical.excluded and not any(isinstance(one, Negation) for one in lexical.groups):
        return None
    looser = replace(lexical, strict=(), excluded=excluded, groups=groups)
    if loosening.kind == "words":
        return None if looser == lexical or request.lexical is None else replace(request, lexical=looser)
    conditions = replace(looser, words=EMPTY, added=())
    return None if request.vector is None else replace(request, lexical=conditions, weights=Weights(1.0, 0.0))


STEP = Step(uses=attrgetter("found_nothing"), recall=recall)
