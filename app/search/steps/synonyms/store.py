"""Stores a user's groups of synonyms in the user's row, and analyses their terms and the words of queries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from cachetools import LRUCache

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.search.steps.synonyms.synonym_lines import SynonymGroup
from app.text.queries.parsed_query import IndexText

_t = tables.tenants.c


SLICE = 500
"""Terms that one statement analyses. Reading its rows blocks the event loop."""


@dataclass(frozen=True, slots=True)
class PlacedLexeme:
    """A lexeme of a query, its positions, and its idf in the user's chunks."""

    lexeme: str
    positions: tuple[int, ...]
    idf: float


@dataclass(frozen=True, slots=True)
class AnalysedTerm:
    """A term in one text-search configuration: its lexemes with their distances from the first, and its tsquery."""

    lexemes: tuple[str, ...]
    offsets: tuple[int, ...]
    query: str


class AnalysedSynonyms:
    """The groups of synonyms of a user, and the analysed terms by configuration and text.

    `by_first` has the texts of the terms by configuration and first lexeme.
    """

    def __init__(self, groups: Sequence[SynonymGroup], terms: Mapping[tuple[str, str], AnalysedTerm]) -> None:
        self.groups, self.terms = groups, terms
        self.by_first: dict[tuple[str, str], list[str]] = {}
        for (config, text), term in terms.items():
            self.by_first.setdefault((config, term.lexemes[0]), []).append(text)
        self.size = 1 + sum(len(one.terms) + len(one.expand_to) for one in groups) + len(terms)


_LEXEMES_OF_QUERY = sql.inline(
    """
    SELECT s.config, t.lexeme, t.positions, {{idf u, l}} AS idf
    FROM (
        SELECT CAST(coalesce(sum(o.chunks), 0) AS float8) AS chunks
        FROM stepwell.text_statistics AS o WHERE o.user_id = :user_id
    ) AS u
    CROSS JOIN stepwell.text_statistics AS s
    CROSS JOIN LATERAL unnest(
        to_tsvector(CAST(s.config AS regconfig), {{text_for s.config, :folded::text, :plain::text}})) AS t
    LEFT JOIN LATERAL (
        {{document_frequency t.lexeme COLLATE "C"}}
    ) AS l ON true
    WHERE s.user_id = :user_id AND s.chunks > 0
    """
)

_LEXEMES_OF_TERMS = sql.inline(
    """
    SELECT g.config, CAST(p.place AS integer) AS place, array_agg(t.lexeme ORDER BY t.position, t.lexeme) AS lexemes,
           array_agg(CAST(t.position AS integer) ORDER BY t.position, t.lexeme) AS positions,
           CAST({{within_one_field q.phrase, 'ABCD'}} AS text) AS query
    FROM unnest(:configs::text[]) AS g (config)
    CROSS JOIN unnest(:folded::text[], :plain::text[]) WITH ORDINALITY AS p (folded, plain, place)
    CROSS JOIN LATERAL (
        SELECT phraseto_tsquery(CAST(g.config AS regconfig), {{text_for g.config, p.folded, p.plain}}) AS phrase
    ) AS q
    CROSS JOIN LATERAL (
        SELECT w.lexeme, unnest(w.positions) AS position
        FROM unnest(to_tsvector(CAST(g.config AS regconfig), {{text_for g.config, p.folded, p.plain}})) AS w
    ) AS t
    GROUP BY g.config, p.place, q.phrase
    """
)


async def get(db: Reading) -> list[SynonymGroup]:
    """The user's groups in their order."""
    stored = await db.scalar(sa.select(_t.synonyms).where(_t.user_id == db.user_id))
    return [SynonymGroup(tuple(one["terms"]), tuple(one.get("expand_to", ()))) for one in stored or ()]


async def put(db: Writing, groups: Sequence[SynonymGroup]) -> None:
    """Replace all stored groups, and increase the user's version."""
    await db.lock()
    values = {"synonyms": list(map(_stored, groups)), "synonyms_version": db.written_version if groups else 0}
    await db.execute(sa.update(tables.tenants).where(_t.user_id == db.user_id).values(**values))


def _stored(group: SynonymGroup) -> dict[str, list[str]]:
    expansion = {"expand_to": list(group.expand_to)} if group.expand_to else {}
    return {"terms": list(group.terms), **expansion}


async def lexemes_of_query(db: Reading, words: IndexText) -> dict[str, list[PlacedLexeme]]:
    """The lexemes of the words of a query in each text-search configuration of the user's chunks."""
    binds = {"user_id": db.user_id, "folded": words.folded, "plain": words.plain}
    found: dict[str, list[PlacedLexeme]] = {}
    for row in await db.execute(_LEXEMES_OF_QUERY, binds):
        found.setdefault(row.config, []).append(PlacedLexeme(row.lexeme, tuple(row.positions), row.idf))
    return found


async def analyse(
    db: Reading, terms: Sequence[IndexText], configs: Collection[str]
) -> AsyncIterator[tuple[str, int, AnalysedTerm]]:
    """Each term that a text-search configuration indexes, with the configuration and the place of the term."""
    for first in range(0, len(terms), SLICE):
        some = terms[first : first + SLICE]
        binds = {"configs": list(configs), **sql.columns(some, "folded", "plain")}
        for row in await db.execute(_LEXEMES_OF_TERMS, binds):
            offsets = tuple(position - row.positions[0] for position in row.positions)
            yield row.config, first + row.place - 1, AnalysedTerm(tuple(row.lexemes), offsets, row.query)


CACHED_TERMS = 100_000
"""Most analysed terms that a process caches, for all users together."""


class SynonymCache(LRUCache[Hashable, AnalysedSynonyms]):
    """Analysed synonyms, by version, user and text-search configurations."""

    def __init__(self) -> None:
        super().__init__(CACHED_TERMS, getsizeof=lambda synonyms: synonyms.size)
