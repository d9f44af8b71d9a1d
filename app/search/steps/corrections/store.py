"""Finds the stored words that are one typing error away from given ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.database import sql
from app.database.transactions import Reading
from app.documents.store import visible_documents
from app.text.queries.conditions import IndexText


@dataclass(frozen=True, slots=True)
class EditedWord:
    """A word, and the words that one typing error turns into it, as one text."""

    word: IndexText
    edits: IndexText


async def find(db: Reading, words: Mapping[str, EditedWord], *, limit: int) -> dict[str, list[str]]:
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
