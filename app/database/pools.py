"""Opens transactions on one Postgres server from a pool of connections, with time limits and translated errors.

Every wait is limited on the client, because server-side timeouts do not apply if the server is frozen or packets are
lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncEngine

from app import errors
from app.database import vector_tables
from app.database.calibrations import RelevanceCalibration
from app.database.driver import bounded, driver_errors, failures
from app.database.driver.connections import Connection, Rows
from app.database.driver.durations import Durations
from app.database.vector_tables import VectorTables

T = TypeVar("T")

log = logging.getLogger(__name__)

DISPOSE_S = 2.0
REFUSED_S = 10.0
"""Seconds after which another connection is tried where the server has refused one."""
CALIBRATION_LENGTH = 6
"""Numbers of a calibration in the array that `enter_plain` returns, if the user has one."""


class Version(NamedTuple):
    """The number of changes of a user's data, and of the names of the user's entities."""

    data: int = 0
    names: int = 0


NEVER_STORED = Version()


@dataclass(frozen=True, slots=True)
class Entered:
    """A transaction that has begun: its connection, and what its first statement has read.

    `version`, `has_hidden` (chunks of large documents that readers must not see), `chunks`, `graph_rows` (an estimate
    of the rows in the HNSW graph that contains the user's vectors, those of other users included), `calibration` and
    `synonyms_version` (the version when the synonyms were stored) are those of the user; zeros and None without a user,
    or if the user has never stored anything. `revision` is that of the schema, in a transaction that is to write.
    """

    connection: Connection
    vector_tables: VectorTables
    version: Version = NEVER_STORED
    has_hidden: bool = False
    graph_rows: int = 0
    chunks: int = 0
    calibration: RelevanceCalibration | None = None
    synonyms_version: int = 0
    revision: str | None = None

    @classmethod
    def of(cls, connection: Connection, first: Any, tables: VectorTables) -> Entered:
        """What the first row says; in a transaction of a user it begins with the array that `enter_plain` returns."""
        revision = first["revision"] if "revision" in first else None  # noqa: SIM401 - a record has no get
        if not isinstance(first[0], list):
            return cls(connection, tables, revision=revision)
        data, names, has_hidden, graph_rows, chunks, *others = first[0]
        calibration, synonyms_version = None, 0
        if others:
            length = CALIBRATION_LENGTH if len(others) >= CALIBRATION_LENGTH else 0
            calibration = RelevanceCalibration.from_millionths(others[:length]) if length else None
            synonyms_version = sum(others[length:])
        return cls(
            connection,
            tables,
            Version(data, names),
            bool(has_hidden),
            int(graph_rows),
            int(chunks),
            calibration,
            synonyms_version,
            revision,
        )


class _ConnectionClosed(Exception):
    """Raised if a pooled connection has been closed."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


@asynccontextmanager
async def _drop_if_closed(connection: Connection) -> AsyncIterator[None]:
    """Close the connection and raise _ConnectionClosed if the block finds that the server has closed it."""
    try:
        yield
    except bounded.UNREACHABLE as error:
        await connection.invalidate()
        raise _ConnectionClosed(error) from error


@dataclass(frozen=True, slots=True)
class ServerHooks:
    """Callbacks to a server that this process manages.

    `on_lost` is awaited when the server cannot be reached, so that it is restarted. `is_full` returns whether its disk
    has no room for writes.
    """

    on_lost: Callable[[], Awaitable[None]] | None = None
    is_full: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """The first statement of a transaction with its values, and the time limit of each later statement."""

    first: sa.TextClause
    values: dict[str, object]
    limit_s: float
    read_only: bool = False


class Pool:
    """The connections to one server.

    `is_reachable` is whether the last attempt to use the server reached it, `is_read_only` whether the last transaction
    that could write found that the server lets it read only. `durations` are those of its statements and waits.
    """

    def __init__(self, engine: AsyncEngine, hooks: ServerHooks | None = None) -> None:
        self.engine = engine
        self.hooks = hooks or ServerHooks()
        self.durations = Durations()
        self.is_reachable = True
        self.is_read_only = False
        self._is_closed = False
        self._granted: int | None = None
        self._refused_at = 0.0
        self._given_back = asyncio.Event()

    @asynccontextmanager
    async def transaction(self, entry: Entry) -> AsyncIterator[Entered]:
        """Open a transaction and run its first statement."""
        async with self._translate_errors(read_only=entry.read_only):
            entered, stack = await self._on_live_connection(partial(self._begin, entry))
            async with stack:
                yield entered

    async def rows(self, statement: sa.TextClause, values: Mapping[str, Any], *, within_s: float) -> Rows:
        """The rows of one statement that needs no settings: one round trip, where a transaction takes four.

        It is cancelled after `within_s` seconds, the wait for a connection included. Raises DatabaseUnavailable.
        """
        async with bounded.within(within_s), self._translate_errors(read_only=False):
            return await self._on_live_connection(partial(self._rows, statement, values))

    async def _on_live_connection(self, work: Callable[[AsyncExitStack], Awaitable[T]]) -> T:
        """The result of `work`, which takes a connection and runs a first statement on it.

        If the server has closed a pooled connection, it is dropped and the next one is tried, up to all pooled
        connections and a new one. This replaces a ping, which would cost every transaction three round trips.
        """
        for left in reversed(range(self.size() + 1)):
            try:
                async with AsyncExitStack() as stack:
                    result = await work(stack)
                    self.is_reachable = True
                    return result
            except _ConnectionClosed as died:
                if not left:
                    raise died.error from None
        raise AssertionError("the last attempt raises its error")

    async def _rows(self, statement: sa.TextClause, values: Mapping[str, Any], stack: AsyncExitStack) -> Rows:
        connection = await self._check_out(stack)
        async with _drop_if_closed(connection):
            rows: Rows = await connection.execute(statement, values)
        self._note_mode(rows)
        return rows

    async def _begin(self, entry: Entry, stack: AsyncExitStack) -> tuple[Entered, AsyncExitStack]:
        """Begin a transaction. Raises _ConnectionClosed if a pooled connection is closed, DatabaseUnavailable."""
        connection = await self._check_out(stack)
        async with _drop_if_closed(connection):
            await stack.enter_async_context(connection.transaction(entry.limit_s, reading=entry.read_only))
            rows: Rows = await connection.execute(entry.first, entry.values)
        self._note_mode(rows)
        first = rows.one()
        entered = Entered.of(connection, first, vector_tables.read_locked(first))
        connection.limit_s = entry.limit_s
        return entered, stack.pop_all()

    def _note_mode(self, rows: Rows) -> None:
        """Note whether the server lets this process read only, if a statement says it in its column `read_only`."""
        if rows and "read_only" in rows[0]:
            self.is_read_only = rows[0].read_only == "on"

    async def _check_out(self, stack: AsyncExitStack) -> Connection:
        """A connection of the pool, which may open a new one. Raises DatabaseUnavailable."""
        if self._is_closed:
            raise errors.DatabaseUnavailable("The service is shutting down.")
        connection = Connection(self.engine, self.durations)
        try:
            # The pool limits the wait for a free connection; this also limits opening a new one.
            async with bounded.within(self._wait_s() + bounded.REACH_S):
                with self.durations.wait():
                    await self._open(connection)
        except TimeoutError as error:
            raise failures.Unresponsive(bounded.UNRESPONSIVE) from error
        stack.push_async_callback(self._give_back, connection)
        return connection

    async def _open(self, connection: Connection) -> None:
        """Check a connection out; where the server grants no more of them, wait for one that is given back.

        A refusal shrinks the pool to what it has for REFUSED_S. Raises DatabaseUnavailable.
        """
        until = time.monotonic() + self._wait_s()
        while True:
            if not self._is_exhausted():
                try:
                    return await connection.open()
                except asyncpg.TooManyConnectionsError:
                    self._granted, self._refused_at = self._opened(), time.monotonic()
                    if not self._granted:
                        raise
                    log.warning("the server grants %d connections only", self._granted)
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    await self._given_back.wait()
            except TimeoutError:
                raise errors.DatabaseUnavailable(driver_errors.BUSY) from None

    def _is_exhausted(self) -> bool:
        """Whether all connections that the server has granted are in use, and another was refused a moment ago."""
        if self._granted is None or self.in_use() < self._granted:
            return False
        return time.monotonic() - self._refused_at < REFUSED_S

    def _opened(self) -> int:
        return self.in_use() + int(getattr(self.engine.pool, "checkedin", lambda: 0)())

    async def _give_back(self, connection: Connection) -> None:
        """Return a connection to the pool, or close it if nothing closes the pool any more."""
        if self._is_closed:
            await connection.invalidate()
        await connection.close()
        if self._granted is not None:
            self._given_back.set()
            self._given_back = asyncio.Event()

    @asynccontextmanager
    async def _translate_errors(self, *, read_only: bool) -> AsyncIterator[None]:
        try:
            yield
        except failures.Unresponsive:
            self.is_reachable = False
            raise
        except (exc.SQLAlchemyError, asyncpg.PostgresError, *bounded.UNREACHABLE) as error:
            if isinstance(error, asyncpg.InvalidCachedStatementError | asyncpg.OutdatedSchemaCacheError):
                await self.close_idle()  # their connections have prepared statements of the old schema too
            translated = driver_errors.translate(error, read_only=read_only)
            if isinstance(translated, errors.ReadOnly):
                self.is_read_only = True
            if isinstance(translated, errors.ConnectionLost) and not isinstance(translated, failures.RecoveryConflict):
                self.is_reachable = False
                if self.hooks.on_lost is not None:
                    await asyncio.shield(self.hooks.on_lost())
            raise translated from error

    async def close(self) -> None:
        """Close all connections within DISPOSE_S seconds; connections that do not respond are dropped.

        Connections in use are closed when their transaction ends. No further transaction is opened.
        """
        self._is_closed = True
        await self.close_idle()

    async def close_idle(self) -> None:
        """Close the connections that are not in use within DISPOSE_S seconds; new ones can be opened."""
        with bounded.closing_within(DISPOSE_S):
            await self.engine.dispose()

    def in_use(self) -> int:
        """The number of connections that are checked out."""
        return int(getattr(self.engine.pool, "checkedout", lambda: 0)())

    def size(self) -> int:
        """The maximum number of pooled connections."""
        return int(getattr(self.engine.pool, "size", lambda: 0)())

    def _wait_s(self) -> float:
        return float(getattr(self.engine.pool, "timeout", lambda: 0.0)())
