"""Translates errors of SQLAlchemy and asyncpg into the application's errors."""

from __future__ import annotations

import logging

import asyncpg
from sqlalchemy import exc

from app import errors
from app.store.connection import bounded, failures

log = logging.getLogger(__name__)

_WRONG_PASSWORD = (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError)
_LOST_STATEMENTS = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
_POOLER = "A pooler before Postgres loses prepared statements: set STEPWELL_PREPARED_STATEMENTS=off."
_NO_TEMPORARY_SPACE = "The database's disk is full, and this search needs temporary space on it: ask for less."
DISK_FULL = "The database's disk is full: nothing was stored. Make room on it, then try again; searches go on."


def translated(error: BaseException, *, read_only: bool) -> BaseException:
    """The application's error for a driver's error; `error` itself if it is a defect and not a state of the database.

    `read_only` says whether the transaction could only read.
    """
    cause = root(error)
    if (refused := _by_standby(cause, read_only=read_only)) is not None:
        return refused
    if isinstance(cause, asyncpg.QueryCanceledError):
        return errors.DeadlineExceeded("The database did not answer within the time limit.")
    if isinstance(cause, asyncpg.DiskFullError):
        return errors.DatabaseUnavailable(_NO_TEMPORARY_SPACE) if read_only else errors.DiskFull(DISK_FULL)
    if isinstance(cause, asyncpg.InvalidCatalogNameError):
        return errors.SchemaMismatch("The server has no database of this name: check DATABASE_URL.")
    if isinstance(cause, asyncpg.ClientConfigurationError):
        return errors.SchemaMismatch(f"The TLS parameters of DATABASE_URL cannot be used: {cause}")
    if isinstance(cause, asyncpg.InvalidAuthorizationSpecificationError):
        return errors.SchemaMismatch("The server refuses the role in DATABASE_URL, or its password.")
    if isinstance(cause, _LOST_STATEMENTS):
        return errors.DatabaseUnavailable(_POOLER)
    if isinstance(cause, asyncpg.ProtocolViolationError):
        return errors.SchemaMismatch(f"The server or pooler in DATABASE_URL refuses the connection: {cause}")
    if isinstance(cause, exc.TimeoutError):
        return errors.DatabaseUnavailable("All database connections are busy; try again shortly.")
    if isinstance(cause, asyncpg.LockNotAvailableError | asyncpg.DeadlockDetectedError | asyncpg.SerializationError):
        return errors.Busy("Another change to the same data is running; try again shortly.")
    if is_lost(error):
        log.warning("database lost: %s", type(cause).__name__, extra={"action": "database_lost"})
        return errors.ConnectionLost("The database cannot be reached; try again shortly.")
    return error


def _by_standby(cause: BaseException, *, read_only: bool) -> errors.StepwellError | None:
    """The error of a standby: a write is refused, and a read that conflicts with its recovery is cancelled."""
    if isinstance(cause, asyncpg.ReadOnlySQLTransactionError) and not read_only:
        return errors.ReadOnly(failures.READ_ONLY)
    # Only writes can fail to be serialised, and only they deadlock.
    is_conflict = read_only and isinstance(cause, asyncpg.SerializationError | asyncpg.DeadlockDetectedError)
    if is_conflict or (isinstance(cause, asyncpg.QueryCanceledError) and "conflict with recovery" in str(cause)):
        return failures.RecoveryConflict(failures.CONFLICT)
    return None


def root(error: BaseException) -> BaseException:
    """The driver's own exception under SQLAlchemy's wrappers."""
    seen: BaseException = error
    while isinstance(seen, exc.DBAPIError) or type(seen).__module__.startswith("sqlalchemy.dialects"):
        inner = seen.orig if isinstance(seen, exc.DBAPIError) else seen.__cause__
        if inner is None:
            break
        seen = inner
    return seen


def reason(error: BaseException) -> str:
    """Why the database could not be used, without its address."""
    cause = root(error)
    if isinstance(cause, _WRONG_PASSWORD):
        return "Postgres refuses the role or its password."
    if isinstance(cause, asyncpg.InvalidCatalogNameError):
        return "There is no database of this name."
    if isinstance(cause, asyncpg.InsufficientPrivilegeError):
        return "The role may not read what it should."
    if isinstance(error, errors.StepwellError):
        return error.message
    return f"It failed with {type(cause).__name__}."


def is_denied(error: BaseException) -> bool:
    """Whether the role of the transaction lacks a privilege."""
    return isinstance(root(error), asyncpg.InsufficientPrivilegeError)


def is_lost(error: BaseException) -> bool:
    """Whether the error is due to a connection that is closed, or to a server that cannot be reached."""
    invalidated = isinstance(error, exc.DBAPIError) and error.connection_invalidated
    return invalidated or isinstance(root(error), bounded.UNREACHABLE)
