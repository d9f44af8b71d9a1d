"""Opens transactions on Postgres with the user's row-level security, time limits and translated errors.

`reading(user)` is a READ ONLY transaction whose statements see one snapshot (REPEATABLE READ). `searching(user)` is one
with the settings of a search, and `writing(user)` a read-write transaction. They set the user through the schema's
`enter` functions. Only these transactions commit. `pools` chooses the server that a request reads.
"""

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, Self, TypeVar
from uuid import UUID

import sqlalchemy as sa
from cachetools import Cache

from app import errors
from app.concurrency.limiter import Limiter
from app.database import driver_errors, pooled_connection, pools, sql, sqlalchemy_engines
from app.database.driver_errors import Rerouted
from app.database.filter_types import Restriction
from app.database.pooled_connection import Rows
from app.database.pools import Entered, Entry, Pool, ReadRoute, ReadRoutes, ServerHooks

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Found = TypeVar("Found")

_ENTER_ARGUMENTS = "(CAST(:user_id AS text), CAST(:timeout_ms AS integer), CAST(:candidates AS integer))"
_LOCK_TIMEOUT = "set_config('lock_timeout', CAST(CAST(:lock_ms AS integer) AS text), true)"
_STATEMENT_TIMEOUT = "set_config('statement_timeout', CAST(CAST(:timeout_ms AS integer) AS text), true)"
_READ_ONLY = "current_setting('transaction_read_only') AS read_only"
_ENTER_SEARCH = sa.text(f"SELECT stepwell.enter_plain{_ENTER_ARGUMENTS}, {pools.READ_VECTORS}")
# The functions run in this order: those for planning replace settings of `enter_plain`.
_ENTER = sa.text(f"SELECT stepwell.enter_plain{_ENTER_ARGUMENTS}, stepwell.plan_each(), {pools.READ_VECTORS}")
# The last function changes the role: all statements after the first see what the restriction shows.
_RESTRICT = (
    "stepwell.enter_restricted(CAST(:path AS text), CAST(:needs_document AS boolean), CAST(:shows_entities AS boolean))"
)
_RESTRICTED = {first: sa.text(f"{first.text}, {_RESTRICT}") for first in (_ENTER_SEARCH, _ENTER)}
_MARKER = "/* restricted */ "
# It also locks the table of the revision, so that a migration waits for what an earlier version writes.
_REVISION = "(SELECT a.version_num FROM stepwell.alembic_version AS a) AS revision"
_ENTER_WRITING = sa.text(
    f"SELECT stepwell.enter_plain{_ENTER_ARGUMENTS}, stepwell.plan_writes(), {_LOCK_TIMEOUT}, {_READ_ONLY}, "
    f"{_REVISION}, {pools.WRITE_VECTORS}"
)
_ENTER_SHARED = sa.text(f"SELECT {_STATEMENT_TIMEOUT}, {_LOCK_TIMEOUT}, {_READ_ONLY}")
_ENTER_CLAIMING = sa.text(f"SELECT {_STATEMENT_TIMEOUT}, {_LOCK_TIMEOUT}, {_READ_ONLY}, {_REVISION}")
_UNRESTRICTED = "A Citus cluster has no keys and tokens with filters: send a key without filters."
_HOLD = sql.inline("SELECT t.version FROM stepwell.tenants AS t WHERE t.user_id = :user_id FOR UPDATE")
_USE_CUSTOM_PLANS = sa.text("SELECT stepwell.plan_each()")
_PLAN_WRITES = sa.text("SELECT stepwell.plan_writes()")
PLANNED_ABOVE = 6_000
"""For a user with at most this many chunks, a generic plan of a filtered search is cheaper (docs/benchmarks.md)."""
TURN_S = 2.0
"""Most seconds that a write waits for other writes of its user and of this process."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Timeouts in milliseconds: of a reading statement, of a writing statement, and of a write's wait for a lock."""

    read_ms: int = 5_000
    write_ms: int = 60_000
    lock_ms: int = 2_000


class Transaction:
    """An open transaction, which runs statements on its connection."""

    def __init__(self, entered: Entered) -> None:
        self._connection = connection = entered.connection
        self.execute, self.run_sync, self.stream = connection.execute, connection.run_sync, connection.stream
        self.scalar, self.scalars = connection.scalar, connection.scalars


class SharedTransaction(Transaction):
    """A transaction on the tables that belong to no user, or a transaction of the owner, who sees all users' rows."""

    def __init__(self, entered: Entered) -> None:
        super().__init__(entered)
        self._entered = entered

    def as_user(self, user_id: str) -> Writing:
        """The same transaction for statements about one user's rows; row-level security stays as it is."""
        return Writing(self._entered, user_id)


@dataclass(frozen=True, slots=True)
class Listed:
    """The ids of all documents that the caller of a transaction sees, and the number of their chunks.

    `statistics` has the number of chunks and the sum of their lengths by text-search configuration. It is None if there
    are too many chunks to count the frequencies of words in them.
    """

    document_ids: tuple[UUID, ...]
    chunks: int
    statistics: Mapping[str, tuple[int, int]] | None = None


class Reading(Transaction):
    """A transaction that sees the rows of one user.

    `entered` is what its first statement has read, such as `version`; see `pools.Entered`. `restriction` limits what
    its caller sees; None if the caller sees everything of the user. `visible_document_lists` sets `listed` if the
    caller sees few documents.
    """

    def __init__(self, entered: Entered, user_id: str, restriction: Restriction | None = None) -> None:
        super().__init__(entered)
        self.entered, self.user_id, self.restriction = entered, user_id, restriction
        self.version, self.has_hidden = entered.version, entered.has_hidden
        self.graph_rows, self.chunks = entered.graph_rows, entered.chunks
        self.vector_tables = entered.vector_tables
        self.listed: Listed | None = None
        if restriction is not None:
            # Postgres plans a prepared statement again whenever the role has changed since.
            entered.connection.marker = _MARKER

    @property
    def audience(self) -> str | None:
        """The key that is equal for callers who see the same documents; None for callers who see everything."""
        return None if self.restriction is None else self.restriction.audience

    @property
    def has_restricted_role(self) -> bool:
        """Whether statements run as the restricted role."""
        return self.restriction is not None

    @property
    def shows_entities(self) -> bool:
        """Whether the caller sees descriptions and facts of entities."""
        return self.restriction is None or self.restriction.shows_entities

    @property
    def counts_seen(self) -> bool:
        """Whether the frequencies of words are those in the documents that the caller sees alone."""
        return self.restriction is None or (self.listed is not None and self.listed.statistics is not None)

    @property
    def database_key(self) -> Hashable:
        """A cache key for data about the database of the transaction."""
        return self._connection.engine.sync_engine

    async def use_custom_plans(self, *, always: bool = False) -> None:
        """Plan every further statement of a search for its own binds. Has no effect on transactions that always do."""


class SearchTransaction(Reading):
    """A reading transaction that uses generic plans."""

    _plans_each = False

    async def use_custom_plans(self, *, always: bool = False) -> None:
        """Plan every further statement for its own binds, unless that costs more because the user has few chunks.

        With `always`, plan in any case: a plan without the binds would read what other users have stored.
        """
        if not self._plans_each and (always or self.chunks > PLANNED_ABOVE):
            await self.execute(_USE_CUSTOM_PLANS)
            self._plans_each = True


class Writing(Reading):
    """A transaction that may change the rows of one user.

    It sees all rows, because links and postings concern all documents. With a restriction, the functions that change
    documents check that these pass its filters before and after (`documents.store.write_checks`).

    `first_chunk` is the number of the first chunk that it may add; 0 before `lock`.
    """

    _locked_version: int | None = None
    first_chunk = 0

    @property
    def has_restricted_role(self) -> bool:
        """False, because a writing transaction keeps the role of the service."""
        return False

    @property
    def written_version(self) -> int:
        """The user's version of the data once the transaction has committed."""
        return self.entered.version.data if self._locked_version is None else self._locked_version

    async def lock(self, *, chunks: int = 0) -> int:
        """Take the user's lock, which every change of documents and entities requires.

        Increments the user's version. Allocates numbers for this many new chunks and returns the first.
        """
        row = (await self.execute(sql.statement("lock_tenant"), {"user_id": self.user_id, "chunks": chunks})).one()
        if self._locked_version is None:
            self.first_chunk = int(row.first_no)
        self._locked_version = row.version
        return int(row.first_no)

    async def hold(self) -> None:
        """Take the user's lock for a change that no search sees, so that the user's version stays."""
        await self.execute(_HOLD, {"user_id": self.user_id})

    @asynccontextmanager
    async def custom_plans(self) -> AsyncIterator[None]:
        """Plan the statements of the block for their own binds."""
        await self.execute(_USE_CUSTOM_PLANS)
        yield
        await self.execute(_PLAN_WRITES)


def _limit_s(timeout_ms: int) -> float:
    """The client's time limit in seconds for a statement with this statement_timeout."""
    return timeout_ms / 1000 + pooled_connection.SLACK_S


ReadingKind = TypeVar("ReadingKind", bound=Reading)


class Database:
    """Transactions on one database; `reads` routes transactions that only read.

    Writes use at most half of the connections. The writes of one user use one connection, because locks serialise them
    anyway. `for_request`, `primary`, `restricted` and `whole` are views that share the connections.
    """

    def __init__(self, pool: Pool, *, limits: TimeLimits | None = None, revision: str | None = None) -> None:
        self.pool = pool
        self._revision = revision
        self.reads = ReadRoutes(pool)
        self._limits = limits or TimeLimits()
        self._turns = Limiter(max(1, pool.size() // 2), of_user=1, timeout_s=TURN_S)
        self._route: Callable[[], ReadRoute] = lambda: self.reads.new().on_primary()
        self._only_reads = False
        self._restriction: Restriction | None = None

    def for_request(self, route: ReadRoute, *, only_reads: bool) -> Database:
        """A view for a request. If it only reads, the view refuses writes; otherwise it reads on the primary."""
        view = copy.copy(self)
        view._route, view._only_reads = (lambda: route) if only_reads else route.on_primary, only_reads
        return view

    @property
    def primary(self) -> Database:
        """A view that reads from the primary, for state that has no version, such as jobs."""
        view = copy.copy(self)
        view._route = lambda: self._route().on_primary()
        return view

    @property
    def audience(self) -> str | None:
        """The key that is equal for callers who see the same documents; None if the view shows everything."""
        return None if self._restriction is None else self._restriction.audience

    def restricted(self, restriction: Restriction) -> Database:
        """A view for a caller who does not see everything.

        Its reading transactions apply the restriction. It allows only writes that check the restriction.
        """
        view = copy.copy(self)
        view._restriction = restriction
        return view

    @property
    def whole(self) -> Database:
        """A view that shows everything, for work that a caller starts without seeing it, such as jobs of the user."""
        if self._restriction is None:
            return self
        view = copy.copy(self)
        view._restriction = None
        return view

    def reading(self, user_id: str, *, candidates: int = 100) -> AbstractAsyncContextManager[Reading]:
        """Open a READ ONLY transaction that sees one user's rows and scans HNSW for this many candidates.

        All of its statements see the same snapshot.

        Raises DatabaseUnavailable, DeadlineExceeded.
        """
        return self._read(Reading, _ENTER, user_id, candidates)

    def searching(self, user_id: str, *, candidates: int = 100) -> AbstractAsyncContextManager[SearchTransaction]:
        """Open a transaction like `reading` that uses generic plans.

        Each statement is planned once per connection, which saves a quarter of a search's time; call its
        `use_custom_plans` before a statement with a plan that depends on its binds.

        Raises DatabaseUnavailable, DeadlineExceeded.
        """
        return self._read(SearchTransaction, _ENTER_SEARCH, user_id, candidates)

    @asynccontextmanager
    async def _read(
        self, kind: type[ReadingKind], first: sa.TextClause, user_id: str, candidates: int
    ) -> AsyncIterator[ReadingKind]:
        timeout_ms = self._limits.read_ms
        values: dict[str, object] = {"user_id": user_id, "timeout_ms": timeout_ms, "candidates": candidates}
        if (shown := self._restriction) is not None:
            first = _RESTRICTED[first]
            values |= {"path": shown.path, "needs_document": shown.needs_document}
            values["shows_entities"] = shown.shows_entities
        entry = Entry(first, values, _limit_s(timeout_ms), read_only=True)
        try:
            async with self._route().transaction(entry, user_id) as entered:
                yield kind(entered, user_id, shown)
        except Exception as error:
            if shown is not None and driver_errors.is_denied(error):
                # On a Citus cluster keys with filters cannot be created, but tokens with filters can be signed.
                raise errors.Forbidden(_UNRESTRICTED, field="filters") from error
            raise

    @asynccontextmanager
    async def writing(self, user_id: str, *, checked: bool = False) -> AsyncIterator[Writing]:
        """Open a transaction that may change one user's rows and commits when the block ends without an error.

        Its statements and the checks of foreign keys use generic plans, except in a small database; see `custom_plans`.
        Never open one inside another of the same user. Set `checked` if all changes are checked against the caller's
        restriction or belong to the caller's audience; without it, a caller with a restriction gets OutsideOfKey.
        Raises Busy, DatabaseUnavailable, DeadlineExceeded, DiskFull, ReadOnly, SchemaMismatch.
        """
        self._check_may_write(checked)
        try:
            turn = await self._turns.begin(user_id)
        except errors.Overloaded:
            raise errors.Busy("Other writes are running; try again shortly.") from None
        try:
            async with self._write(user_id) as writing:
                yield writing
        finally:
            turn.end()

    @asynccontextmanager
    async def locking(self, user_id: str, *, checked: bool = False) -> AsyncIterator[Writing]:
        """Open a transaction like `writing` that takes the user's lock at its beginning."""
        async with self.writing(user_id, checked=checked) as writing:
            await writing.lock()
            yield writing

    @asynccontextmanager
    async def preparing(self, user_id: str, *, checked: bool = False) -> AsyncIterator[Writing]:
        """Open a transaction like `writing` that neither waits for other writes nor makes them wait.

        It is for transactions that take the user's lock at their end or not at all.
        """
        self._check_may_write(checked)
        async with self._write(user_id) as writing:
            yield writing

    def _check_may_write(self, checked: bool) -> None:
        self._check_disk()
        if self._restriction is not None and not checked:
            raise errors.OutsideOfKey("A key with filters cannot do this: use a key that sees all documents.")
        if self._only_reads:
            raise RuntimeError("This request only reads: it must not open a transaction that writes.")

    @asynccontextmanager
    async def _write(self, user_id: str) -> AsyncIterator[Writing]:
        async with self.pool.transaction(self._entry(_ENTER_WRITING, user_id=user_id, candidates=0)) as entered:
            if self.pool.is_read_only:
                raise errors.ReadOnly(driver_errors.READ_ONLY)
            self._check_revision(entered)
            writing = Writing(entered, user_id, self._restriction)
            yield writing
        self._route().note(user_id, writing.written_version)

    @asynccontextmanager
    async def shared(self, *, within_s: float | None = None) -> AsyncIterator[SharedTransaction]:
        """Open a transaction on the tables that belong to no user: keys, jobs, embedding identity.

        If `within_s` is given, everything, including the wait for a connection, is cancelled after this many seconds.
        Raises Busy, DatabaseUnavailable, DeadlineExceeded, ReadOnly.
        """
        async with pooled_connection.within(within_s), self.pool.transaction(self._entry(_ENTER_SHARED)) as entered:
            yield SharedTransaction(entered)

    @asynccontextmanager
    async def claiming(self) -> AsyncIterator[SharedTransaction]:
        """Open a transaction like `shared` to claim work that will write. Also raises SchemaMismatch."""
        async with self.pool.transaction(self._entry(_ENTER_CLAIMING)) as entered:
            self._check_revision(entered)
            yield SharedTransaction(entered)

    def _entry(self, first: sa.TextClause, **values: object) -> Entry:
        """How a transaction that may write begins."""
        limited = {**values, "timeout_ms": self._limits.write_ms, "lock_ms": self._limits.lock_ms}
        return Entry(first, limited, _limit_s(self._limits.write_ms))

    def _check_revision(self, entered: Entered) -> None:
        """Raise SchemaMismatch if another version has migrated the database since this process has begun."""
        if self._revision is not None and entered.revision != self._revision:
            raise errors.SchemaMismatch(
                f"The database is at revision {entered.revision} and this process is of revision {self._revision}: "
                "nothing is written. Restart it with the version that has upgraded the database.",
                is_shown=True,
            )

    async def rows(self, statement: sa.TextClause, binds: Mapping[str, Any], *, within_s: float) -> Rows:
        """The rows of one statement on the tables that belong to no user, outside a transaction.

        Everything, including the wait for a connection, is cancelled after `within_s` seconds. Raises
        DatabaseUnavailable.
        """
        return await self.reads.rows(statement, binds, within_s=within_s)

    async def check_writable(self) -> None:
        """Reject a write before any work is done for it. Raises DiskFull, ReadOnly.

        The server is asked only if it was read-only before.
        """
        self._check_disk()
        if self.pool.is_read_only and await self.is_read_only():
            raise errors.ReadOnly(driver_errors.READ_ONLY)

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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    def in_use(self) -> int:
        """The number of connections that are checked out."""
        return self.pool.in_use()


async def get_or_find(
    cache: Cache[Hashable, Found], version: Hashable, key: Hashable, find: Callable[[], Awaitable[Found]]
) -> Found:
    """The cached value for the key at this version. On a miss, calls `find` and caches its result.

    Every change of the cached data raises its version. The reader's transaction reads the version, so a change by any
    process takes effect at once.
    """
    stamped = (version, key)
    cached = cache.get(stamped)
    if cached is None:
        cached = await find()
        if cache.getsizeof(cached) <= cache.maxsize:
            cache[stamped] = cached
    return cached


def retry_read(read: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Decorate a read-only function to retry it once after a lost connection."""
    return _retry(read, errors.ConnectionLost)


def repeat_rerouted(read: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Decorate a read-only function to repeat it as a whole if its reads must move to another server."""
    return _retry(read, Rerouted)


def _retry(read: Callable[P, Awaitable[T]], error: type[errors.ConnectionLost]) -> Callable[P, Coroutine[Any, Any, T]]:
    @functools.wraps(read)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await read(*args, **kwargs)
        except error:
            fields = {"action": "read_retried", "call": read.__qualname__}
            log.info("read retried after the connection was lost", extra=fields)
            return await read(*args, **kwargs)

    return run


def connect(
    dsn: str,
    *,
    pool_size: int = 10,
    pool_wait_s: float = 1.0,
    limits: TimeLimits | None = None,
    hooks: ServerHooks | None = None,
    prepares: bool | None = None,
    revision: str | None = None,
) -> Database:
    """A Database on `dsn`. No connection is opened yet. For `prepares` see `sqlalchemy_engines.create`.

    If `revision` is given, nothing is written in a database at another revision.

    The pool is last in, first out, because the most recently used connection has cached plans and warm server caches.
    It does not reset returned connections: `Connection.close` closes a connection that is still in a transaction.
    """
    pool = {"pool_size": pool_size, "max_overflow": 0, "pool_timeout": pool_wait_s, "pool_use_lifo": True}
    options = {**pool, "pool_reset_on_return": None, "isolation_level": "AUTOCOMMIT"}
    return Database(
        Pool(sqlalchemy_engines.create(dsn, prepares=prepares, **options), hooks), limits=limits, revision=revision
    )
