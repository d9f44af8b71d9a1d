"""Creates SQLAlchemy engines from the addresses of databases, and opens their connections, also through a pooler.

A pooler such as PgBouncer refuses most settings when a connection is opened, and may run each transaction on another
connection of the server. Stepwell keeps no state between transactions; through a pooler it prepares no statements.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.database import addresses, driver_errors, vectors

log = logging.getLogger(__name__)

CONNECT_S = 5.0
CLOSE_S = 0.2
"""Most seconds for an orderly end of a connection. After that the socket is closed."""
KNOWS_VECTORS = "knows vectors"
"""Key in the `info` of a pool's entry: whether pgvector was installed when the connection was opened."""
_OPENING = "opening"
"""Key in the `info` of a pool's entry: the transaction that sets up a connection through a pooler."""
_INT64 = range(-(2**63), 2**63)
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}
"""A dead peer is detected within about 30 seconds. The last is in milliseconds, the first two are in seconds."""
_SETTINGS = {"application_name": "stepwell", "timezone": "UTC", "standard_conforming_strings": "on"}
"""Settings that every pooler accepts."""
_DIRECT_SETTINGS = {
    "client_min_messages": "warning",
    "row_security": "on",  # off makes statements fail that it applies to
    "citus.propagate_set_commands": "local",
    # Citus otherwise filters shards out of each look-up of a type, which makes a new connection take seconds.
    "citus.show_shards_for_app_name_prefixes": "*",
    "tcp_keepalives_idle": str(_KEEPALIVE["TCP_KEEPIDLE"]),
    "tcp_keepalives_interval": str(_KEEPALIVE["TCP_KEEPINTVL"]),
    "tcp_keepalives_count": str(_KEEPALIVE["TCP_KEEPCNT"]),
    "tcp_user_timeout": str(_KEEPALIVE["TCP_USER_TIMEOUT"]),
}
_close_by: ContextVar[float] = ContextVar("close_by", default=math.inf)


@contextmanager
def closing_within(seconds: float) -> Iterator[None]:
    """Connections that the block closes after `seconds` are aborted at once."""
    token = _close_by.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _close_by.reset(token)


class _Driver(asyncpg.Connection):  # type: ignore[misc]  # it has no types
    """A driver connection with TCP keepalives and a bounded close."""

    def __init__(self, protocol: Any, transport: asyncio.Transport, *rest: Any) -> None:
        super().__init__(protocol, transport, *rest)
        connected = transport.get_extra_info("socket")
        if connected.family in (socket.AF_INET, socket.AF_INET6):
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _KEEPALIVE.items():
                if hasattr(socket, name):  # not available on every platform
                    connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    async def close(self, *, timeout: float | None = None) -> None:
        """Close within CLOSE_S and `closing_within`; the driver then aborts the connection."""
        left = max(0.0, _close_by.get() - time.monotonic())
        with suppress(TimeoutError):
            await super().close(timeout=min(CLOSE_S, left, CLOSE_S if timeout is None else timeout))


class _UnpreparedDriver(_Driver):
    """A connection through a pooler that may run each transaction on another connection of the server.

    A statement is parsed and run in two steps, so a statement outside a transaction gets its own transaction.
    """

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        """The rows of a statement."""
        if self.is_in_transaction():
            return await super().fetch(query, *args, **options)
        async with self.transaction():
            return await super().fetch(query, *args, **options)


_UNPREPARED = {
    "connection_class": _UnpreparedDriver,
    "statement_cache_size": 0,
    "prepared_statement_cache_size": 0,
    "prepared_statement_name_func": lambda: "",
}


def _whole_number(digits: str) -> int | float:
    # Postgres writes 1e300 with 301 digits. Requests have no whole numbers beyond 64 bits, so this was a float.
    return value if len(digits) <= 20 and (value := int(digits)) in _INT64 else float(digits)


_JSON, _JSON_OF_LONG_NUMBERS = json.JSONDecoder(), json.JSONDecoder(parse_int=_whole_number)
_LONG_NUMBER = re.compile(r"[0-9]{19}")


def _decode(text: str) -> Any:
    """The value of JSON as Postgres writes it, without white space around it."""
    return (_JSON_OF_LONG_NUMBERS if _LONG_NUMBER.search(text) else _JSON).raw_decode(text)[0]


def create(dsn: str, *, prepares: bool | None = None, **options: Any) -> AsyncEngine:
    """Create an engine that suppresses notices and enables TCP keepalives on both sides.

    `prepares` says whether to prepare statements; None means yes, except through a pooler. Raises BadRequest.
    """
    address = addresses.read(dsn)
    connecting = {
        "timeout": CONNECT_S,
        "connection_class": _Driver,
        "max_cacheable_statement_size": 0,
        "max_cached_statement_lifetime": 0,
        **address.arguments(),
    }
    engine = create_async_engine(address.url(), connect_args=connecting, json_deserializer=_decode, **options)
    sa.event.listen(engine.sync_engine, "do_connect", _Opener(_SETTINGS | address.settings(), prepares).open)
    sa.event.listen(engine.sync_engine, "connect", _prepare)
    return engine


@dataclass(slots=True)
class _Opener:
    """Opens the connections of an engine. `is_pooled` says whether a pooler answers (None before the first one)."""

    settings: dict[str, str]
    prepares: bool | None
    is_pooled: bool | None = None

    def open(self, dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> Any:
        """A new connection. Raises the errors of the driver."""
        if not self.is_pooled:
            connection = self._direct(dialect, options)
            if connection is not None:
                return connection
            log.info("a pooler is between this process and Postgres")
        return self._pooled(dialect, record, options)

    def _direct(self, dialect: Any, options: dict[str, Any]) -> Any:
        """A connection with all settings; None if a pooler answers."""
        unprepared = _UNPREPARED if self.prepares is False else {}
        settings = _DIRECT_SETTINGS | self.settings
        try:
            connection = dialect.connect(**options, **unprepared, server_settings=settings)
        except dialect.loaded_dbapi.Error as error:
            if not isinstance(driver_errors.root(error), asyncpg.ProtocolViolationError):
                raise
            self.is_pooled = True
            return None
        if self.is_pooled is None and self.prepares is None:
            with _aborting(connection):
                self.is_pooled = connection.run_async(_is_pooled)
            if self.is_pooled:
                connection.close()
                return None
        return connection

    def _pooled(self, dialect: Any, record: Any, options: dict[str, Any]) -> Any:
        """A connection through a pooler. One transaction sets it up; `_prepare` commits this transaction."""
        if self.prepares:
            return dialect.connect(**options, server_settings=self.settings)
        connection = dialect.connect(**options | _UNPREPARED, server_settings=self.settings)
        with _aborting(connection):
            record.info[_OPENING] = connection.run_async(_begin)
        return connection


@contextmanager
def _aborting(connection: Any) -> Iterator[None]:
    """Abort a new connection, which no pool knows yet, if the block fails or is cancelled.

    It would otherwise stay open. Behind a pooler it would get a connection of the server later, and keep it.
    """
    try:
        yield
    except BaseException:
        connection.driver_connection.terminate()
        raise


async def _is_pooled(driver: asyncpg.Connection) -> bool:
    """Whether another process of the server answers than when the connection was opened."""
    return bool(await driver.execute(f"SELECT WHERE pg_backend_pid() = {driver.get_server_pid()}") == "SELECT 0")


async def _begin(driver: asyncpg.Connection) -> Any:
    transaction = driver.transaction()
    await transaction.start()
    return transaction


def _prepare(connection: Any, record: sa.pool.ConnectionPoolEntry) -> None:
    record.info[KNOWS_VECTORS] = connection.run_async(vectors.register)
    opening = record.info.pop(_OPENING, None)
    if opening is not None:
        connection.run_async(lambda _driver: opening.commit())
