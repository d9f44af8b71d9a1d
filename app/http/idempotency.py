"""Answers a write that is sent again with its Idempotency-Key as it was answered the first time.

A key belongs to a user and to one request: its method, path and body. Only successful responses are kept, for a day: a
write that failed has stored nothing and may be sent again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from uuid import uuid4

from python_multipart.multipart import parse_options_header
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive

from app import errors
from app.access.store import idempotency
from app.access.store.idempotency import KeptResponse
from app.database import retries
from app.database.transactions import Database
from app.http import auth

_logger = logging.getLogger(__name__)
HEADER, REPLAYED = "Idempotency-Key", "Idempotent-Replayed"
MAX_KEY_LENGTH = 255
RETRY_S = 1.0
"""For how long a key is claimed or released again while the database is unavailable."""
MAX_BODY = 1_000_000
"""Characters up to which a response is kept."""


class _Hashing:
    """Receives a request's body and hashes it with the method and the path.

    The boundary between the parts of a form is left out, because clients choose another one for each request.
    """

    def __init__(self, request: Request, receive: Receive) -> None:
        target = f"{request.method} {request.url.path}?{request.url.query}\n"
        self._digest = hashlib.sha256(target.encode())
        self._receive = receive
        self._complete = False
        kind, parameters = parse_options_header(request.headers.get("content-type"))
        self._boundary = parameters.get(b"boundary", b"") if kind.startswith(b"multipart/") else b""
        self._tail = b""

    async def receive(self) -> Message:
        """The next message."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._complete = not message.get("more_body", False)
            self._hash(message.get("body", b""))
        return message

    def _hash(self, part: bytes) -> None:
        """Hash the next part of the body; its end waits for the next one, since a boundary may begin there."""
        if not self._boundary:
            self._digest.update(part)
            return
        read = (self._tail + part).replace(self._boundary, b"\0")
        end = len(read) if self._complete else max(0, len(read) - len(self._boundary) + 1)
        self._digest.update(read[:end])
        self._tail = read[end:]

    async def fingerprint(self) -> bytes:
        """The hash of the request, whose remaining body is read."""
        while not self._complete and (await self.receive())["type"] == "http.request":
            continue
        return self._digest.digest()


async def answer(request: Request, receive: Receive, handle: Callable[[Receive], Awaitable[Response]]) -> Response:
    """The response of `handle`, or the stored one if the request has been answered before.

    Raises Conflict while the first request is processed, and BadRequest if another request has used the key.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return await handle(receive)
    if not (1 <= len(key) <= MAX_KEY_LENGTH and key.isascii() and key.isprintable()):
        raise errors.BadRequest(f"Must be 1 to {MAX_KEY_LENGTH} visible ASCII characters.", field=HEADER)
    user_id, db = request.state.caller.user_id, auth.services(request, only_reads=False).db
    hashing = _Hashing(request, receive)
    mark = uuid4().bytes
    use = await retries.while_unavailable(RETRY_S, _claim, key, mark, user_id, db)
    if use is not None:
        if use.fingerprint != await hashing.fingerprint():
            raise errors.BadRequest("Another request has used this key: send a new key with each write.", field=HEADER)
        headers = {REPLAYED: "true"} | ({"Location": use.location} if use.location else {})
        return Response(use.body, use.status or 200, headers, media_type="application/json")
    kept = KeptResponse()
    try:
        response = await handle(hashing.receive)
        fingerprint = await hashing.fingerprint()
        body = bytes(response.body).decode()
        kept = KeptResponse(fingerprint, response.status_code, response.headers.get("location"), body)
        return response
    finally:
        await asyncio.shield(_record(key, mark, user_id, kept, request))


async def _claim(key: str, mark: bytes, user_id: str, db: Database) -> KeptResponse | None:
    """Claim a key for a request; returns None, or the request that has used it with its response.

    Raises Conflict while that request is processed.
    """
    async with db.preparing(user_id, checked=True) as writing:
        use = await idempotency.claim(writing, _stored_key(key, db), mark=mark)
    if use is not None and use.status is None:
        message = (
            "A request with this key is being processed: wait for its response. If it was interrupted, the key is free "
            f"again {idempotency.CLAIMED_S} s after it began."
        )
        raise errors.Conflict(message, field=HEADER, retry_after_s=1)
    return use


async def _record(key: str, mark: bytes, user_id: str, use: KeptResponse, request: Request) -> None:
    """Keep the response to a request that has succeeded, unless it is too long; otherwise release the key.

    A failure to do so must not replace the response.
    """
    db = auth.services(request, only_reads=False).db
    try:
        await retries.while_unavailable(RETRY_S, _keep, key, mark, user_id, use, db)
    except errors.StepwellError:
        _logger.warning("response not kept", extra={"action": "idempotency_lost"})


async def _keep(key: str, mark: bytes, user_id: str, use: KeptResponse, db: Database) -> None:
    async with db.preparing(user_id, checked=True) as writing:
        if use.status is not None and 200 <= use.status < 300 and len(use.body or "") <= MAX_BODY:
            await idempotency.record(writing, _stored_key(key, db), use)
        else:
            await idempotency.release(writing, _stored_key(key, db), mark=mark)


def _stored_key(key: str, db: Database) -> str:
    """The key as it is stored: shared by callers who see the same documents, and out of reach for all others."""
    return key if db.audience is None else f"{db.audience}\n{key}"
