"""Creates, verifies, rotates and revokes API keys.

A key reads `sw_<id>_<secret>`. `verify` and `verify_token` work as the service's role; the other functions need the
database's owner.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from app import errors
from app.access import tokens
from app.access.store import audit, keys
from app.access.store.audit import Event
from app.access.store.keys import Verified
from app.database.transactions import Database, SharedTransaction
from app.requests import field_types

SCOPES = ("search", "write", "metrics", "admin")
LOOKUP_S = 1.0
"""Time limit of a look-up of a key, including the wait for a connection."""
RESTRICTED_SCOPES = ("search", "write")
MAX_FILTERS = 8_000
"""Characters of a key's filters as JSON."""
_NO_KEY = bytes(31) + b"\x01"
_UNKNOWN = "No live key has this id."
_FORM = re.compile(r"sw_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Grant:
    """The scopes of a key, a name for display, and its lifetime from now, by the database's clock.

    With `filters` (filters of a search, as JSON) the key sees only the documents that pass. Descriptions and facts of
    their entities are then hidden, unless `shows_entities` is set. Without filters the key sees everything.
    """

    scopes: tuple[str, ...] = ("search", "write")
    name: str = ""
    lifetime: timedelta | None = None
    filters: Mapping[str, Any] | None = None
    shows_entities: bool = False


async def create(user_id: str, grant: Grant | None = None, *, db: Database, actor: str) -> str:
    """A new key for a user. It is returned once and never shown again. Raises BadRequest naming the field."""
    grant = grant or Grant()
    field_types.check_user(user_id)
    if unknown := set(grant.scopes) - set(SCOPES):
        raise errors.BadRequest(
            f"Scopes are {', '.join(SCOPES)}; {len(unknown)} of the given ones are unknown.", field="scopes"
        )
    if grant.filters is not None:
        if not grant.filters or len(json.dumps(grant.filters)) > MAX_FILTERS:
            raise errors.BadRequest(f"Must have a condition, and at most {MAX_FILTERS:,} characters.", field="filters")
        if set(grant.scopes) - set(RESTRICTED_SCOPES):
            allowed = " or ".join(RESTRICTED_SCOPES)
            raise errors.BadRequest(f"A key with filters has the scopes {allowed}.", field="scopes")
    elif grant.shows_entities:
        raise errors.BadRequest("Only a key with filters does not show entities anyway.", field="entities")
    async with db.shared() as writing:
        if grant.filters is not None and not await keys.can_restrict(writing):
            raise errors.BadRequest("A Citus cluster has no keys with filters.", field="filters")
        return await _add(writing, user_id, grant, actor)


async def rotate(key_id: str, *, db: Database, grace: timedelta, actor: str) -> str:
    """A new key of the same user, scopes, filters and name; the old one expires after `grace`.

    A key with an expiry is replaced by one of the same lifetime, from now. `key_id` is the id or the whole key.
    Raises NotFound, and Conflict if the key has been rotated, because the grace has replaced its expiry.
    """
    async with db.shared() as writing:
        old = await keys.live(writing, key_id=_id_of(key_id))
        if old is None:
            raise errors.NotFound(_UNKNOWN)
        if await audit.has_event(writing, user_id=old.user_id, action="key.rotated", target=old.key_id):
            raise errors.Conflict("This key has been rotated: rotate its successor, which `stepwell keys list` shows.")
        lifetime = old.expires_at - old.created_at if old.expires_at else None
        grant = Grant(old.scopes, old.name, lifetime, old.filters, old.shows_entities)
        await keys.expire(writing, key_id=old.key_id, after=grace)
        await audit.record(writing, Event(old.user_id, actor, "key.rotated", old.key_id))
        return await _add(writing, old.user_id, grant, actor)


async def _add(db: SharedTransaction, user_id: str, grant: Grant, actor: str) -> str:
    """Store a new key, with an audit event that says what restricts it."""
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    granted = {**dataclasses.asdict(grant), "scopes": list(grant.scopes)}
    derived: dict[str, Any] = {"secret_hash": _hash(secret), "token_key": tokens.public_half(secret)}
    await keys.add(db, key_id=key_id, user_id=user_id, **granted, **derived)
    seen = {} if grant.filters is None else {"filters": dict(grant.filters), "entities": grant.shows_entities}
    await audit.record(db, Event(user_id, actor, "key.created", key_id, seen))
    return f"sw_{key_id}_{secret}"


async def verify(presented: str, *, db: Database) -> Verified:
    """The key that was presented.

    Raises Unauthorized, with the same message for every reason, and DatabaseUnavailable after LOOKUP_S.
    """
    form = _FORM.fullmatch(presented)
    found = form and await keys.verify(db, key_id=form[1], secret_hash=_hash(form[2]), within_s=LOOKUP_S)
    if not found:
        raise errors.Unauthorized("This API key is unknown, revoked or expired.")
    return found


async def verify_token(presented: str, *, db: Database) -> tuple[Verified, tokens.Claims]:
    """The key that a token is signed with, and the token's claims, which are not compared with the key's.

    Raises Unauthorized, and DatabaseUnavailable after LOOKUP_S.
    """
    key_id = tokens.key_id_of(presented)
    found = await keys.of_token(db, key_id=key_id, within_s=LOOKUP_S)
    # An unknown key costs a verification too, so that the time does not say which ids exist.
    claims = tokens.claims_of(presented, (found and found.token_key) or _NO_KEY)
    if found is None:
        raise errors.Unauthorized(_UNKNOWN)
    return found, claims


async def revoke(key_id: str, *, db: Database, actor: str) -> None:
    """Revoke a key at once; `key_id` is the id or the whole key. Raises NotFound."""
    async with db.shared() as writing:
        user_id = await keys.revoke(writing, key_id=_id_of(key_id))
        if user_id is None:
            raise errors.NotFound(_UNKNOWN)
        await audit.record(writing, Event(user_id, actor, "key.revoked", _id_of(key_id)))


def _id_of(key: str) -> str:
    """The id in a whole key; any other text is returned as it is."""
    form = _FORM.fullmatch(key)
    return form[1] if form else key


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
