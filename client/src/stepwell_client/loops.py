"""Keeps an HTTP client for each event loop, because connections belong to the loop in which they were opened."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx


class LoopClient:
    """Sends requests with the HTTP client of the running event loop: one object serves several `asyncio.run`."""

    def __init__(self, *, trust_env: bool = True) -> None:
        self._trust_env = trust_env
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}

    async def request(self, **request: Any) -> httpx.Response:
        """The response to a request. Raises httpx.HTTPError."""
        return await self._of_loop().request(**request)

    def stream(self, **request: Any) -> AbstractAsyncContextManager[httpx.Response]:
        """The response to a request whose body is read piece by piece."""
        return self._of_loop().stream(**request)

    async def aclose(self) -> None:
        """Close the connections of the running loop; those of others ended with them."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _of_loop(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            for ended in [one for one in tuple(self._clients) if one.is_closed()]:
                self._clients.pop(ended, None)  # its connections hold sockets, and the loop
            client = self._clients[loop] = httpx.AsyncClient(trust_env=self._trust_env)
        return client
