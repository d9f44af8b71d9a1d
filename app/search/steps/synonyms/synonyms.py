"""Stores a user's synonyms, and adds the synonyms of a query's words to its text leg.

The first statement of a transaction reads whether the user has synonyms, so a search without synonyms costs nothing
more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

from app import errors
from app.concurrency import offload
from app.database import transactions
from app.query.search_types import AddedPhrase, AddedTerm
from app.search import hybrid_request
from app.search.state import SearchState, Step
from app.search.steps.synonyms import store as stored
from app.search.steps.synonyms.store import AnalysedSynonyms, PlacedLexeme, SynonymCache
from app.search.steps.synonyms.synonym_lines import SynonymGroup

ORIGIN = "synonyms"
MAX_SYNONYMS = 32
"""Most synonyms that expand a query, in the order of the groups."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A term that a query contains: its lexemes, and the sum of their idf."""

    idf: float
    lexemes: tuple[str, ...]


@transactions.retry_read
async def get(user_id: str, *, db: transactions.Database) -> list[SynonymGroup]:
    """The user's groups in their order. Raises OutsideOfKey for a caller who does not see everything."""
    if db.audience is not None:
        raise errors.OutsideOfKey("A key with filters does not list synonyms: they may name what it does not see.")
    async with db.reading(user_id) as reading:
        return await stored.get(reading)


async def put(user_id: str, groups: Sequence[SynonymGroup], *, db: transactions.Database) -> None:
    """Replace all stored groups. Raises Busy, DatabaseUnavailable, DiskFull, ReadOnly."""
    await db.check_writable()
    async with db.writing(user_id) as writing:
        await stored.put(writing, groups)


async def expand(search: SearchState, db: transactions.SearchTransaction) -> SearchState:
    """Add the synonyms of the query's words to its text leg."""
    request, lexical = search.request, search.request.lexical
    if lexical is None or not request.weights.text:
        return search
    query = await stored.lexemes_of_query(db, lexical.words)
    if not query:
        return search
    cache, key = search.context.services.state(SynonymCache), (db.user_id, frozenset(query))
    known = await transactions.get_or_find(cache, db.entered.synonyms_version, key, partial(_analyse, db, query))
    synonyms = [replace(one, is_shown=db.restriction is None) for one in _synonyms(known, query)]
    added = (*lexical.added, *synonyms)
    return replace(search, request=replace(request, lexical=replace(lexical, added=added)))


async def _analyse(db: transactions.Reading, configs: Collection[str]) -> AnalysedSynonyms:
    """The user's synonyms, with their terms in these text-search configurations."""
    groups = await stored.get(db)
    texts = list(dict.fromkeys(text for group in groups for text in (*group.terms, *group.expand_to)))
    size = sum(map(len, texts))
    indexed = await offload.run(size, lambda: [hybrid_request.index_text(text) for text in texts])
    terms = {(config, texts[place]): term async for config, place, term in stored.analyse(db, indexed, configs)}
    return await offload.run(size, AnalysedSynonyms, groups, terms)


def _synonyms(known: AnalysedSynonyms, query: Mapping[str, Sequence[PlacedLexeme]]) -> list[AddedTerm]:
    """The synonyms of the terms that a query contains, without synonyms that are in the query too."""
    matches = _matches(known, query)
    written = {term.casefold() for term in matches}
    found: dict[str, AddedTerm] = {}
    for group in known.groups if matches else ():
        for word in (term for term in group.terms if term in matches):
            for term in group.expand_to or group.terms:
                if term.casefold() in written or (term in found and (found[term].idf or 0.0) >= matches[word].idf):
                    continue
                if term in found or len(found) < MAX_SYNONYMS:
                    found[term] = _synonym(known, word, term, matches[word], query)
    return list(found.values())


def _matches(known: AnalysedSynonyms, query: Mapping[str, Sequence[PlacedLexeme]]) -> dict[str, _Match]:
    """The terms that a query contains in any text-search configuration."""
    found: dict[str, _Match] = {}
    for config, lexemes in query.items():
        positions = {one.lexeme: one.positions for one in lexemes}
        idf = {one.lexeme: one.idf for one in lexemes}
        for first in lexemes:
            for text in known.by_first.get((config, first.lexeme), ()):
                term = known.terms[config, text]
                if not contains(term.lexemes, term.offsets, positions):
                    continue
                before = found.get(text, _Match(0.0, ()))
                total = sum(idf[lexeme] for lexeme in set(term.lexemes))
                found[text] = _Match(max(before.idf, total), (*before.lexemes, *term.lexemes))
    return found


def contains(lexemes: Sequence[str], offsets: Sequence[int], query: Mapping[str, Iterable[int]]) -> bool:
    """Whether a query, given as the positions of its lexemes, contains the lexemes of a term at these distances."""
    positions = [frozenset(query.get(lexeme, ())) for lexeme in lexemes]
    return any(
        all(start + offset in found for found, offset in zip(positions, offsets, strict=True)) for start in positions[0]
    )


def _synonym(known: AnalysedSynonyms, word: str, text: str, match: _Match, configs: Collection[str]) -> AddedTerm:
    forms = [(config, known.terms[config, text]) for config in configs if (config, text) in known.terms]
    return AddedTerm(
        ORIGIN,
        word,
        text,
        idf=match.idf,
        alternative_to=match.lexemes,
        lexemes=tuple(dict.fromkeys(form.lexemes[0] for _, form in forms if len(form.lexemes) == 1)),
        phrases=tuple(AddedPhrase(config, form.lexemes, form.query) for config, form in forms if len(form.lexemes) > 1),
    )


def explain(search: SearchState) -> dict[str, Any]:
    """The synonyms by word of the query, as the groups write them; none for a caller who may not list them."""
    by_word: dict[str, list[str]] = {}
    for one in search.request.lexical.added if search.request.lexical else ():
        if one.origin == ORIGIN and one.is_shown:
            by_word.setdefault(one.word, []).append(one.text)
    return {"synonyms": by_word}


STEP = Step(uses=attrgetter("context.entered.synonyms_version"), expand=expand, explain=explain)
