"""Migrates the database, distributes it over a Citus cluster, and refuses one that this version would misread."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from app import __version__, errors
from app.database import driver_errors, retries, sqlalchemy_engines
from app.database.schema import citus, inspection, reembedding, roles, tables
from app.database.transactions import Database

if TYPE_CHECKING:  # a service whose schema is current does not load Alembic, which takes 7 MB
    from alembic.config import Config

_Returned = TypeVar("_Returned")
WRITES_END_S = 60
"""Running writes must end within this many seconds. New writes wait meanwhile."""
UNLIMITED = """
SELECT set_config(s.name, '0', {}) FROM pg_settings AS s
WHERE s.name IN ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout');
"""
"""Lifts the time limits of the role and the database, until the end of the transaction if `true` is filled in.

Postgres has the second from 17 on.
"""
_LOCK = 7_236_411_902
BASELINE = "0040"
"""The earliest revision that this version can upgrade."""
LAST_FOR_EARLIER = "b8c21b15"
"""The last commit of Stepwell that upgrades earlier revisions to the baseline."""


@dataclass(frozen=True, slots=True)
class AppliedRevision:
    """An applied revision, what it does, and the seconds that it took."""

    revision: str
    summary: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.revision} in {self.seconds:.1f} s: {self.summary}"


Report = Callable[[AppliedRevision], None]


async def upgrade(dsn: str, *, model: str, dimension: int, revision: str = "head", report: Report | None = None) -> str:
    """Bring the database at `dsn` (its owner's address) to `revision`; returns the revision reached.

    All revisions run in one transaction. `report` is called after each revision. The transaction is repeated, also the
    report, where running requests do not release their locks in time or wait for its own.

    Concurrent calls wait for one another on an advisory lock. Raises SchemaMismatch if pgvector is missing, if the
    database is not in UTF-8, if a newer version has upgraded it, or if an earlier version must upgrade it first;
    BadRequest for a dimension that pgvector cannot index; ReadOnly for a standby; Busy.
    """

    def run(connection: Connection) -> str:
        migrate = None if read_revision(connection) == head() else _migrate_to(revision, report)
        return upgrade_by(connection, migrate, model=model, dimension=dimension)

    return await retries.while_busy(on_connection, dsn, run)


def _migrate_to(revision: str, report: Report | None) -> Callable[[Config], None]:
    """A function that lets Alembic run the revisions up to `revision`, and reports each of them."""

    def migrate(config: Config) -> None:
        from alembic import command

        began = time.monotonic()

        def applied(*, step: Any, **_: Any) -> None:
            nonlocal began
            now = time.monotonic()
            if report is not None:
                report(AppliedRevision(step.up_revision_id, step.up_revision.doc, now - began))
            began = now

        config.attributes["on_version_apply"] = applied
        command.upgrade(config, revision)

    return migrate


async def on_connection(dsn: str, run: Callable[[Connection], _Returned]) -> _Returned:
    """Run a function on a connection to `dsn`, in one transaction without a time limit; returns its result."""
    # After a lock was granted, statements see what others have committed.
    engine = sqlalchemy_engines.create(dsn, pool_size=1, max_overflow=0, isolation_level="READ COMMITTED")
    try:
        with driver_errors.explaining():
            async with engine.begin() as connection:
                await connection.execute(sa.text(UNLIMITED.format("true")))
                return await connection.run_sync(run)
    finally:
        await engine.dispose()


def upgrade_by(connection: Connection, migrate: Callable[[Config], None] | None, *, model: str, dimension: int) -> str:
    """Let `migrate` run revisions on a connection of the owner, and do what comes before and after; see `upgrade`.

    `migrate` gets Alembic's configuration; the revisions read its attributes. None runs no revision. Returns the
    revision reached.
    """
    if not 1 <= dimension <= tables.MOST_HALFVEC:
        most = f"{tables.MOST_HALFVEC:,}"
        raise errors.BadRequest(f"Vectors must have 1 to {most} dimensions.", field="STEPWELL_EMBEDDER_DIM")
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    _prepare(connection)
    found = read_revision(connection)
    if found is not None and not is_known(found):
        raise errors.SchemaMismatch(f"{': '.join(mismatch(found))}.", is_shown=True)
    if found not in (None, head()):
        # Writes of running processes first read the revision. Begun writes end first; later ones see the new revision.
        connection.execute(sa.text(f"SET LOCAL lock_timeout = '{WRITES_END_S}s'"))
        connection.execute(sa.text("LOCK TABLE stepwell.alembic_version IN ACCESS EXCLUSIVE MODE"))
    if migrate is not None:
        migrate(configuration(connection, model=model, dimension=dimension))
    reached = read_revision(connection) or ""
    roles.restrict(connection)
    citus.extend(connection)
    return reached


async def distribute(dsn: str, *, shards: int | None = None) -> tuple[citus.Distribution, list[str]]:
    """Distribute the tables of users over a Citus cluster; `dsn` is the owner's address of its coordinator.

    Returns the distribution, and the functions that could not be marked leakproof. Raises SchemaMismatch, BadRequest.
    """

    def run(connection: Connection) -> citus.Distribution:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        check_revision_on(connection)
        return citus.distribute(connection, shards=shards)

    return await on_connection(dsn, run), await on_connection(dsn, citus.mark_leakproof)


def configuration(connection: Connection, *, model: str, dimension: int) -> Config:
    """Alembic's configuration on an open connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(scripts()))
    config.set_main_option("path_separator", "os")
    config.attributes.update(connection=connection, model=model, dimension=dimension)
    return config


def _prepare(connection: Connection) -> None:
    """Create the schema, and install pgvector if it is missing. Raises ReadOnly.

    Raises SchemaMismatch, with the remedy, if the database is not in UTF-8 or pgvector is unusable.
    """
    if connection.scalar(sa.text("SHOW transaction_read_only")) == "on":
        raise errors.ReadOnly(driver_errors.READ_ONLY)
    encoding = connection.scalar(sa.text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise errors.SchemaMismatch(
            f"The database is in {encoding}: create it with ENCODING 'UTF8' LC_CTYPE 'C.UTF-8' TEMPLATE template0."
        )
    roles.check_creation(connection)
    connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {tables.SCHEMA}"))
    vectors = connection.execute(inspection.VECTORS).one_or_none()
    if vectors is None:
        _install_vectors(connection)
        vectors = connection.execute(inspection.VECTORS).one()
    if not vectors.may_use:
        raise errors.SchemaMismatch(
            f"This role may not use pgvector's schema {vectors.schema}: run as the schema's owner GRANT USAGE ON "
            f"SCHEMA {vectors.schema} TO {vectors.role} WITH GRANT OPTION."
        )
    if not vectors.found:
        raise errors.SchemaMismatch(
            f"pgvector is in the schema {vectors.schema}, which is not on the search path: run ALTER DATABASE "
            f'{vectors.database} SET search_path = "$user", public, {vectors.schema}.'
        )
    if inspection.pgvector(vectors.version) < inspection.PGVECTOR:
        raise errors.SchemaMismatch(
            f"pgvector {vectors.version} is too old: install 0.8.4 or newer on the server, then run ALTER EXTENSION "
            "vector UPDATE."
        )


def _install_vectors(connection: Connection) -> None:
    """Install pgvector. Raises SchemaMismatch with what the server says and what an administrator does."""
    try:
        with connection.begin_nested():
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS vector"))
    except sa.exc.DBAPIError as error:
        raise errors.SchemaMismatch(
            f"pgvector cannot be installed: {str(driver_errors.root(error)).splitlines()[0]}. With its package on the "
            "server, run CREATE EXTENSION vector as a superuser."
        ) from error


async def check(database: Database, *, model: str, dimension: int, target: tuple[str, int] | None = None) -> None:
    """Refuse a database that this version would misread. Its vectors may come from the model or from the target.

    Raises SchemaMismatch naming the first difference: revision, columns, index kinds, embedding model or dimension.
    """
    configured = [(model, dimension)] if target is None else [(model, dimension), target]
    await check_revision(database)
    stored = await inspection.embedding(database) or configured[0]
    if stored not in configured:
        raise errors.SchemaMismatch(reembedding.refusal(stored, configured))
    problems = await inspection.differences(database, dimension=stored[1])
    if problems:
        raise errors.SchemaMismatch(f"The database differs from this version: {'; '.join(problems[:5])}.")


async def check_nodes(database: Database) -> None:
    """Raises SchemaMismatch if the tables are distributed and a node lacks a requirement or does not answer."""
    if problems := citus.node_problems(await nodes(database)):
        raise errors.SchemaMismatch(f"The cluster is not complete: {'; '.join(problems[:5])}.")


async def nodes(database: Database) -> list[citus.Node]:
    """The nodes that the tables are distributed over, and the coordinator; none if they are not distributed."""
    async with database.shared() as connection:
        return await connection.run_sync(citus.nodes)


def scripts() -> Path:
    """The folder of the revisions: beside this file in an installed package, at the top of a checkout."""
    packaged = Path(__file__).parents[1] / "migrations"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "migrations"


@cache
def _known() -> tuple[str, ...]:
    """The revisions, oldest first: the number at the beginning of each file name."""
    return tuple(sorted(path.name.partition("_")[0] for path in (scripts() / "versions").glob("[0-9]*_*.py")))


def head() -> str:
    """The newest revision that this version knows."""
    if not _known():
        raise errors.SchemaMismatch("No migrations were found beside the package.")
    return _known()[-1]


def is_known(revision: str) -> bool:
    """Whether this version can upgrade a database from `revision`."""
    return revision in _known()


def is_earlier(revision: str) -> bool:
    """Whether a revision comes before the first one that this version knows."""
    return revision.isdecimal() and revision < BASELINE


def read_revision(connection: Connection) -> str | None:
    """The revision of the database of a connection."""
    exists = connection.scalar(sa.text("SELECT to_regclass('stepwell.alembic_version')"))
    return connection.scalar(sa.text("SELECT version_num FROM stepwell.alembic_version")) if exists else None


async def revision_of(database: Database) -> str | None:
    """The revision of a database; None if it has none."""
    async with database.shared() as connection:
        return await connection.run_sync(read_revision)


async def check_revision(database: Database) -> None:
    """Raises SchemaMismatch unless the database is at this version's revision."""
    async with database.shared() as connection:
        await connection.run_sync(check_revision_on)


def check_revision_on(connection: Connection) -> None:
    """Raises what `check_revision` raises."""
    found = read_revision(connection)
    if found != head():
        raise errors.SchemaMismatch(f"{': '.join(mismatch(found))}.", is_shown=True)


def mismatch(found: str | None) -> tuple[str, str]:
    """Explains another revision than this version's, and what to do about it."""
    known = head()
    if found is None or is_known(found):
        return f"The database is at revision {found or 'none'}, this version needs {known}", "run `stepwell db upgrade`"
    if is_earlier(found):
        return (
            f"The database is at revision {found}, this version upgrades from {BASELINE} on",
            f"run `stepwell db upgrade` of commit {LAST_FOR_EARLIER} first",
        )
    version = f"this version ({__version__}, revision {known})"
    return (
        f"A newer version of Stepwell has upgraded the database to revision {found}, which {version} does not know",
        "install the newer version, or restore a backup of an earlier revision",
    )
