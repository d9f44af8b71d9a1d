"""Finds documents with the same text. Runs `equal_documents.sql`."""

from __future__ import annotations

from itertools import starmap

from app import limits
from app.database import sql
from app.database.transactions import Reading
from app.documents.types import DuplicateSet, DuplicateUse, NamedDocument

MAX_SETS = 10


async def use(db: Reading) -> DuplicateUse:
    """The user's documents with the text of an older one, and the largest sets of equal documents."""
    binds = {"user_id": db.user_id, "sets": MAX_SETS, "named": limits.MAX_NAMED_DUPLICATES}
    rows = (await db.execute(sql.statement("equal_documents"), binds)).all()
    sets = tuple(
        DuplicateSet(row.documents, tuple(starmap(NamedDocument, zip(row.ids, row.titles, row.uris, strict=True))))
        for row in rows
    )
    return DuplicateUse(int(rows[0].repeated) if rows else 0, sets)
