"""Opens transactions on Postgres with the user's row-level security, time limits and translated errors.

`reading(user)` is a READ ONLY transaction in which all statements see one snapshot (REPEATABLE READ), `searching(user)`
one with the settings of a search, and `writing(user)` a read-write transaction. They set the user through the schema's
`enter` functions, and nothing else commits. Every wait is also limited on the client, because server-side timeouts do
not apply if the server is frozen or packets are lost.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, NewType, ParamSpec, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app import errors
from app.store import bounded, driver_errors, engines, vector_tables

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Reading = NewType("Reading", AsyncConnection)
SearchTransaction = NewType("SearchTransaction", Reading)
"""A reading transaction that has read the user's `version` and uses generic plans."""
Writing = NewType("Writing", Reading)

_ENTER_ARGUMENTS = "(CAST(:user_id AS text), CAST(:timeout_ms AS integer), CAST(:candidates AS integer))"
_LOCK_TIMEOUT = "set_config('lock_timeout', CAST(CAST(:lock_ms AS integer) AS text), true)"
_STATEMENT_TIMEOUT = "set_config('statement_timeout', CAST(CAST(:timeout_ms AS integer) AS text), true)"
_ENTER = sa.text(f"SELECT stepwell.enter{_ENTER_ARGUMENTS}, {vector_tables.READS}")
_ENTER_SEARCH = sa.text(f"SELECT stepwell.enter_plain{_ENTER_ARGUMENTS}, {vector_tables.READS}")
_ENTER_WRITING = sa.text(f"SELECT stepwell.enter{_ENTER_ARGUMENTS}, {_LOCK_TIMEOUT}, {vector_tables.WRITES}")
_ENTER_SHARED = sa.text(f"SELECT {_STATEMENT_TIMEOUT}, {_LOCK_TIMEOUT}")
_USE_CUSTOM_PLANS = sa.text("SELECT stepwell.plan_each()")
_GENERIC_PLANS, _ENTERED = "stepwell_generic_plans", "stepwell_entered"
DISPOSE_S = 2.0
TURN_S = 2.0
"""Maximum time that a write waits for other writes of its user and of this process."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Timeouts in milliseconds: of a statement that reads, of one that writes, and of a write's wait for a lock."""

    read_ms: int = 5_000
    write_ms: int = 60_000
    lock_ms: int = 2_000


class Version(NamedTuple):
    """The number of changes of a user's data, and of the names of the user's entities."""

    data: int
    names: int


class _ConnectionClosed(Exception):
    """Raised if a pooled connection has been closed."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


@dataclass(frozen=True, slots=True)
class ServerHooks:
    """Callbacks to a server that this process manages.

    `on_lost` is awaited when the server cannot be reached, so that it is restarted. `is_full` returns whether its disk
    has no room for writes.
    """

    on_lost: Callable[[], Awaitable[None]] | None = None
    is_full: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    """The first statement of a transaction with its values, and the time limit of each later statement."""

    first: sa.TextClause
    values: dict[str, object]
    limit_s: float
    read_only: bool = False


class Database:
    """A pool of connections to one database.

    Writes use at most half of the connections, and the writes of one user use one, because they are serialised by locks
    in any case.
    """

    def __init__(
        self, engine: AsyncEngine, *, limits: TimeLimits | None = None, hooks: ServerHooks | None = None
    ) -> None:
        self._engine = engine
        self._limits = limits or TimeLimits()
        self._hooks = hooks or ServerHooks()
        self._writers = asyncio.Semaphore(max(1, self._pooled() // 2))
        self._writers_of: weakref.WeakValueDictionary[str, asyncio.Semaphore] = weakref.WeakValueDictionary()
        self._is_closed = False

    @asynccontextmanager
    async def reading(self, user_id: str, *, candidates: int = 100) -> AsyncIterator[Reading]:
        """Open a READ ONLY transaction that sees one user's rows and scans HNSW for this many candidates.

        All of its statements see the same snapshot.

        Raises DatabaseUnavailable, DeadlineExceeded.
        """
        async with self._transaction(self._read_entry(_ENTER, user_id, candidates)) as connection:
            yield Reading(connection)

    @asynccontextmanager
    async def searching(self, user_id: str, *, candidates: int = 100) -> AsyncIterator[SearchTransaction]:
        """Open a transaction like `reading` that has read the user's `version` and uses generic plans.

        Each statement is planned once per connection, which saves a quarter of a search's time; call `use_custom_plans`
        before a statement with a plan that depends on its binds. Raises DatabaseUnavailable, DeadlineExceeded.
        """
        async with self._transaction(self._read_entry(_ENTER_SEARCH, user_id, candidates)) as connection:
            yield SearchTransaction(Reading(connection))

    def _read_entry(self, first: sa.TextClause, user_id: str, candidates: int) -> _Entry:
        timeout_ms = self._limits.read_ms
        values: dict[str, object] = {"user_id": user_id, "timeout_ms": timeout_ms, "candidates": candidates}
        return _Entry(first, values, bounded.limit_s(timeout_ms), read_only=True)

    @asynccontextmanager
    async def writing(self, user_id: str) -> AsyncIterator[Writing]:
        """Open a transaction that may change one user's rows and commits when the block ends without an error.

        Never open one inside another of the same user. Raises Busy, DatabaseUnavailable, DeadlineExceeded, DiskFull.
        """
        self.check_room()
        async with self._write_turn(user_id), self._transaction(self._write_entry(user_id)) as connection:
            yield Writing(Reading(connection))

    def _write_entry(self, user_id: str) -> _Entry:
        timeout_ms, lock_ms = self._limits.write_ms, self._limits.lock_ms
        values = {"user_id": user_id, "timeout_ms": timeout_ms, "candidates": 100, "lock_ms": lock_ms}
        return _Entry(_ENTER_WRITING, values, bounded.limit_s(timeout_ms))

    @asynccontextmanager
    async def preparing(self, user_id: str) -> AsyncIterator[Writing]:
        """Open a transaction like `writing` that does not wait for other writes and does not make them wait.

        For long transactions of background work, which take the user's lock at their end only.
        """
        self.check_room()
        async with self._transaction(self._write_entry(user_id)) as connection:
            yield Writing(Reading(connection))

    @asynccontextmanager
    async def shared(self, *, within_s: float | None = None) -> AsyncIterator[Writing]:
        """Open a transaction on the tables that belong to no user: keys, jobs, embedding identity.

        All of it, the wait for a connection included, is cancelled after `within_s` seconds if given. Raises Busy,
        DatabaseUnavailable, DeadlineExceeded.
        """
        timeout_ms, lock_ms = self._limits.write_ms, self._limits.lock_ms
        entry = _Entry(_ENTER_SHARED, {"timeout_ms": timeout_ms, "lock_ms": lock_ms}, bounded.limit_s(timeout_ms))
        async with bounded.within(within_s), self._transaction(entry) as connection:
            yield Writing(Reading(connection))

    def check_room(self) -> None:
        """Reject a write while there is still space for writes in progress. Raises DiskFull."""
        if self._hooks.is_full is not None and self._hooks.is_full():
            raise errors.DiskFull(driver_errors.DISK_FULL)

    async def close(self) -> None:
        """Close all connections within DISPOSE_S seconds; connections that do not respond are dropped.

        Connections in use are closed when their transaction ends. No further transaction is opened.
        """
        self._is_closed = True
        await self.close_idle()

    async def close_idle(self) -> None:
        """Close the connections that are not in use within DISPOSE_S seconds; new ones can be opened."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DISPOSE_S):
                await self._engine.dispose()

    def in_use(self) -> int:
        """The number of connections that are checked out."""
        return int(getattr(self._engine.pool, "checkedout", lambda: 0)())

    @asynccontextmanager
    async def _write_turn(self, user_id: str) -> AsyncIterator[None]:
        """Hold the write slot of the user and one of the process. Raises Busy after TURN_S seconds."""
        of_user = self._writers_of.setdefault(user_id, asyncio.Semaphore(1))
        async with AsyncExitStack() as turns:
            try:
                async with asyncio.timeout(TURN_S):
                    await turns.enter_async_context(of_user)
                    await turns.enter_async_context(self._writers)
            except TimeoutError:
                raise errors.Busy("Other writes are running; try again shortly.") from None
            yield

    @asynccontextmanager
    async def _transaction(self, entry: _Entry) -> AsyncIterator[AsyncConnection]:
        """Open a transaction and run its first statement.

        If the server has closed a pooled connection, it is dropped and the next one is tried, up to all pooled
        connections and a new one. This replaces a ping, which would cost every transaction three round trips.
        """
        async with self._translated(read_only=entry.read_only):
            for left in reversed(range(self._pooled() + 1)):
                try:
                    connection, stack = await self._begun(entry)
                    break
                except _ConnectionClosed as died:
                    if not left:
                        raise died.error from None
            async with stack:
                yield connection

    async def _begun(self, entry: _Entry) -> tuple[AsyncConnection, AsyncExitStack]:
        """Begin a transaction. Raises _ConnectionClosed if a pooled connection is closed, DatabaseUnavailable."""
        connection = bounded.Connection(self._engine)
        async with AsyncExitStack() as stack:
            await self._check_out(connection, stack, read_only=entry.read_only)
            try:
                await stack.enter_async_context(bounded.transaction(connection, entry.limit_s))
                first = (await connection.execute(entry.first, entry.values)).one()
            except (exc.DBAPIError, *bounded.UNREACHABLE) as error:
                if not driver_errors.is_lost(error):
                    raise
                await connection.invalidate()
                raise _ConnectionClosed(error) from error
            connection.info[_ENTERED] = first[0]
            vector_tables.entered(connection.info, first)
            connection.info[_GENERIC_PLANS] = entry.first is _ENTER_SEARCH
            connection.limit_s = entry.limit_s
            return connection, stack.pop_all()

    async def _check_out(self, connection: AsyncConnection, stack: AsyncExitStack, *, read_only: bool) -> None:
        """Check a connection out of the pool, which may open a new one. Raises DatabaseUnavailable."""
        if self._is_closed:
            raise errors.DatabaseUnavailable("The service is shutting down.")
        try:
            # The pool limits the wait for a free connection; this also limits opening a new one.
            async with bounded.within(self._pool_wait_s() + bounded.REACH_S):
                await stack.enter_async_context(connection)
                stack.push_async_callback(self._drop_if_closed, connection)
                if read_only:
                    # Both are part of BEGIN, which they make no slower.
                    await connection.execution_options(postgresql_readonly=True, isolation_level="REPEATABLE READ")
        except TimeoutError as error:
            raise errors.DatabaseUnavailable(bounded.UNRESPONSIVE) from error

    async def _drop_if_closed(self, connection: AsyncConnection) -> None:
        """Close a connection that would be returned to a pool that nothing closes any more."""
        if self._is_closed:
            await connection.invalidate()

    def _pooled(self) -> int:
        """The maximum number of pooled connections."""
        return int(getattr(self._engine.pool, "size", lambda: 0)())

    def _pool_wait_s(self) -> float:
        return float(getattr(self._engine.pool, "timeout", lambda: 0.0)())

    @asynccontextmanager
    async def _translated(self, *, read_only: bool) -> AsyncIterator[None]:
        try:
            yield
        except (exc.SQLAlchemyError, asyncpg.PostgresError, *bounded.UNREACHABLE) as error:
            translated = driver_errors.translated(error, read_only=read_only)
            if isinstance(translated, errors.ConnectionLost) and self._hooks.on_lost is not None:
                await asyncio.shield(self._hooks.on_lost())
            raise translated from error


def version(db: SearchTransaction) -> Version:
    """The user's version in the transaction's snapshot; zeros if the user has never stored anything."""
    return Version(*db.info[_ENTERED][:2])


def has_hidden(db: Reading) -> bool:
    """Whether the user has hidden chunks in the snapshot of a search transaction; false in other transactions."""
    entered = db.info.get(_ENTERED)
    return isinstance(entered, list) and bool(entered[2])


async def use_custom_plans(db: Reading) -> None:
    """Plan every further statement of a search transaction for its own binds; no effect on other transactions."""
    if db.info.get(_GENERIC_PLANS):
        await db.execute(_USE_CUSTOM_PLANS)
        db.info[_GENERIC_PLANS] = False


def pool_of(db: Reading) -> object:
    """A cache key for data about the database of a transaction."""
    return db.sync_engine


def retry_read(read: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Decorate a read-only function to retry it once after a lost connection."""

    @functools.wraps(read)
    async def retried(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await read(*args, **kwargs)
        except errors.ConnectionLost:
            log.info(
                "read retried after the connection was lost",
                extra={"action": "read_retried", "call": read.__qualname__},
            )
            return await read(*args, **kwargs)

    return retried


def connect(
    dsn: str,
    *,
    pool_size: int = 10,
    pool_wait_s: float = 1.0,
    limits: TimeLimits | None = None,
    hooks: ServerHooks | None = None,
) -> Database:
    """A Database on `dsn`; no connection is opened yet.

    The pool is last in, first out, because the most recently used connection has cached plans and warm server caches.
    """
    pool = {"pool_size": pool_size, "max_overflow": 0, "pool_timeout": pool_wait_s, "pool_use_lifo": True}
    return Database(engines.create(dsn, **pool), limits=limits, hooks=hooks)
