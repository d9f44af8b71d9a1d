"""Claims idempotency keys, checks that a repeated request equals the first one, and stores its response."""

from __future__ import annotations

from app import errors
from app.access.store import idempotency
from app.access.store.idempotency import KeptResponse
from app.database.transactions import Database

MAX_KEY_LENGTH = 255
MAX_BODY = 1_000_000
"""Characters up to which a response is kept."""
HEADER = "Idempotency-Key"


def check_key(key: str) -> None:
    """Raises BadRequest unless the key is 1 to 255 visible ASCII characters."""
    if not (1 <= len(key) <= MAX_KEY_LENGTH and key.isascii() and key.isprintable()):
        raise errors.BadRequest(f"Must be 1 to {MAX_KEY_LENGTH} visible ASCII characters.", field=HEADER)


async def claim(key: str, user_id: str, *, db: Database) -> KeptResponse | None:
    """Claim a key for a request; returns None, or the request with a response that has used it.

    Raises Conflict while that request is processed.
    """
    async with db.preparing(user_id, checked=True) as writing:
        use = await idempotency.claim(writing, _of_audience(key, db))
    if use is not None and use.status is None:
        raise errors.Conflict(
            "A request with this key is being processed: wait for its response.", field=HEADER, retry_after_s=1
        )
    return use


def check_same(use: KeptResponse, fingerprint: bytes) -> None:
    """Raises BadRequest unless a request is the one that has used its key."""
    if use.fingerprint != fingerprint:
        raise errors.BadRequest("Another request has used this key: send a new key with each write.", field=HEADER)


async def record(key: str, user_id: str, use: KeptResponse, *, db: Database) -> None:
    """Keep the response to a request that has succeeded, unless it is too long; otherwise release the key."""
    async with db.preparing(user_id, checked=True) as writing:
        if use.status is not None and 200 <= use.status < 300 and len(use.body or "") <= MAX_BODY:
            await idempotency.record(writing, _of_audience(key, db), use)
        else:
            await idempotency.release(writing, _of_audience(key, db))


def _of_audience(key: str, db: Database) -> str:
    """The key as it is stored: callers who see the same share keys, and no other caller can send one of theirs."""
    return key if db.audience is None else f"{db.audience}\n{key}"
