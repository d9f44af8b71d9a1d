"""Limits every wait on a Postgres connection on the client's side.

Server-side timeouts do not apply if the server is frozen or the network drops packets.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import asyncpg

from app.database.driver import failures

log = logging.getLogger(__name__)

ROLLBACK_S = 1.0
CLOSE_S = 0.2
"""Maximum time for an orderly end of a connection; after that the socket is closed."""
REACH_S = 2.0
"""Maximum time for a new pool connection, and for a transaction's first statement, which takes a millisecond."""
_KEEPALIVE_IDLE_S, _KEEPALIVE_INTERVAL_S, _KEEPALIVE_PROBES = 15, 5, 3
_UNACKNOWLEDGED_MS = 30_000
UNRESPONSIVE = "The database does not respond; try again shortly."
UNREACHABLE = (
    ConnectionError,
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
)
SLACK_S = 1.0
"""Seconds that the client waits beyond the server's statement_timeout."""
SERVER_SETTINGS = {
    "tcp_keepalives_idle": str(_KEEPALIVE_IDLE_S),
    "tcp_keepalives_interval": str(_KEEPALIVE_INTERVAL_S),
    "tcp_keepalives_count": str(_KEEPALIVE_PROBES),
    "tcp_user_timeout": str(_UNACKNOWLEDGED_MS),
}
"""The same keepalive probes, sent by the server."""


_close_by: ContextVar[float] = ContextVar("close_by", default=math.inf)


@contextmanager
def closing_within(seconds: float) -> Iterator[None]:
    """Connections that the block closes after `seconds` are aborted at once."""
    token = _close_by.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _close_by.reset(token)


class Driver(asyncpg.Connection):  # type: ignore[misc]  # it has no types
    """A driver connection with TCP keepalives and a bounded close."""

    def __init__(self, protocol: Any, transport: asyncio.Transport, *rest: Any) -> None:
        super().__init__(protocol, transport, *rest)
        _keep_alive(transport.get_extra_info("socket"))

    async def close(self, *, timeout: float | None = None) -> None:
        """Close within CLOSE_S and `closing_within`; the driver then aborts the connection."""
        left = max(0.0, _close_by.get() - time.monotonic())
        with suppress(TimeoutError):
            await super().close(timeout=min(CLOSE_S, left, CLOSE_S if timeout is None else timeout))


class UnpreparedDriver(Driver):
    """A connection through a pooler that may run each transaction on another connection of the server.

    A statement is parsed and run in two steps, so one outside a transaction gets one of its own.
    """

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        """The rows of a statement."""
        if self.is_in_transaction():
            return await super().fetch(query, *args, **options)
        async with self.transaction():
            return await super().fetch(query, *args, **options)


@asynccontextmanager
async def within(seconds: float | None) -> AsyncIterator[None]:
    """Cancel the block after `seconds` and raise Unresponsive."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        log.warning("database does not respond", extra={"action": "database_unresponsive"})
        raise failures.Unresponsive(UNRESPONSIVE) from error


def _keep_alive(connected: socket.socket) -> None:
    """Enable TCP keepalives that detect a dead peer within about 30 seconds."""
    if connected.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _KEEPALIVE_IDLE_S),
        ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL_S),
        ("TCP_KEEPCNT", _KEEPALIVE_PROBES),
        ("TCP_USER_TIMEOUT", _UNACKNOWLEDGED_MS),
    ):
        if hasattr(socket, name):  # not available on every platform
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def limit_s(timeout_ms: int) -> float:
    """The client's time limit in seconds for a statement with this statement_timeout."""
    return timeout_ms / 1000 + SLACK_S
