"""Runs looser requests for a query that found nothing: without requirements, then the nearest vectors.

What is excluded stays excluded, unless it excludes everything.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from operator import attrgetter

from app.database.transactions import SearchTransaction
from app.query.search_types import HybridRequest, LexicalQuery, Weights
from app.search.state import SearchState, Step
from app.text.queries.parsed_query import EMPTY, Negation

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
        for excludes, by_words in itertools.product((True, False), (True, False)):
            if not by_words and request.vector is None and "embedding_failed" not in search.context.degraded:
                return replace(search, wants_vector=True)
            looser = _loosen(request, excludes=excludes, by_words=by_words)
            if looser is None:
                continue
            found = await replace(search, pool=0).recall(db, looser)
            if found.result.candidates:
                is_dropped = _conditions(search.request) != _conditions(looser)
                dropped = ("constraints_dropped",) if is_dropped else ()
                done = search.relaxed if by_words else ("nearest_vectors",)
                return replace(found, is_relaxed=True, relaxed=(*dropped, *done))
    return search


def _conditions(request: HybridRequest) -> LexicalQuery:
    """The requirements and exclusions of a request, without its words."""
    return replace(request.lexical or _NO_CONDITIONS, words=EMPTY, added=())


def _loosen(request: HybridRequest, *, excludes: bool, by_words: bool) -> HybridRequest | None:
    """A looser request by words or vector, with or without exclusions; None if input is missing or nothing changes."""
    lexical = request.lexical or _NO_CONDITIONS
    negations = tuple(group for group in lexical.groups if isinstance(group, Negation))
    if not (excludes or lexical.excluded or negations):
        return None
    looser = replace(lexical, strict=(), groups=negations)
    if not excludes:
        looser = replace(looser, excluded=(), groups=())
    if by_words:
        return None if looser == lexical or request.lexical is None else replace(request, lexical=looser)
    conditions = replace(looser, words=EMPTY, added=())
    return None if request.vector is None else replace(request, lexical=conditions, weights=Weights(1.0, 0.0))


STEP = Step(uses=attrgetter("found_nothing"), recall=recall)
