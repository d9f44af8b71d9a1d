"""Finds the chunks to link again because a name has changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading
from app.entities.store import mentions

_c = tables.chunks.c
FOLDED = ("english", "simple")
"""The configurations whose index folds accents, as the comparison of names does, and does not cut words off."""


class ChangedForm(NamedTuple):
    """A form of a changed name, by which chunks that may contain the name are found.

    `indexed` are words that the index has for every text with the form; empty if the index cannot tell. `before` is the
    number of the first chunk that was linked after the change.
    """

    indexed: str
    before: int


async def candidates(db: Reading, forms: Sequence[ChangedForm]) -> set[int]:
    """The chunks that may contain one of the forms, by the words in the index.

    For a form without indexed words, all chunks are candidates. Chunks with another configuration than FOLDED are
    candidates for every form, because names are compared by whole words without accents.
    """
    found: set[int] = set()
    untold = [form.before for form in forms if not form.indexed]
    told = [form for form in forms if form.indexed]
    if told:
        binds = {"indexed": [form.indexed for form in told], "befores": [form.before for form in told]}
        for row in await db.execute(sql.statement("chunks_with_names"), {"user_id": db.user_id, **binds}):
            if row.chunk_no is None:
                untold.append(told[row.place - 1].before)
            else:
                found.add(row.chunk_no)
    if untold:
        found |= await _chunks(db, _c.chunk_no < max(untold))
    s = tables.text_statistics.c
    accented = sa.select(s.config).where(s.user_id == db.user_id, s.chunks > 0, s.config.not_in(FOLDED)).limit(1)
    if await db.scalar(accented) is not None:
        found |= await _chunks(db, _c.chunk_no < max(form.before for form in forms), _c.config.not_in(FOLDED))
    return found


async def _chunks(db: Reading, *conditions: sa.ColumnElement[bool]) -> set[int]:
    return set(await db.scalars(sa.select(_c.chunk_no).where(_c.user_id == db.user_id, *conditions)))


# The collation "C" sorts the numbers together: they begin with 0 to 9, which the colon follows.
_DOTTED_NUMBERS = sql.inline(
    """
    SELECT g.number
    FROM unnest(:numbers::text[]) AS g (number)
    WHERE EXISTS (
        SELECT FROM stepwell.lexemes AS o
        WHERE o.user_id = :user_id AND o.lexeme >= '0' AND o.lexeme < ':'
          AND position('.' IN o.lexeme) > 0 AND position(g.number IN o.lexeme) > 0)
    """
)


async def dotted_numbers(db: Reading, numbers: Iterable[str]) -> set[str]:
    """The numbers among these that are parts of dotted numbers, such as versions. The text index keeps these whole."""
    wanted = sorted(set(numbers))
    return set(await db.scalars(_DOTTED_NUMBERS, {"user_id": db.user_id, "numbers": wanted})) if wanted else set()


_LINKED = sql.inline(
    """
    SELECT DISTINCT m.chunk_no
    FROM unnest(:entity_ids::uuid[], :befores::bigint[]) AS g (entity_id, before)
    CROSS JOIN LATERAL (
        SELECT o.chunk_no FROM stepwell.mentions AS o
        WHERE o.user_id = :user_id AND o.entity_id = g.entity_id AND o.chunk_no < g.before OFFSET 0
    ) AS m
    """
)


async def linked(db: Reading, before: dict[UUID, int]) -> set[int]:
    """The chunks that mention one of some entities: of each entity, the chunks before the number given for it."""
    binds = {"entity_ids": list(before), "befores": list(before.values())}
    return set(await db.scalars(_LINKED, {"user_id": db.user_id, **binds}))


async def texts(db: Reading, chunk_nos: Sequence[int]) -> list[tuple[int, str]]:
    """The texts of the existing chunks among these. The first chunk of a document begins with the title."""
    found = await mentions.chunk_texts_of(db, chunk_nos)
    return [(one.chunk_no, f"{one.opening.title}\n{one.content}" if one.opening else one.content) for one in found]
