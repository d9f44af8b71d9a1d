"""How does a pipeline get a transaction?

`reading(user)` is one READ ONLY transaction, `writing(user)` one read-write transaction; both set the user for
row-level security and the search settings through the schema's `enter` function, and nobody else commits.
Foreign exceptions are translated here and nowhere else.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, NewType, ParamSpec, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from app import errors

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Reading = NewType("Reading", AsyncConnection)
Writing = NewType("Writing", Reading)

_ARGUMENTS = "(CAST(:user_id AS text), CAST(:timeout_ms AS integer), CAST(:candidates AS integer))"
_ENTER = sa.text(f"SELECT stepwell.enter{_ARGUMENTS}")
_ENTER_PLAIN = sa.text(f"SELECT stepwell.enter_plain{_ARGUMENTS}")
_PLAN_EACH = sa.text("SELECT stepwell.plan_each()")
_PLAIN, _ENTERED = "stepwell_plain", "stepwell_entered"
_REACH = sa.text("SELECT 1")
_NO_TEMPORARY_SPACE = "The database's disk is full, and this search needs temporary space on it: ask for less."
_DISK_FULL = "The database's disk is full: nothing was stored. Make room on it, then try again; searches go on."
_UNREACHABLE = (
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


@dataclass(frozen=True, slots=True)
class Limits:
    """Statement timeouts in milliseconds, for searches and for writes."""

    read_ms: int = 5_000
    write_ms: int = 60_000


class Version(NamedTuple):
    """How often a user's data, and the names of the user's entities among them, have changed."""

    data: int
    names: int


class _Died(Exception):
    """A connection was lent that is gone."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class Database:
    """A pool of connections as the service's role.

    `on_lost` is awaited when the server cannot be reached, so that an embedded server can be brought back. `is_full`
    says whether the server's disk has no room for writes, where that can be seen.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        *,
        limits: Limits | None = None,
        on_lost: Callable[[], Awaitable[None]] | None = None,
        is_full: Callable[[], bool] | None = None,
    ) -> None:
        self._is_full = is_full
        self._engine = engine
        self._limits = limits or Limits()
        self._on_lost = on_lost

    @asynccontextmanager
    async def reading(self, user_id: str, *, candidates: int = 100, plain: bool = False) -> AsyncIterator[Reading]:
        """Open a READ ONLY transaction that sees one user's rows and walks HNSW for so many candidates.

        In a plain one every statement is planned once a connection, which saves a quarter of a search's time; one that
        needs a plan of its own calls `plan_each` first. Raises DatabaseUnavailable, DeadlineExceeded.
        """
        binds = {"user_id": user_id, "timeout_ms": self._limits.read_ms, "candidates": candidates}
        async with self._transaction(_ENTER_PLAIN if plain else _ENTER, binds, read_only=True) as connection:
            yield Reading(connection)

    @asynccontextmanager
    async def writing(self, user_id: str) -> AsyncIterator[Writing]:
        """Open a transaction that may change one user's rows and commits when the block ends without an error.

        Raises DatabaseUnavailable, DeadlineExceeded, DiskFull.
        """
        self.check_room()
        binds = {"user_id": user_id, "timeout_ms": self._limits.write_ms, "candidates": 100}
        async with self._transaction(_ENTER, binds) as connection:
            yield Writing(Reading(connection))

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[Writing]:
        """Open a transaction on the tables that belong to no user: keys, jobs, embedding identity."""
        async with self._transaction(_REACH, {}) as connection:
            yield Writing(Reading(connection))

    def check_room(self) -> None:
        """Refuse a write early, while the disk still has room for what has begun. Raises DiskFull."""
        if self._is_full is not None and self._is_full():
            raise errors.DiskFull(_DISK_FULL)

    async def ping(self) -> None:
        """Reach the server once; raises DatabaseUnavailable."""
        async with self.shared():
            pass

    async def close(self) -> None:
        """Give all connections back."""
        await self._engine.dispose()

    def in_use(self) -> int:
        """How many connections are lent out now."""
        return int(getattr(self._engine.pool, "checkedout", lambda: 0)())

    @asynccontextmanager
    async def _transaction(
        self, first: sa.TextClause, binds: dict[str, object], *, read_only: bool = False
    ) -> AsyncIterator[AsyncConnection]:
        """A transaction whose first statement has shown that the connection lives.

        A pooled connection may have died unnoticed: then it goes, and the next is tried, until all of the pool and a
        new one have been. That spares every other transaction the three round trips of a ping.
        """
        async with self._translated(read_only=read_only):
            for left in reversed(range(self._pooled() + 1)):
                try:
                    connection, stack = await self._begun(first, binds, read_only)
                    break
                except _Died as died:
                    if not left:
                        raise died.error from None
            async with stack:
                yield connection

    async def _begun(
        self, first: sa.TextClause, binds: dict[str, object], read_only: bool
    ) -> tuple[AsyncConnection, AsyncExitStack]:
        """Raises _Died where a connection was lent and is gone; it does not come back to the pool."""
        async with AsyncExitStack() as stack:
            connection = await stack.enter_async_context(self._engine.connect())
            try:
                if read_only:
                    await connection.execution_options(postgresql_readonly=True)
                await stack.enter_async_context(connection.begin())
                connection.info[_ENTERED] = (await connection.execute(first, binds)).scalar_one()
            except (exc.DBAPIError, *_UNREACHABLE) as error:
                if not _is_lost(error):
                    raise
                await connection.invalidate()
                raise _Died(error) from error
            connection.info[_PLAIN] = first is _ENTER_PLAIN
            return connection, stack.pop_all()

    def _pooled(self) -> int:
        """How many connections may be kept."""
        return int(getattr(self._engine.pool, "size", lambda: 0)())

    @asynccontextmanager
    async def _translated(self, *, read_only: bool) -> AsyncIterator[None]:
        try:
            yield
        except (exc.SQLAlchemyError, asyncpg.PostgresError, *_UNREACHABLE) as error:
            raise await self._translate(error, read_only=read_only) from error

    async def _translate(self, error: BaseException, *, read_only: bool) -> BaseException:
        cause = _root(error)
        if isinstance(cause, asyncpg.QueryCanceledError):
            return errors.DeadlineExceeded("The database did not answer within the time limit.")
        if isinstance(cause, asyncpg.DiskFullError):
            return errors.DatabaseUnavailable(_NO_TEMPORARY_SPACE) if read_only else errors.DiskFull(_DISK_FULL)
        if isinstance(cause, asyncpg.InvalidCatalogNameError):
            return errors.SchemaMismatch("The server has no database of this name: check DATABASE_URL.")
        if isinstance(cause, asyncpg.InvalidAuthorizationSpecificationError):
            return errors.SchemaMismatch("The server refuses the role in DATABASE_URL, or its password.")
        if isinstance(cause, exc.TimeoutError):
            return errors.DatabaseUnavailable("All database connections are busy; try again shortly.")
        if isinstance(
            cause, asyncpg.LockNotAvailableError | asyncpg.DeadlockDetectedError | asyncpg.SerializationError
        ):
            return errors.DatabaseUnavailable("The database is busy with another change; try again shortly.")
        if _is_lost(error):
            log.warning("database lost: %s", type(cause).__name__, extra={"action": "database_lost"})
            if self._on_lost is not None:
                await asyncio.shield(self._on_lost())
            return errors.ConnectionLost("The database cannot be reached; try again shortly.")
        return error


def version(db: Reading) -> Version:
    """The user's version as a plain transaction sees it; 0 before anything was stored."""
    return Version(*db.info[_ENTERED])


async def plan_each(db: Reading) -> None:
    """From here on every statement of the transaction is planned for its own binds, as it is unless it is plain."""
    if db.info.get(_PLAIN):
        await db.execute(_PLAN_EACH)
        db.info[_PLAIN] = False


def pool_of(db: Reading) -> object:
    """What a transaction's connection was lent from: the key of what a process remembers of that database."""
    return db.sync_engine


def _root(error: BaseException) -> BaseException:
    """The driver's own exception under SQLAlchemy's wrappers."""
    seen: BaseException = error
    while isinstance(seen, exc.DBAPIError) or type(seen).__module__.startswith("sqlalchemy.dialects"):
        inner = seen.orig if isinstance(seen, exc.DBAPIError) else seen.__cause__
        if inner is None:
            break
        seen = inner
    return seen


def _is_lost(error: BaseException) -> bool:
    invalidated = isinstance(error, exc.DBAPIError) and error.connection_invalidated
    return invalidated or isinstance(_root(error), _UNREACHABLE)


def rereading(story: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """A story that reads, told once more where its connection broke: reading twice changes nothing."""

    @functools.wraps(story)
    async def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await story(*args, **kwargs)
        except errors.ConnectionLost:
            log.info("reading again", extra={"action": "reread", "call": story.__qualname__})
            return await story(*args, **kwargs)

    return told


def normalised(dsn: str) -> str:
    """A database address in the form that SQLAlchemy's asyncpg dialect wants."""
    scheme, separator, rest = dsn.partition("://")
    if not separator or scheme.split("+")[0] not in {"postgres", "postgresql"}:
        raise errors.BadRequest("The address must start with postgresql://", field="DATABASE_URL")
    return f"postgresql+asyncpg://{rest}"


def connect(
    dsn: str,
    *,
    pool_size: int = 10,
    pool_wait_s: float = 1.0,
    limits: Limits | None = None,
    on_lost: Callable[[], Awaitable[None]] | None = None,
    is_full: Callable[[], bool] | None = None,
) -> Database:
    """A Database on `dsn`; nothing is opened yet.

    The connection that came back last is lent first: it has its plans, and its server process its caches.
    """
    pool = {"pool_size": pool_size, "max_overflow": 0, "pool_timeout": pool_wait_s, "pool_use_lifo": True}
    return Database(engine(dsn, **pool), limits=limits, on_lost=on_lost, is_full=is_full)


def engine(dsn: str, **options: Any) -> AsyncEngine:
    """An engine whose connections prefer answers over notices."""
    settings = {
        "application_name": "stepwell",
        "client_min_messages": "warning",
        "citus.propagate_set_commands": "local",
    }
    return create_async_engine(normalised(dsn), connect_args={"server_settings": settings, "timeout": 5}, **options)
