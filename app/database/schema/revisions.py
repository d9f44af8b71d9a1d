"""Compares the revision of the database with the ones that this version knows."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from app import __version__, errors
from app.database.transactions import Database

BASELINE = "0040"
"""The revision from which on this version upgrades a database."""
LAST_FOR_EARLIER = "b8c21b15"
"""The last commit of Stepwell that upgrades a database of an earlier revision, to the baseline."""


def scripts() -> Path:
    """The folder of the revisions: beside this file in an installed package, at the top of a checkout."""
    packaged = Path(__file__).parents[1] / "migrations"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "migrations"


@cache
def _known() -> tuple[str, ...]:
    """The revisions, oldest first: the number that the name of each file begins with."""
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


def read(connection: Connection) -> str | None:
    """The revision of the database of a connection."""
    exists = connection.scalar(sa.text("SELECT to_regclass('stepwell.alembic_version')"))
    return connection.scalar(sa.text("SELECT version_num FROM stepwell.alembic_version")) if exists else None


async def of(database: Database) -> str | None:
    """The revision of a database; None where it has none."""
    async with database.shared() as connection:
        return await connection.run_sync(read)


async def check(database: Database) -> None:
    """Raises SchemaMismatch unless the database is at this version's revision."""
    async with database.shared() as connection:
        await connection.run_sync(check_on)


def check_on(connection: Connection) -> None:
    """Raises what `check` raises."""
    found = read(connection)
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
