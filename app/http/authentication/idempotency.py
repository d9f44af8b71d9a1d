"""Answers a write that is sent again with its Idempotency-Key as it was answered the first time.

A key belongs to a user and to one request: its method, path and body. Only successful responses are kept, for a day: a
write that failed has stored nothing and may be sent again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive

from app import errors
from app.access import idempotency
from app.access.store.idempotency import KeptResponse
from app.http.authentication import versions

_logger = logging.getLogger(__name__)
REPLAYED = "Idempotent-Replayed"


class _Hashing:
    """Receives a request's body and hashes it with the method and the path."""

    def __init__(self, request: Request, receive: Receive) -> None:
        target = f"{request.method} {request.url.path}?{request.url.query}\n"
        self._digest = hashlib.sha256(target.encode())
        self._receive = receive
        self._complete = False

    async def receive(self) -> Message:
        """The next message."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._digest.update(message.get("body", b""))
            self._complete = not message.get("more_body", False)
        return message

    async def fingerprint(self) -> bytes:
        """The hash of the request, whose remaining body is read."""
        while not self._complete and (await self.receive())["type"] == "http.request":
            continue
        return self._digest.digest()


async def answer(request: Request, receive: Receive, handle: Callable[[Receive], Awaitable[Response]]) -> Response:
    """The response of `handle`, or the stored one if the request has been answered before.

    Raises Conflict while the first request is processed, and BadRequest if another request has used the key.
    """
    key = request.headers.get(idempotency.HEADER)
    if key is None:
        return await handle(receive)
    idempotency.check_key(key)
    user_id, db = request.state.caller.user_id, versions.services(request, only_reads=False).db
    hashing = _Hashing(request, receive)
    use = await idempotency.claim(key, user_id, db=db)
    if use is not None:
        idempotency.check_same(use, await hashing.fingerprint())
        return _replayed(use)
    kept = KeptResponse()
    try:
        response = await handle(hashing.receive)
        fingerprint = await hashing.fingerprint()
        body = bytes(response.body).decode()
        kept = KeptResponse(fingerprint, response.status_code, response.headers.get("location"), body)
        return response
    finally:
        await asyncio.shield(_record(key, user_id, kept, request))


async def _record(key: str, user_id: str, use: KeptResponse, request: Request) -> None:
    """Keep the response; a failure to do so must not replace the response."""
    with suppress(errors.StepwellError):
        await idempotency.record(key, user_id, use, db=versions.services(request, only_reads=False).db)
        return
    _logger.warning("response not kept", extra={"action": "idempotency_lost"})


def _replayed(use: KeptResponse) -> Response:
    headers = {REPLAYED: "true"} | ({"Location": use.location} if use.location else {})
    return Response(use.body, use.status or 200, headers, media_type="application/json")
