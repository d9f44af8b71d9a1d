"""Stores and verifies API keys.

Only `verify` and `of_token` work as the service's role; everything else needs the database's owner. Of a secret only a
hash and a public key are stored. It has 256 random bits, so a slow hash would add nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from app.database import sql
from app.database.pooled_connection import Rows
from app.database.schema import tables
from app.database.transactions import Database, SharedTransaction

_k = tables.api_keys.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A live key whose secret, or a token signed with it, was presented.

    It sees the documents that pass `filters`, which are JSON as in a search; None: all. `token_key` is the public half
    of its pair.
    """

    key_id: str
    user_id: str
    scopes: tuple[str, ...]
    filters: Mapping[str, Any] | None = None
    shows_entities: bool = False
    token_key: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Verified):
    """A stored key without its secret."""

    name: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


_VERIFY = sql.inline(
    """
    SELECT v.user_id, v.scopes, CAST(v.filters AS text) AS filters, v.shows_entities, v.token_key,
           current_setting('transaction_read_only') AS read_only
    FROM stepwell.live_key(:key_id::text, :secret_hash::bytea) AS v
    """
)

_OF_TOKEN = sql.inline(
    """
    SELECT v.user_id, v.scopes, CAST(v.filters AS text) AS filters, v.shows_entities, v.token_key,
           current_setting('transaction_read_only') AS read_only
    FROM stepwell.token_key(:key_id::text) AS v
    """
)


async def verify(db: Database, *, key_id: str, secret_hash: bytes, within_s: float) -> Verified | None:
    """The key with this id and hash, if it is neither revoked nor expired by the database's clock.

    The comparison is made in the database, so that no hash leaves it. Raises DatabaseUnavailable after `within_s`.
    """
    binds = {"key_id": key_id, "secret_hash": secret_hash}
    return _read_verified(key_id, await db.rows(_VERIFY, binds, within_s=within_s))


async def of_token(db: Database, *, key_id: str, within_s: float) -> Verified | None:
    """The live key with this id, if it can sign tokens. The caller verifies the token's signature.

    Raises DatabaseUnavailable after `within_s`.
    """
    return _read_verified(key_id, await db.rows(_OF_TOKEN, {"key_id": key_id}, within_s=within_s))


def _read_verified(key_id: str, rows: Rows) -> Verified | None:
    row = rows.one_or_none()
    if row is None:
        return None
    return Verified(
        key_id=key_id,
        user_id=row.user_id,
        scopes=tuple(row.scopes),
        filters=None if row.filters is None else json.loads(row.filters),
        shows_entities=row.shows_entities,
        token_key=row.token_key,
    )


async def add(db: SharedTransaction, *, lifetime: timedelta | None, **columns: object) -> None:
    """Store a new key, which expires after `lifetime` unless it is None: its other columns by name."""
    expires_at = None if lifetime is None else sa.func.now() + lifetime
    await db.execute(sa.insert(tables.api_keys).values(**columns, expires_at=expires_at))


async def list_keys(db: SharedTransaction, *, user_id: str | None = None) -> list[Key]:
    """All keys, or one user's, oldest first."""
    query = sa.select(tables.api_keys).order_by(_k.created_at, _k.key_id)
    if user_id is not None:
        query = query.where(_k.user_id == user_id)
    return [_key(row) for row in await db.execute(query)]


_CAN_RESTRICT = sql.inline(
    "SELECT EXISTS (SELECT FROM pg_policies AS p WHERE p.schemaname = 'stepwell' AND p.policyname = 'visible') AS can"
)


async def can_restrict(db: SharedTransaction) -> bool:
    """Whether the database has the policies that keys with filters need."""
    return bool(await db.scalar(_CAN_RESTRICT))


async def revoke(db: SharedTransaction, *, key_id: str) -> str | None:
    """Revoke a key from now on. Returns its user; None if the key does not exist or was revoked before."""
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


async def expire(db: SharedTransaction, *, key_id: str, after: timedelta) -> None:
    """Let a key expire after a time. A key that expires earlier keeps its expiry."""
    change = sa.update(tables.api_keys).where(_k.key_id == key_id)
    await db.execute(change.values(expires_at=sa.func.least(_k.expires_at, sa.func.now() + after)))


def _key(row: sa.Row[tuple[object, ...]]) -> Key:
    fields = {name: row._mapping[name] for name in Key.__dataclass_fields__}
    return Key(**{**fields, "scopes": tuple(fields["scopes"])})
