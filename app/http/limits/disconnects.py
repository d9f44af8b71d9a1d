"""Cancels the work for a request when its client disconnects.

The framework runs a handler to its end even if the client has disconnected; here it is cancelled, and with it the
running SQL statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")


async def cancel_on_disconnect(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, unless the client disconnects first: then it is cancelled and ClientDisconnect raised.

    The request's body must have been read.
    """
    working = asyncio.ensure_future(work())
    disconnecting = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({working, disconnecting}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        working.cancel()
        disconnecting.cancel()
        await asyncio.wait({working, disconnecting})


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue
