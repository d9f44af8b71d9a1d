"""Finds the stored lexemes that begin like a given word."""

from __future__ import annotations

import sqlalchemy as sa

from app.store import tables
from app.store.db import Reading

MAX_LEXEMES = 2_000


async def starting_like(db: Reading, user_id: str, *, word: str) -> list[str]:
    """Up to 2,000 stored lexemes that start with the word's first two letters, by descending document frequency.

    A range on a column under collation C: LIKE would not use its index under row-level security.
    """
    start = word[:2]
    column = tables.lexemes.c
    query = (
        sa.select(column.lexeme)
        .where(column.user_id == user_id, column.lexeme >= start, column.lexeme < _after(start))
        .order_by(column.df.desc(), column.lexeme)
        .limit(MAX_LEXEMES)
    )
    return list(await db.scalars(query))


def _after(start: str) -> str:
    following = min(ord(start[-1]) + 1, 0x10FFFF)
    return start[:-1] + chr(0xE000 if following == 0xD800 else following)
