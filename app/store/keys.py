"""Whose API key is this?

The table has no row-level security, because a key is what tells the user; `find` is the one function that reads it for
a request. Only a hash is stored: the secret has 256 random bits, so a slow hash would add nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from app.store import tables
from app.store.db import Reading, Writing

_k = tables.api_keys.c


@dataclass(frozen=True, slots=True)
class Key:
    """A stored key without its secret."""

    key_id: str
    user_id: str
    scopes: tuple[str, ...]
    name: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


async def add(
    db: Writing,
    *,
    key_id: str,
    user_id: str,
    secret_hash: bytes,
    scopes: tuple[str, ...],
    name: str,
    expires_at: datetime | None,
) -> None:
    """Store a new key."""
    await db.execute(
        sa.insert(tables.api_keys).values(
            key_id=key_id,
            user_id=user_id,
            secret_hash=secret_hash,
            scopes=list(scopes),
            name=name,
            expires_at=expires_at,
        )
    )


async def find(db: Reading, *, key_id: str) -> tuple[Key, bytes] | None:
    """A key that is neither revoked nor expired, by the database's clock, with the hash of its secret."""
    query = sa.select(tables.api_keys).where(
        _k.key_id == key_id,
        _k.revoked_at.is_(None),
        sa.or_(_k.expires_at.is_(None), _k.expires_at > sa.func.now()),
    )
    row = (await db.execute(query)).one_or_none()
    return (_key(row), row.secret_hash) if row else None


async def listed(db: Reading, *, user_id: str | None) -> list[Key]:
    """All keys, or one user's, oldest first."""
    query = sa.select(tables.api_keys).order_by(_k.created_at, _k.key_id)
    if user_id is not None:
        query = query.where(_k.user_id == user_id)
    return [_key(row) for row in await db.execute(query)]


async def revoke(db: Writing, *, key_id: str) -> bool:
    """Make a key useless from now on; false where there is no such live key."""
    change = sa.update(tables.api_keys).where(_k.key_id == key_id, _k.revoked_at.is_(None))
    result = await db.execute(change.values(revoked_at=sa.func.now()).returning(_k.key_id))
    return result.one_or_none() is not None


def _key(row: sa.Row[tuple[object, ...]]) -> Key:
    fields = {name: row._mapping[name] for name in Key.__dataclass_fields__}
    return Key(**{**fields, "scopes": tuple(fields["scopes"])})
