"""Cancels the work for a request whose client has left.

The framework runs a handler to its end even if nobody waits for the response; here it is cancelled, and with it the
statement that Postgres works on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")


async def cancel_on_disconnect(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, unless the client leaves first: then it is cancelled, and ClientDisconnect raised.

    The request's body must have been read.
    """
    working = asyncio.ensure_future(work())
    disconnecting = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({working, disconnecting}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        working.cancel()
        disconnecting.cancel()
        await asyncio.wait({working, disconnecting})


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
