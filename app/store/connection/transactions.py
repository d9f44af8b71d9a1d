"""Opens transactions on Postgres with the user's row-level security, time limits and translated errors.

`reading(user)` is a READ ONLY transaction in which all statements see one snapshot (REPEATABLE READ), `searching(user)`
one with the settings of a search, and `writing(user)` a read-write transaction. They set the user through the schema's
`enter` functions, and nothing else commits. Reads of a request go to a standby if there is one (see `read_routes`).
"""

from __future__ import annotations

import asyncio
import copy
import functools
import logging
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, NewType, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from app import errors
from app.store.connection import bounded, driver_errors, engines, failures, read_routes, vector_tables
from app.store.connection.pools import DISPOSE_S, ENTERED, WRITTEN, Entry, Pool, ServerHooks
from app.store.connection.read_routes import ReadRoute, ReadTargets, Version

__all__ = ["DISPOSE_S", "Database", "Reading", "SearchTransaction", "ServerHooks", "TimeLimits", "Version", "Writing"]

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Reading = NewType("Reading", AsyncConnection)
SearchTransaction = NewType("SearchTransaction", Reading)
"""A reading transaction that uses generic plans."""
Writing = NewType("Writing", Reading)

_ENTER_ARGUMENTS = "(CAST(:user_id AS text), CAST(:timeout_ms AS integer), CAST(:candidates AS integer))"
_LOCK_TIMEOUT = "set_config('lock_timeout', CAST(CAST(:lock_ms AS integer) AS text), true)"
_STATEMENT_TIMEOUT = "set_config('statement_timeout', CAST(CAST(:timeout_ms AS integer) AS text), true)"
_READ_ONLY = "current_setting('transaction_read_only') AS read_only"
_ENTER_SEARCH = sa.text(f"SELECT stepwell.enter_plain{_ENTER_ARGUMENTS}, {vector_tables.READS}")
# The functions run in this order: those for planning replace settings of `enter_plain`.
_ENTER = sa.text(f"SELECT stepwell.enter_plain{_ENTER_ARGUMENTS}, stepwell.plan_each(), {vector_tables.READS}")
_ENTER_WRITING = sa.text(
    f"SELECT stepwell.enter_plain{_ENTER_ARGUMENTS}, stepwell.plan_writes(), {_LOCK_TIMEOUT}, {_READ_ONLY}, "
    f"{vector_tables.WRITES}"
)
_ENTER_SHARED = sa.text(f"SELECT {_STATEMENT_TIMEOUT}, {_LOCK_TIMEOUT}, {_READ_ONLY}")
_USE_CUSTOM_PLANS = sa.text("SELECT stepwell.plan_each()")
_PLAN_WRITES = sa.text("SELECT stepwell.plan_writes()")
_GENERIC_PLANS = "stepwell_generic_plans"
PLANNED_ABOVE = 6_000
"""Chunks of a user up to which a generic plan of a filtered search costs less than planning it (docs/benchmarks.md)."""
TURN_S = 2.0
"""Maximum time that a write waits for other writes of its user and of this process."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Timeouts in milliseconds: of a statement that reads, of one that writes, and of a write's wait for a lock."""

    read_ms: int = 5_000
    write_ms: int = 60_000
    lock_ms: int = 2_000


class WriteTurns:
    """Lets one write of each user run at a time, and at most half of the pool's connections write."""

    def __init__(self, connections: int) -> None:
        self._writers = asyncio.Semaphore(max(1, connections // 2))
        self._writers_of: weakref.WeakValueDictionary[str, asyncio.Semaphore] = weakref.WeakValueDictionary()

    @asynccontextmanager
    async def of(self, user_id: str) -> AsyncIterator[None]:
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


class Database:
    """Transactions on one database, with a standby for reads if `targets.standby` is set.

    Writes use at most half of the connections, and the writes of one user use one, because they are serialised by locks
    in any case. `for_request` and `primary` are views that share the connections.
    """

    def __init__(self, pool: Pool, *, limits: TimeLimits | None = None) -> None:
        self.pool = pool
        self.targets = ReadTargets(pool)
        self._limits = limits or TimeLimits()
        self._turns = WriteTurns(pool.size())
        self._new_route: Callable[[], ReadRoute] = functools.partial(ReadRoute, self.targets)
        self._only_reads = self._on_primary = False

    def for_request(self, route: ReadRoute, *, only_reads: bool) -> Database:
        """A view for a request. One that only reads refuses to write; otherwise all reads are on the primary."""
        view = copy.copy(self)
        view._new_route, view._only_reads, view._on_primary = lambda: route, only_reads, not only_reads
        return view

    @property
    def primary(self) -> Database:
        """A view that reads from the primary, for state that has no version, such as jobs."""
        view = copy.copy(self)
        view._on_primary = True
        return view

    def reading(self, user_id: str, *, candidates: int = 100) -> AbstractAsyncContextManager[Reading]:
        """Open a READ ONLY transaction that sees one user's rows and scans HNSW for this many candidates.

        All of its statements see the same snapshot.

        Raises DatabaseUnavailable, DeadlineExceeded.
        """
        return self._read(_ENTER, user_id, candidates)

    @asynccontextmanager
    async def searching(self, user_id: str, *, candidates: int = 100) -> AsyncIterator[SearchTransaction]:
        """Open a transaction like `reading` that uses generic plans.

        Each statement is planned once per connection, which saves a quarter of a search's time; call `use_custom_plans`
        before a statement with a plan that depends on its binds. Raises DatabaseUnavailable, DeadlineExceeded.
        """
        async with self._read(_ENTER_SEARCH, user_id, candidates) as reading:
            yield SearchTransaction(reading)

    @asynccontextmanager
    async def _read(self, first: sa.TextClause, user_id: str, candidates: int) -> AsyncIterator[Reading]:
        timeout_ms = self._limits.read_ms
        values: dict[str, object] = {"user_id": user_id, "timeout_ms": timeout_ms, "candidates": candidates}
        entry = Entry(first, values, bounded.limit_s(timeout_ms), read_only=True)
        async with self._new_route().transaction(entry, user_id, on_primary=self._on_primary) as connection:
            connection.info[_GENERIC_PLANS] = first is _ENTER_SEARCH
            yield Reading(connection)

    @asynccontextmanager
    async def writing(self, user_id: str) -> AsyncIterator[Writing]:
        """Open a transaction that may change one user's rows and commits when the block ends without an error.

        Its statements and the checks of foreign keys use generic plans, except in a small database; see `custom_plans`.
        Never open one inside another of the same user. Raises Busy, DatabaseUnavailable, DeadlineExceeded, DiskFull,
        ReadOnly.
        """
        self._check_disk()
        async with self._turns.of(user_id), self._write(user_id) as writing:
            yield writing

    @asynccontextmanager
    async def preparing(self, user_id: str) -> AsyncIterator[Writing]:
        """Open a transaction like `writing` that does not wait for other writes and does not make them wait.

        For long transactions of background work, which take the user's lock at their end only.
        """
        self._check_disk()
        async with self._write(user_id) as writing:
            yield writing

    @asynccontextmanager
    async def _write(self, user_id: str) -> AsyncIterator[Writing]:
        if self._only_reads:
            raise RuntimeError("This request only reads: it must not open a transaction that writes.")
        timeout_ms, lock_ms = self._limits.write_ms, self._limits.lock_ms
        values = {"user_id": user_id, "timeout_ms": timeout_ms, "candidates": 0, "lock_ms": lock_ms}
        async with self.pool.transaction(Entry(_ENTER_WRITING, values, bounded.limit_s(timeout_ms))) as connection:
            if self.pool.is_read_only:
                raise errors.ReadOnly(failures.READ_ONLY)
            connection.info[_GENERIC_PLANS] = False
            yield Writing(Reading(connection))
            version = connection.info[WRITTEN] or read_routes.version_of(connection).data
        self._new_route().note(user_id, version)

    @asynccontextmanager
    async def shared(self, *, within_s: float | None = None) -> AsyncIterator[Writing]:
        """Open a transaction on the tables that belong to no user: keys, jobs, embedding identity.

        All of it, the wait for a connection included, is cancelled after `within_s` seconds if given. Raises Busy,
        DatabaseUnavailable, DeadlineExceeded, ReadOnly.
        """
        timeout_ms, lock_ms = self._limits.write_ms, self._limits.lock_ms
        entry = Entry(_ENTER_SHARED, {"timeout_ms": timeout_ms, "lock_ms": lock_ms}, bounded.limit_s(timeout_ms))
        async with bounded.within(within_s), self.pool.transaction(entry) as connection:
            connection.info[_GENERIC_PLANS] = False
            yield Writing(Reading(connection))

    async def check_writable(self) -> None:
        """Reject a write before any work is done for it. Raises DiskFull, ReadOnly.

        The server is asked again only if it let this process read only.
        """
        self._check_disk()
        if self.pool.is_read_only and await self.is_read_only():
            raise errors.ReadOnly(failures.READ_ONLY)

    async def is_read_only(self) -> bool:
        """Whether the server lets this process read only. Raises DatabaseUnavailable."""
        async with self.shared():
            return self.pool.is_read_only

    def _check_disk(self) -> None:
        if self.pool.hooks.is_full is not None and self.pool.hooks.is_full():
            raise errors.DiskFull(driver_errors.DISK_FULL)

    async def close(self) -> None:
        """Close all connections, as `Pool.close` does. No further transaction is opened."""
        await self.pool.close()

    async def close_idle(self) -> None:
        """Close the connections that are not in use within DISPOSE_S seconds; new ones can be opened."""
        await self.pool.close_idle()

    def in_use(self) -> int:
        """The number of connections that are checked out."""
        return self.pool.in_use()


def version(db: Reading) -> Version:
    """The user's version in the transaction's snapshot; zeros if the user has never stored anything."""
    return read_routes.version_of(db)


def wrote(db: Writing, new_version: int) -> None:
    """Record that the transaction has raised the user's version."""
    db.info[WRITTEN] = new_version


def graph_rows(db: Reading) -> int:
    """An estimate of the rows in the HNSW graph that contains the user's vectors, those of other users included."""
    return int(db.info[ENTERED][3])


def has_hidden(db: Reading) -> bool:
    """Whether the user has hidden chunks in the transaction's snapshot."""
    return bool(db.info[ENTERED][2])


async def use_custom_plans(db: Reading) -> None:
    """Plan every further statement of a search transaction for its own binds; no effect on other transactions.

    No effect either if the user has so few chunks that planning would cost more than it saves.
    """
    if db.info.get(_GENERIC_PLANS) and int(db.info[ENTERED][4]) > PLANNED_ABOVE:
        await db.execute(_USE_CUSTOM_PLANS)
        db.info[_GENERIC_PLANS] = False


@asynccontextmanager
async def custom_plans(db: Writing) -> AsyncIterator[None]:
    """Plan the statements of the block for their own binds, in a transaction of `writing` or `preparing`."""
    await db.execute(_USE_CUSTOM_PLANS)
    yield
    await db.execute(_PLAN_WRITES)


def pool_of(db: Reading) -> object:
    """A cache key for data about the database of a transaction."""
    return db.sync_engine


def retry_read(read: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Decorate a read-only function to retry it once after a lost connection, on the primary if a standby failed."""
    return _retried(read, errors.ConnectionLost)


def repeat_on_primary(read: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Decorate a read-only function to repeat it as a whole if a standby fails."""
    return _retried(read, failures.StandbyFailed)


def _retried(
    read: Callable[P, Awaitable[T]], error: type[errors.ConnectionLost]
) -> Callable[P, Coroutine[Any, Any, T]]:
    @functools.wraps(read)
    async def retried(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await read(*args, **kwargs)
        except error:
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
    return Database(Pool(engines.create(dsn, **pool), hooks), limits=limits)
