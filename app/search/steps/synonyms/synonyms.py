"""Stores a user's synonyms, and adds those of a query's words to its text leg.

The first statement of a transaction says whether the user has synonyms: a search of a user without any does nothing
more.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cachetools import Cache

from app import errors
from app.concurrency import offload
from app.database import cached_reads
from app.database.transactions import Database, Reading
from app.query.synonyms import Synonym, SynonymPhrase
from app.query.types import HybridRequest
from app.search import understanding
from app.search.steps.synonyms import lines as synonyms
from app.search.steps.synonyms import store as stored
from app.search.steps.synonyms.store import AnalysedSynonyms, PlacedLexeme, TermGroup
from app.search.steps.synonyms.types import SynonymGroup

MAX_SYNONYMS = 32
"""Synonyms that a query is expanded by, the first in the order of the groups."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A term that a query contains: the sum of the idf of its lexemes, and these."""

    idf: float
    lexemes: tuple[str, ...]


async def get(user_id: str, *, db: Database) -> list[SynonymGroup]:
    """The user's groups in their order. Raises OutsideOfKey for a caller who does not see everything."""
    if db.audience is not None:
        raise errors.OutsideOfKey("A key with filters does not list synonyms: they may name what it does not see.")
    async with db.reading(user_id) as reading:
        return await stored.get(reading)


async def put(user_id: str, groups: Sequence[SynonymGroup], *, db: Database) -> None:
    """Store groups in place of all that are stored. Raises Busy, DatabaseUnavailable, DiskFull, ReadOnly."""
    await db.check_writable()
    async with db.writing(user_id) as writing:
        await stored.put(writing, groups)


async def expanded(db: Reading, request: HybridRequest, cache: Cache[Hashable, AnalysedSynonyms]) -> HybridRequest:
    """The request with the synonyms of its words."""
    if not db.synonyms_version or request.lexical is None or not request.weights.text:
        return request
    query = await stored.lexemes_of_query(db, request.lexical.words)
    if not query:
        return request
    key = (db.user_id, frozenset(query))
    known = await cached_reads.get_or_find(cache, db.synonyms_version, key, partial(_analysed, db, query))
    return replace(request, lexical=replace(request.lexical, synonyms=tuple(_synonyms(known, query))))


async def _analysed(db: Reading, configs: Collection[str]) -> AnalysedSynonyms:
    """The user's synonyms, with their terms in these text-search configurations."""
    terms: list[str] = []
    groups = []
    for group in await stored.get(db):
        first = len(terms)
        terms += (*group.terms, *group.expand_to)
        places, middle = range(first, len(terms)), first + len(group.terms)
        groups.append(TermGroup(range(first, middle), range(middle, len(terms)) if group.expand_to else places))
    size = sum(map(len, terms))
    indexed = await offload.run(size, lambda: [understanding.index_text(term) for term in terms])
    analysed = [one async for one in stored.analyse(db, indexed, configs)]
    return await offload.run(size, AnalysedSynonyms, terms, groups, analysed)


def _synonyms(known: AnalysedSynonyms, query: Mapping[str, Sequence[PlacedLexeme]]) -> list[Synonym]:
    """The synonyms of the terms that a query contains, without those that it contains itself."""
    matches = _matches(known, query)
    written = {known.terms[place].casefold() for place in matches}
    found: dict[str, Synonym] = {}
    for group in known.groups if matches else ():
        for place in set(group.terms).intersection(matches):
            for other in group.expansions:
                term, match = known.terms[other], matches[place]
                if term.casefold() in written or (term in found and found[term].idf >= match.idf):
                    continue
                if term in found or len(found) < MAX_SYNONYMS:
                    found[term] = _synonym(known, place, other, match, query)
    return list(found.values())


def _matches(known: AnalysedSynonyms, query: Mapping[str, Sequence[PlacedLexeme]]) -> dict[int, _Match]:
    """The terms that a query contains in any text-search configuration, by their places."""
    found: dict[int, _Match] = {}
    for config, lexemes in query.items():
        positions = {one.lexeme: one.positions for one in lexemes}
        idf = {one.lexeme: one.idf for one in lexemes}
        for first in lexemes:
            for term in known.by_first.get((config, first.lexeme), ()):
                if not synonyms.contains(term.lexemes, term.offsets, positions):
                    continue
                before = found.get(term.place, _Match(0.0, ()))
                total = sum(idf[lexeme] for lexeme in set(term.lexemes))
                found[term.place] = _Match(max(before.idf, total), (*before.lexemes, *term.lexemes))
    return found


def _synonym(known: AnalysedSynonyms, place: int, other: int, match: _Match, configs: Collection[str]) -> Synonym:
    forms = [(config, known.by_place[config, other]) for config in configs if (config, other) in known.by_place]
    return Synonym(
        word=known.terms[place],
        term=known.terms[other],
        idf=match.idf,
        sources=match.lexemes,
        lexemes=tuple(dict.fromkeys(form.lexemes[0] for _, form in forms if len(form.lexemes) == 1)),
        phrases=tuple(
            SynonymPhrase(config, form.lexemes, form.query) for config, form in forms if len(form.lexemes) > 1
        ),
    )


def explained(found: Sequence[Synonym]) -> dict[str, list[str]]:
    """The synonyms by the words of the query, as the groups have them."""
    by_word: dict[str, list[str]] = {}
    for one in found:
        by_word.setdefault(one.word, []).append(one.term)
    return by_word
