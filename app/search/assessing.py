"""Assesses how probable it is that the candidates of a search answer its query, from what the statement has found."""

from __future__ import annotations

from app.relevance import cosines, relevance, unknown_names
from app.relevance.cosines import MeasuredModels
from app.search.state import SearchContext, SearchState
from app.text.names import names
from app.text.words import languages

LEAST_SHARE = 0.15
"""Share of the weights from which the vector leg says whether a query is answered: it has less with a model that does
not read the language."""


async def assess(search: SearchState) -> relevance.Assessment | None:
    """What assesses the hits; None for a vector alone, of which nobody knows what it is the vector of."""
    if not search.parsed.text:
        return None
    result = search.result
    is_foreign = search.lacks_words and _is_foreign(search)
    return relevance.Assessment(
        search.request.fusion,
        cosine=await _cosine(search),
        coverage=relevance.coverage(result.best_text_score, result.terms),
        closeness=relevance.closeness(result.candidates[0].content, result.terms) if result.candidates else 0.0,
        is_foreign=is_foreign,
        is_literal=_is_literal(search),
        names_unknown=search.lacks_words and not is_foreign and bool(_unknown_names(search)),
        entities=search.effect,
        calibration=search.context.calibration or relevance.UNCALIBRATED,
    )


async def _cosine(search: SearchState) -> float | None:
    """The best cosine above that of unrelated texts; None without the vector leg, or if it counts next to nothing."""
    weights = search.weights
    if search.result.best_cosine is None or weights.vector < LEAST_SHARE * (weights.vector + weights.text):
        return None
    unrelated = await _unrelated_cosine(search.context)
    return None if unrelated is None else cosines.above(search.result.best_cosine, unrelated)


async def _unrelated_cosine(context: SearchContext) -> float | None:
    """The cosine of unrelated texts with the model of the search; None if it cannot be measured."""
    services, measured = context.services, context.services.state(MeasuredModels)
    found = cosines.known(services.embedder, measured)
    if found is not None:
        return found
    async with context.waiting_for(services.embedder):
        return await cosines.measure(services.embedder, measured, timeout_s=services.budget.embed_s)


def _is_literal(search: SearchState) -> bool:
    """Whether hits contain the phrases of the query, or its only word or identifier."""
    if search.is_relaxed or search.parsed.phrases:
        return not search.is_relaxed
    words = relevance.own_words(search.result.terms) if len(search.parsed.words.split()) == 1 else []
    return bool(words) and all(word.df for word in words)


def _is_foreign(search: SearchState) -> bool:
    """Whether the query is in another language than the best hit."""
    return not languages.may_be_in(search.parsed.text, search.result.candidates[0].config)


def _unknown_names(search: SearchState) -> list[str]:
    """The names of the query that neither a document nor an entity has, in any spelling that was searched for."""
    lexical, result = search.request.lexical, search.result
    stored = {term.lexeme for term in result.terms if term.df}
    added = [one.word for one in lexical.added if stored.intersection(one.forms)] if lexical else []
    known = search.name_words.union(*map(names.words, added))
    return unknown_names.find(search.parsed.text, result.terms, config=result.candidates[0].config, known_words=known)
