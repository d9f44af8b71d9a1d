"""Translates errors of SQLAlchemy and asyncpg into the application's errors."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
from sqlalchemy import exc

from app import errors
from app.database.driver import bounded, failures

log = logging.getLogger(__name__)

_WRONG_PASSWORD = (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError)
_LOST_STATEMENTS = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
_POOLER = "A pooler before Postgres loses prepared statements: set STEPWELL_PREPARED_STATEMENTS=off."
BUSY = "All database connections are busy; try again shortly."
_NO_TEMPORARY_SPACE = "The database's disk is full, and this search needs temporary space on it: ask for less."
DISK_FULL = "The database's disk is full: nothing was stored. Make room on it, then try again; searches go on."


def translate(error: BaseException, *, read_only: bool) -> BaseException:
    """The application's error for a driver's error; `error` itself if it is a defect and not a state of the database.

    `read_only` says whether the transaction could only read.
    """
    cause = root(error)
    if (refused := _by_standby(cause, read_only=read_only)) is not None:
        return refused
    if isinstance(cause, asyncpg.DiskFullError):
        return errors.DatabaseUnavailable(_NO_TEMPORARY_SPACE) if read_only else errors.DiskFull(DISK_FULL)
    for kinds, text, build in _STATES:
        if isinstance(cause, kinds) and text in str(cause):
            return build(cause)
    if is_lost(error):
        log.warning("database lost: %s", type(cause).__name__, extra={"action": "database_lost"})
        return errors.ConnectionLost("The database cannot be reached; try again shortly.")
    return error


def is_of_a_statement(cause: BaseException) -> bool:
    """Whether Postgres rejects what it was sent, which is a defect unless a connection is opened or a command runs."""
    return isinstance(cause, asyncpg.PostgresError) and translate(cause, read_only=False) is cause


def _of_tls(cause: BaseException) -> errors.StepwellError:
    why = getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or cause
    return errors.ConnectionLost(f"The database cannot be reached over TLS: {why}.")


def _says(kind: type[errors.StepwellError], message: str) -> Callable[[BaseException], errors.StepwellError]:
    """What makes an error with a message, in which {} is the driver's."""
    return lambda cause: kind(message.format(cause))


_STATES: tuple[tuple[Any, str, Callable[[BaseException], errors.StepwellError]], ...] = (
    (
        asyncpg.QueryCanceledError,
        "",
        _says(errors.DeadlineExceeded, "The database did not answer within the time limit."),
    ),
    (
        asyncpg.InvalidCatalogNameError,
        "",
        _says(errors.SchemaMismatch, "The server has no database of this name: check DATABASE_URL."),
    ),
    (
        asyncpg.ClientConfigurationError,
        "",
        _says(errors.SchemaMismatch, "The TLS parameters of DATABASE_URL cannot be used: {}"),
    ),
    (
        asyncpg.InvalidAuthorizationSpecificationError,
        "no encryption",
        _says(errors.SchemaMismatch, "The server requires TLS for this role: set sslmode=require in DATABASE_URL."),
    ),
    (
        asyncpg.InvalidAuthorizationSpecificationError,
        "",
        _says(errors.SchemaMismatch, "The server refuses the role in DATABASE_URL, or its password."),
    ),
    (
        asyncpg.ProtocolViolationError,
        "",
        _says(errors.SchemaMismatch, "The server or pooler in DATABASE_URL refuses the connection: {}."),
    ),
    (_LOST_STATEMENTS, "", _says(errors.DatabaseUnavailable, _POOLER)),
    (
        exc.TimeoutError,
        "",
        _says(errors.DatabaseUnavailable, BUSY),
    ),
    (
        (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError, asyncpg.SerializationError),
        "",
        _says(errors.Busy, "Another change to the same data is running; try again shortly."),
    ),
    (ssl.SSLError, "", _of_tls),
    (
        ConnectionError,
        "rejected SSL upgrade",
        _says(errors.ConnectionLost, "The server does not offer TLS, which sslmode in DATABASE_URL asks for."),
    ),
    (
        asyncpg.TargetServerAttributeNotMatched,
        "",
        _says(errors.ConnectionLost, "No server in DATABASE_URL is what target_session_attrs asks for."),
    ),
)
"""The driver's errors that are a state of the database, by their kind and a part of their message; the first counts."""


def explain(error: BaseException) -> BaseException:
    """The same, where a refused statement is no defect: what an owner runs depends on the server's configuration."""
    found = translate(error, read_only=False)
    cause = root(error)
    if found is error and isinstance(cause, asyncpg.PostgresError | asyncpg.InterfaceError):
        return errors.SchemaMismatch(f"Postgres refuses what this command needs: {cause}.")
    return found


@contextmanager
def explaining() -> Iterator[None]:
    """Translate the errors of the block as `explain` does."""
    try:
        yield
    except (exc.SQLAlchemyError, asyncpg.PostgresError, *bounded.UNREACHABLE) as error:
        raise explain(error) from error


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
