"""Creates, lists, verifies and revokes API keys.

A key reads `sw_<id>_<secret>`. `recognise` works as the service's role; the other functions need the database's owner.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import datetime

from app import errors
from app.store import keys
from app.store.db import Database
from app.store.keys import Key, NewKey, Verified

SCOPES = ("search", "write", "metrics", "admin")
LONGEST_USER = 200
LOOKUP_S = 1.0
"""Longest look-up of a key, the wait for a connection included."""
_FORM = re.compile(r"sw_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


async def create(
    user_id: str,
    *,
    db: Database,
    scopes: tuple[str, ...] = ("search", "write"),
    name: str = "",
    expires_at: datetime | None = None,
) -> str:
    """A new key for a user. It is returned once and never shown again. Raises BadRequest naming the field."""
    check_user(user_id)
    if unknown := set(scopes) - set(SCOPES):
        raise errors.BadRequest(
            f"Scopes are {', '.join(SCOPES)}; {len(unknown)} of those given are none.", field="scopes"
        )
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    async with db.shared() as writing:
        await keys.add(writing, NewKey(key_id, user_id, _hash(secret), scopes, name, expires_at))
    return f"sw_{key_id}_{secret}"


async def recognise(presented: str, *, db: Database) -> Verified:
    """The key that was presented.

    Raises Unauthorized, without saying what is wrong with it, and DatabaseUnavailable after LOOKUP_S.
    """
    found = None
    if form := _FORM.fullmatch(presented):
        async with db.shared(within_s=LOOKUP_S) as reading:
            found = await keys.verify(reading, key_id=form[1], secret_hash=_hash(form[2]))
    if found is None:
        raise errors.Unauthorized("This API key is unknown, revoked or expired.")
    return found


async def listed(*, db: Database, user_id: str | None = None) -> list[Key]:
    """All keys, or one user's."""
    async with db.shared() as reading:
        return await keys.listed(reading, user_id=user_id)


async def revoke(key_id: str, *, db: Database) -> None:
    """Revoke a key from now on; its id or the whole key may be given. Raises NotFound."""
    form = _FORM.fullmatch(key_id)
    async with db.shared() as writing:
        if await keys.revoke(writing, key_id=form[1] if form else key_id) is None:
            raise errors.NotFound("No live key has this id.")


def check_user(user_id: str) -> None:
    """Raises BadRequest unless the name can be a user's."""
    if not user_id.strip() or len(user_id) > LONGEST_USER or not user_id.isprintable():
        raise errors.BadRequest(f"A user is 1 to {LONGEST_USER} printable characters.", field="user")


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
