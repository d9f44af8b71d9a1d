"""Finds the stored words that begin like given ones, are one typing error away from them, or have a sign only."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.database import sql
from app.database.transactions import Reading
from app.documents.store import visible_documents
from app.text.queries.conditions import IndexText

MAX_LEXEMES = 2_000
PREFIX = 2
MOST_READ = 200
"""Chunks that a restricted caller sees up to which their texts are read for lexemes, instead of postings."""


async def starting_like(db: Reading, words: Collection[str]) -> dict[str, list[str]]:
    """For each word up to 2,000 stored lexemes with its first two letters, by descending document frequency.

    The lexemes are ranges of the key, whose column has collation C: LIKE would not use the index under row-level
    security.
    """
    lexemes = await beginning_with(db, list(dict.fromkeys(word[:PREFIX] for word in words)), limit=MAX_LEXEMES)
    return {word: lexemes.get(word[:PREFIX], []) for word in words}


async def beginning_with(db: Reading, prefixes: Sequence[str], *, limit: int) -> dict[str, list[str]]:
    """For each prefix up to `limit` stored lexemes that begin with it, by descending document frequency."""
    binds = {
        "user_id": db.user_id,
        "firsts": prefixes,
        "ends": [_after(first) for first in prefixes],
        "queries": [f"{_quoted(first)}:*" for first in prefixes],
        "most_read": MOST_READ,
        "limit": limit,
    }
    parts, seen = await visible_documents.wanted(db)
    rows = await db.execute(sql.statement("lexemes_by_prefix", *parts), {**binds, **seen})
    return {row.first: row.lexemes for row in rows}


@dataclass(frozen=True, slots=True)
class EditedWord:
    """A word, and the words that one typing error turns into it, as one text."""

    word: IndexText
    edits: IndexText


async def corrections(db: Reading, words: Mapping[str, EditedWord], *, limit: int) -> dict[str, list[str]]:
    """For each word that no visible chunk contains, the lexemes of its edits that are stored, the most frequent first.

    Words without a lexeme of their own, such as stop words, have none.
    """
    given = list(words.values())
    binds = {
        "user_id": db.user_id,
        "words": list(words),
        "words_folded": [one.word.folded for one in given],
        "words_plain": [one.word.plain for one in given],
        "edits_folded": [one.edits.folded for one in given],
        "edits_plain": [one.edits.plain for one in given],
        "limit": limit,
    }
    parts, seen = await visible_documents.wanted(db)
    rows = await db.execute(sql.statement("corrections_of_words", *parts), {**binds, **seen})
    return {row.word: row.lexemes for row in rows}


async def signed(db: Reading, words: Mapping[str, IndexText]) -> list[str]:
    """The words that the visible texts contain behind a minus sign only, such as "rf" of "-rf"."""
    binds = {
        "user_id": db.user_id,
        "words": [re.escape(word) for word in words],
        "words_folded": [text.folded for text in words.values()],
        "words_plain": [text.plain for text in words.values()],
        "most_read": MOST_READ,
    }
    found = set(await db.scalars(sql.statement("signed_words"), binds))
    return [word for word in words if re.escape(word) in found]


def _quoted(lexeme: str) -> str:
    """A lexeme in the syntax of tsquery."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _after(start: str) -> str:
    following = min(ord(start[-1]) + 1, 0x10FFFF)
    return start[:-1] + chr(0xE000 if following == 0xD800 else following)
