"""Runs statements on a pooled connection, each within a time limit: text on the driver, others through SQLAlchemy.

Server-side timeouts do not apply if the server is frozen or the network drops packets, so the client limits every wait.
For a statement that is text and needs no compilation, SQLAlchemy takes six times as long as the driver.
"""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeGuard, TypeVar, TypeVarTuple, overload

import asyncpg
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.sql.selectable import TypedReturnsRows
from sqlalchemy.util import greenlet_spawn

from app import errors
from app.database import driver_errors, sql, sqlalchemy_engines
from app.database.driver_errors import UNREACHABLE, Unresponsive

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Columns = TypeVarTuple("Columns")
Binds: TypeAlias = Mapping[str, Any] | None
ManyBinds: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
AnyRows: TypeAlias = sa.CursorResult[*tuple[Any, ...]]
ROLLBACK_S = 1.0
REACH_S = 2.0
"""Most seconds for a new pool connection, and for a transaction's first statement, which takes a millisecond."""
SLACK_S = 1.0
"""Seconds that the client waits beyond the server's statement_timeout."""
SLOW_S = 1.0
"""A statement that takes at least this many seconds is logged."""


@asynccontextmanager
async def within(seconds: float | None) -> AsyncIterator[None]:
    """Cancel the block after `seconds` and raise Unresponsive."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise Unresponsive from error


@dataclass(slots=True)
class Total:
    """How many times something was measured, and the sum in seconds."""

    count: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Add one measurement."""
        self.count += 1
        self.seconds += seconds


@dataclass(slots=True)
class Durations:
    """The totals of statements by name and of waits for a connection, and the number of waiting transactions."""

    statements: defaultdict[str, Total] = field(default_factory=lambda: defaultdict(Total))
    waits: Total = field(default_factory=Total)
    waiting: int = 0


class Row(asyncpg.Record):  # type: ignore[misc]  # it has no types
    """A row of a statement on the driver. Its columns are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def _fields(self) -> tuple[str, ...]:
        """The names of the columns, as SQLAlchemy's rows have them."""
        return tuple(self.keys())

    @property
    def _mapping(self) -> Row:
        """The row as a mapping, as SQLAlchemy's rows have it."""
        return self


class Rows(list[Any]):
    """The rows of a statement, with the methods of SQLAlchemy's results."""

    def all(self) -> Rows:
        """All rows."""
        return self

    def one(self) -> Any:
        """The only row. Raises ValueError for another number of rows."""
        (row,) = self
        return row

    def one_or_none(self) -> Any:
        """The only row; None without rows. Raises ValueError for several rows."""
        return self.one() if self else None

    def scalars(self) -> Rows:
        """The first column of all rows."""
        return Rows(row[0] for row in self)


class Connection:
    """A connection of a pool and its transaction; each statement ends within `limit_s`.

    If a statement exceeds the limit or is cancelled, its connection is closed instead of being returned to the pool.
    """

    limit_s: float = REACH_S
    marker: str = ""
    """A comment before each statement. The driver prepares texts with different comments separately."""

    def __init__(self, engine: AsyncEngine, durations: Durations) -> None:
        self.engine = engine
        self._durations = durations
        self._through_sqlalchemy: AsyncConnection | None = None

    async def open(self) -> None:
        """Check a connection out of the pool, which may open a new one. Raises the errors of pool and driver."""
        self._pool = self.engine.pool
        try:
            self._pooled = await self.engine.raw_connection()
        except self.engine.dialect.loaded_dbapi.Error as error:
            cause = driver_errors.root(error)
            if isinstance(cause, asyncpg.PostgresError) and driver_errors.translate(cause, read_only=False) is cause:
                said = driver_errors.summary(cause)
                raise driver_errors.AddressRefused(
                    f"The server in DATABASE_URL refuses the connection: {said}."
                ) from error
            raise cause from error
        self._driver: asyncpg.Connection = self._pooled.driver_connection

    async def close(self) -> None:
        """Return the connection to the pool.

        Close it instead if it is still in a transaction, does not know vectors, or the engine has replaced its pool.
        """
        if not self._pooled.is_valid:
            return
        is_open = not (self._driver.is_closed() or self._driver.is_in_transaction()) and self._pool is self.engine.pool
        if is_open and self._pooled.info.get(sqlalchemy_engines.KNOWS_VECTORS, False):
            self._pooled.close()  # without awaiting: the pool resets nothing and has room for all it has opened
        else:
            await self.invalidate()

    async def invalidate(self, error: BaseException | None = None) -> None:
        """Close the connection instead of returning it to the pool."""
        if self._pooled.is_valid:
            await greenlet_spawn(self._pooled.invalidate, error)

    @asynccontextmanager
    async def committing(self, commit_s: float) -> AsyncIterator[None]:
        """Commit the transaction that has begun, within a time limit, or roll it back after an error."""
        try:
            yield
        except BaseException:
            await self.roll_back()
            raise
        self.limit_s = commit_s
        await self.run("COMMIT")

    async def roll_back(self) -> None:
        """Roll the transaction back, if the connection is still open."""
        self.limit_s = ROLLBACK_S
        if self._pooled.is_valid and self._driver.is_in_transaction():
            with suppress(errors.DatabaseUnavailable, asyncpg.PostgresError, *UNREACHABLE):
                await self.run("ROLLBACK")

    async def run(self, command: str) -> None:
        """Run a statement that takes no binds and returns no rows."""
        try:
            await self._driver.execute(command, timeout=self.limit_s)
        except BaseException as error:
            await self._close_unless_answered(error)
            raise

    @overload
    async def execute(
        self, statement: TypedReturnsRows[*Columns], binds: ManyBinds = None
    ) -> sa.CursorResult[*Columns]: ...

    @overload
    async def execute(self, statement: sa.Executable, binds: ManyBinds = None) -> AnyRows: ...

    async def execute(self, statement: sa.Executable, binds: ManyBinds = None) -> Any:
        """The rows of a statement. Raises Unresponsive after `limit_s`, and what the driver or SQLAlchemy raises."""
        began = time.perf_counter()
        try:
            if self.runs_on_driver(statement, binds):
                return await self._fetch(statement, binds)
            async with within(self.limit_s):
                return await self._wrap().execute(statement, binds)
        finally:
            name, seconds = sql.NAMES.get(statement, "other"), time.perf_counter() - began
            self._durations.statements[name].add(seconds)
            if seconds >= SLOW_S:
                log.info("slow statement", extra={"statement": name, "took_ms": round(seconds * 1000)})

    async def _fetch(self, statement: sa.TextClause, binds: Any) -> Rows:
        """The rows of a statement that runs on the driver."""
        text, names = compile_text(statement, self.engine.dialect)
        try:
            values = [binds[name] for name in names]
            rows = await self._driver.fetch(self.marker + text, *values, timeout=self.limit_s, record_class=Row)
        except BaseException as error:
            await self._close_unless_answered(error)
            raise
        return Rows(rows)

    @staticmethod
    def runs_on_driver(statement: sa.Executable, binds: ManyBinds) -> TypeGuard[sa.TextClause]:
        """Whether a statement is text with at most one set of binds. Such a statement does not need SQLAlchemy."""
        return type(statement) is sa.TextClause and not isinstance(binds, list | tuple)

    async def scalars(self, statement: sa.Executable, binds: Binds = None) -> sa.ScalarResult[Any]:
        """The first column of the rows of a statement."""
        return (await self.execute(statement, binds)).scalars()

    async def scalar(self, statement: sa.Executable, binds: Binds = None) -> Any:
        """The first column of the first row of a statement, None without rows."""
        rows: Any = await self.execute(statement, binds)
        if not isinstance(rows, Rows):
            return rows.scalar()
        return rows[0][0] if rows else None

    async def run_sync(self, work: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a function with a synchronous connection. It must end within `limit_s`."""
        async with within(self.limit_s):
            return await self._wrap().run_sync(work, *args, **kwargs)

    def stream(self, statement: sa.Executable, binds: Binds = None) -> AbstractAsyncContextManager[Any]:
        """Run a statement whose rows are read in batches, in a block."""
        return self._wrap().stream(statement, binds)

    def _wrap(self) -> AsyncConnection:
        """The same connection for SQLAlchemy, which neither begins nor ends a transaction of Postgres."""
        if self._through_sqlalchemy is None:
            connection = sa.Connection(self.engine.sync_engine, self._pooled)
            connection.begin()
            self._through_sqlalchemy = AsyncConnection(self.engine, connection)
        return self._through_sqlalchemy

    async def _close_unless_answered(self, error: BaseException) -> None:
        """Close the connection, unless Postgres answered with the error. Raises Unresponsive for an exceeded limit."""
        if isinstance(error, Exception) and not isinstance(error, UNREACHABLE) and not self._driver.is_closed():
            return
        await self.invalidate(error)
        if isinstance(error, TimeoutError):
            raise Unresponsive from error


_texts: weakref.WeakKeyDictionary[sa.TextClause, tuple[str, tuple[str, ...]]] = weakref.WeakKeyDictionary()


def compile_text(statement: sa.TextClause, dialect: Dialect) -> tuple[str, tuple[str, ...]]:
    """A statement as the driver reads it, and the names of its binds in their order."""
    found = _texts.get(statement)
    if found is None:
        compiled: Any = statement.compile(dialect=dialect)
        found = _texts[statement] = (compiled.string, tuple(compiled.positiontup or ()))
    return found
