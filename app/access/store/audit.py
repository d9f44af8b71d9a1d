"""Records deletions and key management (audit_log), and how often each key was used (key_uses).

The service's role may add events of the transaction's user and count uses; only the owner may read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import SharedTransaction, Transaction

Action = Literal[
    "document.deleted", "entity.deleted", "key.created", "key.rotated", "key.revoked", "user.exported", "user.deleted"
]
LOCAL = "local"
"""The actor if no key is required."""

_a, _u, _k = tables.audit_log.c, tables.key_uses.c, tables.api_keys.c


@dataclass(frozen=True, slots=True)
class Event:
    """`actor` performed `action` on the id `target`; `counts` are rows by kind.

    When a key with filters is created, `counts` has its filters. An event contains no other content of a user.
    """

    user_id: str
    actor: str
    action: Action
    target: str
    counts: Mapping[str, Any] = field(default_factory=dict)


_RECORD = sql.inline(
    """
    INSERT INTO stepwell.audit_log (user_id, event_id, actor, action, target, counts)
    SELECT :user_id, e.event_id, e.actor, e.action, e.target, CAST(e.counts AS jsonb)
    FROM unnest(:event_ids::uuid[], :actor::text[], :action::text[], :target::text[], :counts::text[])
        AS e (event_id, actor, action, target, counts)
    ON CONFLICT DO NOTHING
    """
)


async def record(db: Transaction, *events: Event) -> None:
    """Add events of one user, in the transaction of the changes that they describe."""
    made = {"event_ids": [uuid4() for _event in events], "counts": [json.dumps(event.counts) for event in events]}
    columns = sql.columns(events, "actor", "action", "target")
    await db.execute(_RECORD, {"user_id": events[0].user_id, **made, **columns})


_COUNT_USES = sql.inline("SELECT stepwell.count_key_uses(:key_ids::text[], :scopes::text[], :uses::bigint[])")


async def count_uses(db: SharedTransaction, uses: Mapping[tuple[str, str], int]) -> None:
    """Add uses, by key id and scope, to those of today (UTC). Unknown keys and scopes are skipped."""
    binds = {
        "key_ids": [key_id for key_id, _scope in uses],
        "scopes": [scope for _key_id, scope in uses],
        "uses": list(uses.values()),
    }
    await db.execute(_COUNT_USES, binds)


async def events(db: SharedTransaction, *, user_id: str | None, limit: int) -> list[dict[str, Any]]:
    """The latest events, newest first, each as its columns by name. Requires the owner."""
    query = sa.select(_a.at, _a.user_id, _a.actor, _a.action, _a.target, _a.counts)
    query = query.order_by(_a.at.desc(), _a.event_id).limit(limit)
    if user_id is not None:
        query = query.where(_a.user_id == user_id)
    return [dict(row._mapping) for row in await db.execute(query)]


async def has_event(db: SharedTransaction, *, user_id: str, action: Action, target: str) -> bool:
    """Whether the log has this event. Requires the owner."""
    query = sa.exists().where(_a.user_id == user_id, _a.action == action, _a.target == target)
    return bool(await db.scalar(sa.select(query)))


async def key_uses(db: SharedTransaction, *, user_id: str | None, limit: int) -> list[dict[str, Any]]:
    """The latest uses of keys, newest first: columns by name for each key, scope and day (UTC). Requires the owner."""
    query = sa.select(_u.day, _u.user_id, _u.key_id, _u.scope, _u.uses, _u.last_used_at)
    query = query.order_by(_u.day.desc(), _u.last_used_at.desc(), _u.key_id, _u.scope).limit(limit)
    if user_id is not None:
        query = query.where(_u.user_id == user_id)
    return [dict(row._mapping) for row in await db.execute(query)]


async def prune(db: SharedTransaction, *, days: int) -> dict[str, int]:
    """Delete rows older than `days`, and keys that ended before; returns the number of deleted rows by table.

    The rotation of a key stays as long as the key, which can be rotated only once. Requires the owner.
    """
    before = sa.func.now() - sa.func.make_interval(0, 0, 0, days)
    rotated = sa.select(_k.key_id).where(_a.action == "key.rotated", _k.key_id == _a.target)
    statements = {
        "api_keys": sa.delete(tables.api_keys).where(sa.func.least(_k.expires_at, _k.revoked_at) < before),
        "key_uses": sa.delete(tables.key_uses).where(_u.last_used_at < before),
        "audit_log": sa.delete(tables.audit_log).where(_a.at < before, ~rotated.exists()),
    }
    return {name: (await db.execute(statement)).rowcount for name, statement in statements.items()}
