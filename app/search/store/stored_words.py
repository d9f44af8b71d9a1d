"""Finds stored words that begin like given words, and words that occur in texts only after a minus sign."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.database import sql
from app.database.transactions import Reading
from app.documents.store import visible_document_lists
from app.text.queries.parsed_query import IndexText

MOST_READ = 200
"""Most chunks whose texts are read: those of a restricted caller, to find lexemes (otherwise postings are read), and
those with a word, to find a minus sign before it."""


async def find_by_prefix(db: Reading, prefixes: Sequence[str], *, limit: int) -> dict[str, list[str]]:
    """For each prefix, up to `limit` stored lexemes that begin with it, by descending document frequency."""
    binds = {
        "user_id": db.user_id,
        "firsts": prefixes,
        "ends": [_after(first) for first in prefixes],
        "queries": ["'" + first.replace("\\", "\\\\").replace("'", "''") + "':*" for first in prefixes],
        "most_read": MOST_READ,
        "limit": limit,
    }
    parts, seen = await visible_document_lists.visible_binds(db)
    rows = await db.execute(sql.statement("lexemes_by_prefix", *parts), {**binds, **seen})
    return {row.first: row.lexemes for row in rows}


async def find_signed(db: Reading, words: Mapping[str, IndexText]) -> list[str]:
    """Returns the words that occur only after a minus sign, such as "rf" in "-rf".

    At most MOST_READ visible chunks with each word are read.
    """
    binds = {
        "user_id": db.user_id,
        "words": [re.escape(word) for word in words],
        "words_folded": [text.folded for text in words.values()],
        "words_plain": [text.plain for text in words.values()],
        "most_read": MOST_READ,
    }
    found = set(await db.scalars(sql.statement("signed_words"), binds))
    return [word for word in words if re.escape(word) in found]


def _after(start: str) -> str:
    following = min(ord(start[-1]) + 1, 0x10FFFF)
    return start[:-1] + chr(0xE000 if following == 0xD800 else following)
