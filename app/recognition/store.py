"""Keeps the lines that were recognised on a user's pictures, so that none is recognised twice.

The caller encrypts the lines. A row belongs to no document, so it stays when a document is deleted.
"""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from app.database.schema import tables
from app.database.transactions import Writing

MOST = 5_000
"""Most pictures of a user that are kept. The least recently used ones are deleted."""
recognised_pictures = tables.user_table(
    "recognised_pictures",
    # Computed from the picture and the recogniser.
    sa.Column("picture_key", sa.Uuid, primary_key=True),
    # Encrypted with a key that is computed from the picture, too.
    sa.Column("lines", sa.LargeBinary, nullable=False),
    tables.moment("used_at"),
    sa.Index(None, "user_id", "used_at"),
)

TABLES = (recognised_pictures,)
_p = recognised_pictures.c


async def use(db: Writing, picture_key: UUID) -> bytes | None:
    """The lines of a picture, which count as used now; None if they are not kept."""
    own = (_p.user_id == db.user_id, _p.picture_key == picture_key)
    change = sa.update(recognised_pictures).where(*own).values(used_at=sa.func.now())
    lines: bytes | None = await db.scalar(change.returning(_p.lines))
    return lines


async def add(db: Writing, picture_key: UUID, lines: bytes) -> None:
    """Keep the lines of a picture, and delete the least recently used pictures beyond MOST."""
    new = {"user_id": db.user_id, "picture_key": picture_key, "lines": lines}
    await db.execute(postgresql.insert(recognised_pictures).values(new).on_conflict_do_nothing())
    surplus = (
        sa.select(_p.picture_key).where(_p.user_id == db.user_id).order_by(_p.used_at.desc()).offset(MOST).subquery()
    )
    oldest = _p.picture_key.in_(sa.select(surplus.c.picture_key))
    await db.execute(sa.delete(recognised_pictures).where(_p.user_id == db.user_id, oldest))
