"""Stores and verifies API keys.

Only `verify` works as the service's role; everything else needs the database's owner. Only a hash is stored: the
secret has 256 random bits, so a slow hash would add nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from app.store.connection import sql
from app.store.connection.transactions import Database, SharedTransaction
from app.store.schema import tables

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


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to store."""

    key_id: str
    user_id: str
    secret_hash: bytes
    scopes: tuple[str, ...]
    name: str = ""
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """A live key whose secret was presented."""

    key_id: str
    user_id: str
    scopes: tuple[str, ...]


_VERIFY = sql.inline(
    """
    SELECT v.user_id, v.scopes, current_setting('transaction_read_only') AS read_only
    FROM stepwell.verify_key(:key_id, :secret_hash) AS v
    """,
    key_id="text",
    secret_hash="bytea",
)


async def verify(db: Database, *, key_id: str, secret_hash: bytes, within_s: float) -> Verified | None:
    """The key with this id and hash, if it is neither revoked nor expired by the database's clock.

    The comparison is made in the database, so that no hash leaves it. Raises DatabaseUnavailable after `within_s`.
    """
    binds = {"key_id": key_id, "secret_hash": secret_hash}
    row = (await db.rows(_VERIFY, binds, within_s=within_s)).one_or_none()
    return Verified(key_id, row.user_id, tuple(row.scopes)) if row else None


async def add(db: SharedTransaction, key: NewKey) -> None:
    """Store a new key."""
    await db.execute(
        sa.insert(tables.api_keys).values(
            key_id=key.key_id,
            user_id=key.user_id,
            secret_hash=key.secret_hash,
            scopes=list(key.scopes),
            name=key.name,
            expires_at=key.expires_at,
        )
    )


async def list_keys(db: SharedTransaction, *, user_id: str | None) -> list[Key]:
    """All keys, or one user's, oldest first."""
    query = sa.select(tables.api_keys).order_by(_k.created_at, _k.key_id)
    if user_id is not None:
        query = query.where(_k.user_id == user_id)
    return [_key(row) for row in await db.execute(query)]


async def revoke(db: SharedTransaction, *, key_id: str) -> str | None:
    """Revoke a key from now on; returns its user, None where there is no such key that is not revoked."""
    change = sa.update(tables.api_keys).where(_k.key_id == key_id, _k.revoked_at.is_(None))
    found: str | None = await db.scalar(change.values(revoked_at=sa.func.now()).returning(_k.user_id))
    return found


async def live(db: SharedTransaction, *, key_id: str) -> Key | None:
    """A key that is neither revoked nor expired, locked until the transaction ends."""
    query = sa.select(tables.api_keys).where(
        _k.key_id == key_id, _k.revoked_at.is_(None), sa.or_(_k.expires_at.is_(None), _k.expires_at > sa.func.now())
    )
    row = (await db.execute(query.with_for_update())).one_or_none()
    return _key(row) if row else None


async def expire(db: SharedTransaction, *, key_id: str, at: datetime) -> None:
    """Let a key expire at a time, or when it does already if that is earlier."""
    change = sa.update(tables.api_keys).where(_k.key_id == key_id)
    await db.execute(change.values(expires_at=sa.func.least(_k.expires_at, at)))


def _key(row: sa.Row[tuple[object, ...]]) -> Key:
    fields = {name: row._mapping[name] for name in Key.__dataclass_fields__}
    return Key(**{**fields, "scopes": tuple(fields["scopes"])})
