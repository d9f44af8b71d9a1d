"""Stores the responses to writes that had an idempotency key, and deletes them after a day."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from app.database import sql
from app.database.schema import tables
from app.database.transactions import SharedTransaction, Writing

KEPT_S, CLAIMED_S = 86_400, 120
"""Seconds for which a response is kept, and after which a request that has not ended is taken to have failed."""
_i = tables.idempotency_keys.c
_EXPIRE = sql.inline("SELECT stepwell.expire_responses(:seconds::integer)")


async def claim(db: Writing, key: str, *, mark: bytes) -> KeptResponse | None:
    """Claim a key for a request; returns None, or the request that has used it.

    `mark` is the fingerprint until there is a response. By it a claim that is sent again, because the answer to its
    commit was lost, finds itself. A claim from further ahead than CLAIMED_S is one from before the clock was set back,
    and counts as failed too.
    """
    unfinished = sa.and_(_i.status.is_(None), ~_i.created_at.between(_ago(CLAIMED_S), _ago(-CLAIMED_S)))
    outdated = sa.delete(tables.idempotency_keys).where(
        _i.user_id == db.user_id, _i.key == key, sa.or_(_i.created_at < _ago(KEPT_S), unfinished)
    )
    await db.execute(outdated)
    new = postgresql.insert(tables.idempotency_keys).values(user_id=db.user_id, key=key, fingerprint=mark)
    if await db.scalar(new.on_conflict_do_nothing().returning(_i.key)) is not None:
        return None
    query = sa.select(_i.fingerprint, _i.status, _i.location, _i.body).where(_i.user_id == db.user_id, _i.key == key)
    row = (await db.execute(query)).one_or_none()
    use = KeptResponse(*row) if row else KeptResponse()
    return None if use == KeptResponse(mark) else use


async def record(db: Writing, key: str, use: KeptResponse) -> None:
    """Store the response to the request that has claimed a key, also if it took longer than the claim is kept."""
    kept = dataclasses.asdict(use)
    new = postgresql.insert(tables.idempotency_keys).values(user_id=db.user_id, key=key, **kept)
    await db.execute(new.on_conflict_do_update(index_elements=["user_id", "key"], set_=kept))


async def release(db: Writing, key: str, *, mark: bytes) -> None:
    """Delete the claim with this mark, so that the request can be sent again."""
    claimed = sa.and_(_i.user_id == db.user_id, _i.key == key, _i.status.is_(None), _i.fingerprint == mark)
    await db.execute(sa.delete(tables.idempotency_keys).where(claimed))


async def expire(db: SharedTransaction, _services: object) -> int:
    """Delete the responses to all users that are older than KEPT_S; returns their number."""
    return int(await db.scalar(_EXPIRE, {"seconds": KEPT_S}) or 0)


def _ago(seconds: float) -> sa.ColumnElement[datetime]:
    return sa.func.now() - sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


@dataclass(frozen=True, slots=True)
class KeptResponse:
    """The request that used an idempotency key, and its response; `status` is None while the request is processed."""

    fingerprint: bytes | None = None
    status: int | None = None
    location: str | None = None
    body: str | None = None
