"""Finds the stored lexemes that begin like given words."""

from __future__ import annotations

from collections.abc import Collection

from app.store.connection import sql
from app.store.connection.transactions import Reading

MAX_LEXEMES = 2_000
PREFIX = 2


async def starting_like(db: Reading, words: Collection[str]) -> dict[str, list[str]]:
    """For each word up to 2,000 stored lexemes with its first two letters, by descending document frequency.

    The lexemes are ranges of the key, whose column has collation C: LIKE would not use the index under row-level
    security.
    """
    firsts = list(dict.fromkeys(word[:PREFIX] for word in words))
    binds = {"user_id": db.user_id, "firsts": firsts, "ends": [_after(first) for first in firsts], "limit": MAX_LEXEMES}
    lexemes = {row.first: row.lexemes for row in await db.execute(sql.statement("lexemes_by_prefix"), binds)}
    return {word: lexemes.get(word[:PREFIX], []) for word in words}


def _after(start: str) -> str:
    following = min(ord(start[-1]) + 1, 0x10FFFF)
    return start[:-1] + chr(0xE000 if following == 0xD800 else following)
