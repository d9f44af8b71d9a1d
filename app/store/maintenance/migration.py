"""Migrates the database, and refuses one that this version would misread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from app import __version__, errors
from app.store.connection import engines, failures, sql, transactions
from app.store.maintenance import distribution, reembedding, roles
from app.store.schema import catalogue, tables, vector_ddl

log = logging.getLogger(__name__)
_Returned = TypeVar("_Returned")
_LOCK = 7_236_411_902
BASELINE = "0040"
"""The revision from which on this version upgrades a database."""
LAST_FOR_EARLIER = "b8c21b15"
"""The last commit of Stepwell that upgrades a database of an earlier revision, to the baseline."""


def scripts() -> Path:
    """The folder of the revisions: beside this file in an installed package, at the top of a checkout."""
    packaged = Path(__file__).parents[1] / "migrations"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "migrations"


def head() -> str:
    """The newest revision that this version knows."""
    revision = ScriptDirectory(str(scripts())).get_current_head()
    if revision is None:
        raise errors.SchemaMismatch("No migrations were found beside the package.")
    return revision


def is_known(revision: str) -> bool:
    """Whether this version can upgrade a database from `revision`."""
    return revision in {script.revision for script in ScriptDirectory(str(scripts())).walk_revisions()}


def is_earlier(revision: str) -> bool:
    """Whether a revision comes before those that this version knows."""
    return revision.isdecimal() and revision < BASELINE


async def upgrade(dsn: str, *, model: str, dimension: int, revision: str = "head") -> str:
    """Bring the database at `dsn` (its owner's address) to `revision`; returns the revision reached.

    Concurrent calls wait for one another on an advisory lock. Raises SchemaMismatch where pgvector is missing,
    SchemaMismatch where a newer version has upgraded the database, or an earlier one has to, BadRequest for a
    dimension that pgvector cannot index, ReadOnly for a standby.
    """

    def run(connection: Connection) -> str:
        def migrate(config: Config) -> None:
            command.upgrade(config, revision)

        return upgrade_by(connection, migrate, model=model, dimension=dimension)

    return await on_connection(dsn, run)


async def on_connection(dsn: str, run: Callable[[Connection], _Returned]) -> _Returned:
    """Run a function on a connection to `dsn`, in one transaction; returns what it returns."""
    engine = engines.create(dsn, pool_size=1, max_overflow=0)
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(run)
    finally:
        await engine.dispose()


def upgrade_by(connection: Connection, migrate: Callable[[Config], None], *, model: str, dimension: int) -> str:
    """Let `migrate` run revisions on a connection of the owner, with what comes before and after them; see `upgrade`.

    It is passed Alembic's configuration, whose attributes the revisions read; returns the revision reached.
    """
    _check_dimension(dimension)
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    _prepare(connection)
    found = _revision(connection)
    if found is not None and not is_known(found):
        raise errors.SchemaMismatch(f"{': '.join(mismatch(found))}.", is_shown=True)
    migrate(configuration(connection, model=model, dimension=dimension))
    reached = _revision(connection) or ""
    roles.restrict(connection)
    distribution.extend(connection)
    return reached


def _check_dimension(dimension: int) -> None:
    if not 1 <= dimension <= vector_ddl.MOST_HALFVEC:
        most = f"{vector_ddl.MOST_HALFVEC:,}"
        raise errors.BadRequest(f"Vectors must have 1 to {most} dimensions.", field="STEPWELL_EMBEDDER_DIM")


async def distribute(dsn: str, *, shards: int | None = None) -> tuple[distribution.Distribution, list[str]]:
    """Distribute the tables of users over a Citus cluster; `dsn` is the owner's address of its coordinator.

    Returns the distribution, and what could not be marked as leakproof on a node. Raises SchemaMismatch, BadRequest.
    """
    engine = engines.create(dsn, pool_size=1, max_overflow=0)
    try:
        async with engine.begin() as connection:
            await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            await connection.run_sync(_check_revision)
            found = await connection.run_sync(distribution.distribute, shards=shards)
        async with engine.begin() as connection:
            return found, await connection.run_sync(distribution.mark_leakproof)
    finally:
        await engine.dispose()


def configuration(connection: Connection, *, model: str, dimension: int) -> Config:
    """Alembic's configuration on an open connection."""
    config = Config()
    config.set_main_option("script_location", str(scripts()))
    config.set_main_option("path_separator", "os")
    config.attributes.update(connection=connection, model=model, dimension=dimension)
    return config


def _prepare(connection: Connection) -> None:
    if connection.scalar(sa.text("SHOW transaction_read_only")) == "on":
        raise errors.ReadOnly(failures.READ_ONLY)
    roles.check_creation(connection)
    connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {tables.SCHEMA}"))
    if connection.scalar(sa.text("SELECT 1 FROM pg_extension WHERE extname = 'vector'")):
        return
    try:
        with connection.begin_nested():
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS vector"))
    except sa.exc.DBAPIError as error:
        raise errors.SchemaMismatch(
            "pgvector is missing and this role may not install it: run CREATE EXTENSION vector as a superuser first."
        ) from error


def _revision(connection: Connection) -> str | None:
    exists = connection.scalar(sa.text("SELECT to_regclass('stepwell.alembic_version')"))
    return connection.scalar(sa.text("SELECT version_num FROM stepwell.alembic_version")) if exists else None


async def check(
    database: transactions.Database, *, model: str, dimension: int, target: tuple[str, int] | None = None
) -> None:
    """Refuse a database that this version would misread. Its vectors may be those of the model or of the target.

    Raises SchemaMismatch naming the first difference: revision, columns, index kinds, embedding model or dimension.
    """
    configured = [(model, dimension)] if target is None else [(model, dimension), target]
    async with database.shared() as connection:
        await connection.run_sync(_check_revision)
        found = await connection.run_sync(_compare_embedding, configured)
        problems = await connection.run_sync(differences, found)
    if problems:
        raise errors.SchemaMismatch(f"The database differs from this version: {'; '.join(problems[:5])}.")


def differences(connection: Connection, dimension: int) -> list[str]:
    """Missing and additional columns and indexes, invalid indexes, and tables that are not distributed as others are.

    Each is a sentence.
    """
    return [*catalogue.differences(connection, dimension), *distribution.differences(connection)]


async def check_nodes(database: transactions.Database) -> None:
    """Raises SchemaMismatch if the tables are distributed and a node lacks something, or gives no answer."""
    if problems := distribution.node_problems(await nodes(database)):
        raise errors.SchemaMismatch(f"The cluster is not complete: {'; '.join(problems[:5])}.")


async def nodes(database: transactions.Database) -> list[distribution.Node]:
    """The nodes that the tables are distributed over, and the coordinator; none if they are not distributed."""
    async with database.shared() as connection:
        return await connection.run_sync(distribution.nodes)


async def check_revision(database: transactions.Database) -> None:
    """Raises SchemaMismatch unless the database is at this version's revision."""
    async with database.shared() as connection:
        await connection.run_sync(_check_revision)


def _check_revision(connection: Connection) -> None:
    found = _revision(connection)
    if found != head():
        raise errors.SchemaMismatch(f"{': '.join(mismatch(found))}.", is_shown=True)


def mismatch(found: str | None) -> tuple[str, str]:
    """What a revision other than this version's means, and what to do about it."""
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


async def picture(database: transactions.Database) -> str:
    """The live schema as text; see `catalogue.picture`."""
    async with database.shared() as connection:
        return await connection.run_sync(catalogue.picture)


_ROLE = sql.inline(
    """
    SELECT r.rolsuper AS superuser, r.rolbypassrls AS bypasses,
           pg_has_role(current_user, c.relowner, 'USAGE') AS owns
    FROM pg_roles AS r
    CROSS JOIN pg_class AS c
    WHERE r.rolname = current_user AND c.oid = CAST('stepwell.chunks' AS regclass)
    """,
)


async def check_role(database: transactions.Database, *, strict: bool) -> None:
    """Check that row-level security applies to the role that the service connects as.

    Raises SchemaMismatch where it does not and `strict` (many users); else logs a warning.
    """
    async with database.shared() as connection:
        role = (await connection.execute(_ROLE)).one()
    reasons = [name for name, found in zip(role._fields, role, strict=True) if found]
    if not reasons:
        return
    what = {"superuser": "is a superuser", "bypasses": "has BYPASSRLS", "owns": "owns the tables"}[reasons[0]]
    message = f"The role in DATABASE_URL {what}, so row-level security does not bind it: connect as stepwell_service."
    if strict:
        raise errors.SchemaMismatch(message)
    log.warning(message)


def _compare_embedding(connection: Connection, configured: list[tuple[str, int]]) -> int:
    """The dimension of the stored vectors. Raises SchemaMismatch if they are of none of the models."""
    row = connection.execute(
        sa.select(tables.embedding_identity.c.model, tables.embedding_identity.c.dimension)
    ).one_or_none()
    if row is None:
        return configured[0][1]
    if (row.model, row.dimension) not in configured:
        raise errors.SchemaMismatch(reembedding.refusal((row.model, row.dimension), configured))
    return int(row.dimension)
