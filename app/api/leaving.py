"""What becomes of a request whose caller does not wait for the answer?

The framework runs a handler to its end even if nobody listens any more; here it is cancelled, and with it the query
that Postgres works on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")


async def unless_gone(request: Request, story: Callable[[], Awaitable[T]]) -> T:
    """What `story` tells, unless the caller leaves first: then it is cancelled, and ClientDisconnect raised.

    The request's body must have been read.
    """
    telling = asyncio.ensure_future(story())
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({telling, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if telling.done():
            return telling.result()
        raise ClientDisconnect
    finally:
        telling.cancel()
        leaving.cancel()
        await asyncio.wait({telling, leaving})


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
