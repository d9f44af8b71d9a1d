"""Opens transactions on one Postgres server from a pool of connections, and routes the reads of requests to it.

The client limits every wait and translates the errors of the driver. `standby` replaces the routes if reads go to a
standby.

The tables of the model in use are `embeddings` and `entity_vectors`. While the vectors of another model are computed,
they are in `embeddings_next` and `entity_vectors_next`. The switch drops the first tables and renames the second. A
transaction locks the table in use when it begins, and reads its object id, which identifies the model. It fails if the
tables belong to an unexpected model.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, cast

import asyncpg
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from app import errors
from app.database import driver_errors, pooled_connection, sqlalchemy_engines
from app.database.calibration_types import RelevanceCalibration
from app.database.driver_errors import UNREACHABLE, RecoveryConflict, StandbyBehind, Unresponsive
from app.database.pooled_connection import Connection, Durations, Row, Rows
from app.enums import StandbyStatus

log = logging.getLogger(__name__)

BEGIN = {False: "BEGIN ISOLATION LEVEL READ COMMITTED", True: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}
"""The command that begins a transaction, by whether it only reads. In that case all statements see one snapshot.

In other transactions each statement sees what was committed before a lock was granted.
"""
DISPOSE_S = 2.0
RESTORE_S = 10.0
"""How long an operation that lost its server waits for the server's restart, in seconds."""
REFUSED_S = 10.0
"""If the server has refused a connection, another one is tried after this many seconds."""
CALIBRATION_LENGTH = 6
"""Numbers of a calibration in the array that `enter_plain` returns, if the user has a calibration."""


class Version(NamedTuple):
    """The number of changes of a user's data, and of the user's entity names."""

    data: int = 0
    names: int = 0


NEVER_STORED = Version()


class VectorTables(NamedTuple):
    """The object ids of the table of vectors in use and of the table being filled; 0 without such a table."""

    current: int = 0
    next: int = 0


READ_VECTORS = "stepwell.vector_tables(false) AS vector_tables"
WRITE_VECTORS = "stepwell.vector_tables(true) AS vector_tables"
_expected: ContextVar[int | None] = ContextVar("expected_vector_table", default=None)


@contextmanager
def expecting(table: int) -> Iterator[None]:
    """Make the transactions of a block fail unless this table of vectors is in use."""
    token = _expected.set(table)
    try:
        yield
    finally:
        _expected.reset(token)


def _read_locked(first: Row) -> VectorTables:
    """The tables that a transaction has locked, from its first row; zeros in a transaction without a user.

    Raises ModelReplaced if another table is expected.
    """
    found = first["vector_tables"] if "vector_tables" in first else None  # noqa: SIM401 - a record has no get
    tables, expected = VectorTables(*found or ()), _expected.get()
    if found and expected not in (None, tables.current):
        raise errors.ModelReplaced
    return tables


@dataclass(frozen=True, slots=True)
class Entered:
    """A transaction that has begun: its connection, and what its first statement has read.

    These belong to the user: `version`, `has_hidden` (chunks of large documents that readers must not see), `chunks`,
    `graph_rows` (an estimate of all rows, also of other users, in the HNSW graph with the user's vectors),
    `calibration` and `synonyms_version` (the version when the synonyms were stored). They are zeros and None without a
    user, or if the user has never stored anything. A writing transaction has the schema's `revision`.
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
    def of(cls, connection: Connection, first: Row) -> Entered:
        """Reads the first row. In a transaction of a user it begins with the array that `enter_plain` returns.

        Raises ModelReplaced.
        """
        tables = _read_locked(first)
        revision = first["revision"] if "revision" in first else None  # noqa: SIM401 - a record has no get
        if not isinstance(first[0], list):
            return cls(connection, tables, revision=revision)
        data, names, has_hidden, graph_rows, chunks, *others = first[0]
        length = CALIBRATION_LENGTH if len(others) >= CALIBRATION_LENGTH else 0
        calibration = RelevanceCalibration.from_millionths(others[:length]) if length else None
        version = Version(data, names)
        synonyms_version = sum(others[length:])  # one number, or none
        of_user = (version, bool(has_hidden), graph_rows, chunks, calibration, synonyms_version)
        return cls(connection, tables, *of_user, revision=revision)


@dataclass(frozen=True, slots=True)
class ServerHooks:
    """Callbacks to a server that this process manages.

    `on_lost` is awaited when the server cannot be reached, so that it is restarted. `is_full` returns whether its disk
    is too full for writes.
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

    `is_reachable` says whether the last attempt reached the server, `is_read_only` whether the server allowed the last
    writing transaction only to read. `durations` has the durations of statements and waits.
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

    @property
    def _pool(self) -> AsyncAdaptedQueuePool:
        return cast(AsyncAdaptedQueuePool, self.engine.pool)  # `close_idle` replaces it

    @asynccontextmanager
    async def transaction(self, entry: Entry) -> AsyncIterator[Entered]:
        """Open a transaction and run its first statement."""
        async with self._translate_errors(read_only=entry.read_only):
            connection, rows = await self._run_first(entry.first, entry.values, begin=BEGIN[entry.read_only])
            try:
                async with connection.committing(entry.limit_s):
                    (first,) = rows
                    entered = Entered.of(connection, first)
                    connection.limit_s = entry.limit_s
                    yield entered
            finally:
                await self._give_back(connection)

    async def rows(self, statement: sa.TextClause, values: Mapping[str, Any], *, within_s: float) -> Rows:
        """The rows of one statement that needs no settings. It takes one round trip; a transaction takes four.

        It is cancelled after `within_s` seconds, including the wait for a connection. Raises DatabaseUnavailable.
        """
        try:
            async with pooled_connection.within(within_s), self._translate_errors(read_only=False):
                connection, rows = await self._run_first(statement, values)
                await self._give_back(connection)
                return rows
        except Unresponsive as error:
            self._note_lost(error)
            raise

    async def _run_first(
        self, statement: sa.TextClause, values: Mapping[str, Any], *, begin: str = ""
    ) -> tuple[Connection, Rows]:
        """Run the first statement on a connection, after the command that begins a transaction, if any.

        If the server has closed a pooled connection, it is dropped and the next one is tried, up to all pooled
        connections and a new one. This replaces a ping, which would cost every transaction three round trips.
        """
        for left in reversed(range(self.size() + 1)):
            connection = await self._check_out()
            try:
                if begin:
                    await connection.run(begin)
                rows: Any = await connection.execute(statement, values)
                if rows and "read_only" in rows[0]:
                    await self._note_read_only(rows[0]["read_only"] == "on")
            except BaseException as error:
                await connection.roll_back()
                await self._give_back(connection)
                if left and isinstance(error, UNREACHABLE):
                    continue
                raise
            self._note_reached()
            return connection, rows
        raise AssertionError("the last attempt raises its error")

    async def _check_out(self) -> Connection:
        """A connection of the pool, which may open a new one. Raises DatabaseUnavailable."""
        if self._is_closed:
            raise errors.DatabaseUnavailable("The service is shutting down.")
        connection, began = Connection(self.engine, self.durations), time.perf_counter()
        self.durations.waiting += 1
        try:
            # The pool limits the wait for a free connection; this also limits opening a new one.
            async with asyncio.timeout(self._pool.timeout() + pooled_connection.REACH_S):
                await self._open(connection)
        except TimeoutError as error:
            raise Unresponsive from error
        finally:
            self.durations.waiting -= 1
            self.durations.waits.add(time.perf_counter() - began)
        return connection

    async def _open(self, connection: Connection) -> None:
        """Check a connection out. If the server grants no more, wait until one is given back.

        After a refusal the pool does not grow for REFUSED_S. Raises DatabaseUnavailable.
        """
        until = time.monotonic() + self._pool.timeout()
        while True:
            is_exhausted = self._granted is not None and self.in_use() >= self._granted
            if not is_exhausted or time.monotonic() - self._refused_at >= REFUSED_S:
                try:
                    return await connection.open()
                except asyncpg.TooManyConnectionsError:
                    self._granted, self._refused_at = self.in_use() + self._pool.checkedin(), time.monotonic()
                    if not self._granted:
                        raise
                    log.warning("the server grants %d connections only", self._granted)
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    await self._given_back.wait()
            except TimeoutError:
                raise errors.DatabaseUnavailable(driver_errors.BUSY) from None

    async def _give_back(self, connection: Connection) -> None:
        """Return a connection to the pool, or close it if the pool is closed."""
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
        except Unresponsive as error:
            self._note_lost(error)
            raise
        except (exc.SQLAlchemyError, asyncpg.PostgresError, *UNREACHABLE) as error:
            if isinstance(error, asyncpg.InvalidCachedStatementError | asyncpg.OutdatedSchemaCacheError):
                await self.close_idle()  # their connections have prepared statements of the old schema too
            translated = driver_errors.translate(error, read_only=read_only)
            if isinstance(translated, errors.ReadOnly):
                await self._note_read_only(True)
            if isinstance(translated, errors.ConnectionLost) and not isinstance(translated, RecoveryConflict):
                self._note_lost(error)
                await self._restore()
            # A defect keeps its cause, the error of the driver, whose class the log names.
            raise translated from (error.__cause__ if translated is error else error)

    def _note_reached(self) -> None:
        if not self.is_reachable:
            log.info("database reached again", extra={"action": "database_reached"})
        self.is_reachable = True

    def _note_lost(self, error: Exception) -> None:
        if self.is_reachable:
            root = driver_errors.root(error)
            cause = getattr(root, "strerror", None) or type(root).__name__  # "No such file or directory", not its class
            log.warning("database lost: %s", cause, extra={"action": "database_lost"})
        self.is_reachable = False

    async def _note_read_only(self, is_read_only: bool) -> None:
        if is_read_only == self.is_read_only:
            return
        self.is_read_only = is_read_only
        said = "is read-only" if is_read_only else "accepts writes again"
        log.warning("database %s", said, extra={"action": "database_read_only"})
        await self.close_idle()  # a setting of the role holds for new connections only

    async def _restore(self) -> None:
        """Await `on_lost` for RESTORE_S seconds. Whoever runs the server logs why it cannot be restarted."""
        if self.hooks.on_lost is not None:
            with suppress(errors.EmbeddedServerError, TimeoutError):
                async with asyncio.timeout(RESTORE_S):
                    await asyncio.shield(self.hooks.on_lost())

    async def close(self) -> None:
        """Close all connections within DISPOSE_S seconds; connections that do not respond are dropped.

        Connections in use are closed when their transaction ends. No further transaction is opened.
        """
        self._is_closed = True
        await self.close_idle()

    async def close_idle(self) -> None:
        """Close, within DISPOSE_S seconds, the connections that are not in use; new ones can be opened.

        Connections in use are closed when their transaction ends.
        """
        with sqlalchemy_engines.closing_within(DISPOSE_S):
            await self.engine.dispose()

    def in_use(self) -> int:
        """The number of connections that are checked out."""
        return self._pool.checkedout()

    def size(self) -> int:
        """The maximum number of pooled connections."""
        return self._pool.size()


Target = Literal["standby", "primary"]
Reason = Literal["preferred", "older", "unavailable", "unreachable_primary"]
"""Why a read went to its target: it was preferred, the standby was too old or unusable, or the primary was
unreachable."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a standby is behind: in seconds, and in bytes of the write-ahead log."""

    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class StandbyReport:
    """The result of the last probe of a standby: whether reads go to it, why not, its lag, `hot_standby_feedback`."""

    state: StandbyStatus
    reason: str = ""
    lag: Lag | None = None
    feedback: bool = False


class ReadRoute:
    """Where the reads of one request go.

    `required` is the version that the client has seen. `version` is the newest version that the request itself has read
    or written; None before its first transaction of a user.
    """

    def __init__(self, routes: ReadRoutes, *, required: int = 0) -> None:
        self._routes = routes
        self._required = required
        self.version: int | None = None

    def on_primary(self) -> Self:
        """The same route. All of its further reads go to the primary."""
        return self

    def note(self, user_id: str, version: int) -> None:
        """Record the version that a transaction of the user has read or written."""
        self.version = max(version, self.version or 0)

    @asynccontextmanager
    async def transaction(self, entry: Entry, user_id: str) -> AsyncIterator[Entered]:
        """Open a read transaction. Raises DatabaseUnavailable."""
        async with self._routes.primary.transaction(entry) as entered:
            self._check(entered)
            self.note(user_id, entered.version.data)
            self._routes.counts["primary", "preferred"] += 1
            yield entered

    def _check(self, entered: Entered) -> None:
        """Raises StandbyBehind if the server only reads and is older than the client."""
        if entered.version.data < self._required and self._routes.primary.is_read_only:
            raise StandbyBehind(driver_errors.BEHIND)


class ReadRoutes:
    """Routes to the one database. `counts` are the read transactions so far by target and reason."""

    def __init__(self, primary: Pool) -> None:
        self.primary = primary
        self.counts: Counter[tuple[Target, Reason]] = Counter()

    @property
    def standby(self) -> StandbyReport | None:
        """The standby that serves reads; None without one."""
        return None

    def new(self, *, required: int = 0) -> ReadRoute:
        """The route of a request that must read at least the `required` version."""
        return ReadRoute(self, required=required)

    async def rows(self, statement: sa.TextClause, binds: Mapping[str, Any], *, within_s: float) -> Rows:
        """The rows of one statement on the tables that belong to no user. Raises DatabaseUnavailable."""
        return await self.primary.rows(statement, binds, within_s=within_s)

    async def probe(self) -> None:
        """Does nothing: there are no other servers to probe."""

    async def watch(self) -> None:
        """Returns at once: there are no other servers to probe."""

    async def others(self) -> Sequence[ReadRoute]:
        """The routes to other servers that can be read now: none."""
        return ()
