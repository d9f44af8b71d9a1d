"""Translates errors of SQLAlchemy and asyncpg into the application's errors."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
from sqlalchemy import exc

from app import errors

UNREACHABLE = (
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
READ_ONLY = (
    "The database of this service is read-only (a standby, or default_transaction_read_only): send writes to a service "
    "whose DATABASE_URL names the primary."
)
BUSY = "All database connections are busy; try again shortly."
BEHIND = (
    "The standby has not replayed the version in X-Stepwell-Version yet and the primary cannot be asked: try again "
    "shortly, or leave the header out to accept an older state."
)
DISK_FULL = "The database's disk is full. Make room on it, then try again; searches go on."
_NO_TEMPORARY_SPACE = "The database's disk is full, and this search needs temporary space on it: ask for less."


class Unresponsive(errors.Unreachable):
    """The server did not answer within a limit on the client's side."""

    def __init__(self) -> None:
        super().__init__("The database does not respond; try again shortly.")


class RecoveryConflict(errors.ConnectionLost):
    """A standby cancelled a read because it conflicts with a change of the primary that the standby must replay."""


class AddressRefused(errors.SchemaMismatch):
    """The server refuses what the address says: the role, its password, the database, TLS, or the way of pooling."""


class Rerouted(errors.ConnectionLost):
    """A server failed or cancelled a read. The next read goes to another server, so the read can be repeated."""


class StandbyBehind(errors.DatabaseUnavailable):
    """The only reachable server is a standby that lacks the version that the client has seen."""

    code = "standby_behind"


AS_SERVICE = (
    ": with the owner's address in STEPWELL_MIGRATION_URL, `stepwell db upgrade --set-service-password` creates the "
    "role stepwell_service and sets the password"
)
"""What to do if the role that is refused is the service's."""
_REFUSED = asyncpg.InvalidAuthorizationSpecificationError
_UNPREPARED = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
_LOCKED = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
_OTHER_TARGET = asyncpg.TargetServerAttributeNotMatched
_STATES: dict[type[errors.StepwellError], dict[tuple[Any, str], str]] = {
    errors.DeadlineExceeded: {
        (asyncpg.QueryCanceledError, ""): "The database did not answer within the time limit; try again, or with less."
    },
    AddressRefused: {
        (asyncpg.InvalidCatalogNameError, ""): "The server has no database of this name: check DATABASE_URL.",
        (asyncpg.ClientConfigurationError, ""): "The TLS parameters of DATABASE_URL cannot be used: {}",
        (_REFUSED, "no encryption"): "The server requires TLS for this role, or its pg_hba.conf has no entry for it: "
        "set sslmode=require in DATABASE_URL, or add the entry.",
        (_REFUSED, "pg_hba.conf"): "The server's pg_hba.conf has no entry for the role and database in DATABASE_URL "
        "from this host: add it.",
        (_REFUSED, ""): f"The server refuses the role in DATABASE_URL, or its password{AS_SERVICE}.",
        (
            asyncpg.ConnectionDoesNotExistError,
            "statement pooling mode",
        ): "The pooler in DATABASE_URL pools by statement: set its pool_mode to transaction or session.",
        (asyncpg.ProtocolViolationError, ""): "The server or pooler in DATABASE_URL refuses the connection: {}.",
    },
    errors.DatabaseUnavailable: {
        (_UNPREPARED, ""): "A pooler before Postgres loses prepared statements: set STEPWELL_PREPARED_STATEMENTS=off.",
        (exc.TimeoutError, ""): BUSY,
        (OSError, "Too many open files"): "The service may open no further connection: raise its limit of open files "
        "(ulimit -n).",
        (asyncpg.TooManyConnectionsError, ""): "The server grants no further connection: lower STEPWELL_POOL_SIZE.",
        (asyncpg.InsufficientResourcesError, ""): "Postgres refuses more memory or temporary space: {}. Try again, or "
        "ask for less.",
    },
    errors.Busy: {(_LOCKED, ""): "Another change to the same data is running; try again shortly."},
    errors.ConnectionLost: {
        (ssl.SSLError, ""): "The database cannot be reached over TLS: {}.",
        (
            ConnectionError,
            "rejected SSL upgrade",
        ): "The server does not offer TLS, which sslmode in DATABASE_URL asks for.",
        (_OTHER_TARGET, ""): "No server in DATABASE_URL is what target_session_attrs asks for.",
    },
}
"""Our errors and their messages, by the class of the driver's error and a part of its message. {} is that message.

These errors are states of the database, not defects. The first entry that fits counts.
"""


def _exceeds_quota(cause: BaseException) -> bool:
    """Whether a quota of the disk is used up, for which Postgres has no SQLSTATE of its own."""
    return isinstance(cause, asyncpg.InternalServerError) and "Disk quota exceeded" in str(cause)


def translate(error: BaseException, *, read_only: bool) -> BaseException:
    """The application's error for a driver's error; `error` itself if it is a defect and not a state of the database.

    `read_only` says whether the transaction could only read. Such a transaction has no serialisation failures and no
    deadlocks, so a standby cancelled it in favour of its recovery.
    """
    cause = root(error)
    is_conflict = read_only and isinstance(cause, asyncpg.SerializationError | asyncpg.DeadlockDetectedError)
    if is_conflict or (isinstance(cause, asyncpg.QueryCanceledError) and "conflict with recovery" in str(cause)):
        return RecoveryConflict("The standby cancelled the read in favour of a change of the primary; try again.")
    if isinstance(cause, asyncpg.ReadOnlySQLTransactionError) and not read_only:
        return errors.ReadOnly(READ_ONLY)
    if isinstance(cause, asyncpg.DiskFullError) or _exceeds_quota(cause):
        return errors.DatabaseUnavailable(_NO_TEMPORARY_SPACE) if read_only else errors.DiskFull(DISK_FULL)
    for kind, messages in _STATES.items():
        for (causes, text), message in messages.items():
            if isinstance(cause, causes) and text in str(cause):
                said = getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or cause
                return kind(message.format(summary(said)))
    if (isinstance(error, exc.DBAPIError) and error.connection_invalidated) or isinstance(cause, UNREACHABLE):
        return errors.ConnectionLost("The database cannot be reached; try again shortly.")
    return error


def explain(error: BaseException) -> BaseException:
    """Like `translate`, but a refused statement is no defect: an owner's statements depend on the server's settings."""
    found = translate(error, read_only=False)
    cause = root(error)
    if found is error and isinstance(cause, asyncpg.PostgresError | asyncpg.InterfaceError):
        return errors.SchemaMismatch(f"Postgres refuses what this command needs: {summary(cause)}.")
    return found


@contextmanager
def explaining() -> Iterator[None]:
    """Translate the errors of the owner's statements in the block as `explain` does."""
    try:
        yield
    except (exc.SQLAlchemyError, asyncpg.PostgresError, *UNREACHABLE) as error:
        if is_denied(error):
            message = f"This requires the database's owner ({summary(root(error))}): set it to the owner's address."
            raise errors.BadRequest(message, field="STEPWELL_MIGRATION_URL") from error
        explained = explain(error)
        raise explained from (error.__cause__ if explained is error else error)


def of_variable(message: str, variable: str) -> str:
    """The message about an address that another variable than DATABASE_URL names."""
    return message.replace(AS_SERVICE, "").replace("DATABASE_URL", variable)


def summary(cause: object) -> str:
    """The message of the server or driver without its details, which are on further lines."""
    return str(cause).partition("\n")[0].rstrip(".")


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
    if is_denied(error):
        return "The role may not read what it should."
    found = translate(error, read_only=False)
    return found.message if isinstance(found, errors.StepwellError) else f"It failed with {type(root(error)).__name__}."


def is_denied(error: BaseException) -> bool:
    """Whether the role of the transaction lacks a privilege."""
    return isinstance(root(error), asyncpg.InsufficientPrivilegeError)
