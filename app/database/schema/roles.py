"""Restricts the service's role and sets its password, and checks what the connected role may do.

The migration creates `stepwell_service` without a password, so that it cannot log in over a network before one is set.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
from base64 import b64encode

import asyncpg
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from app import errors
from app.database import addresses, driver_errors, sql, transactions
from app.database.embedded.postgres import RESTRICTED_ROLE, SERVICE_ROLE
from app.database.schema import inspection

log = logging.getLogger(__name__)

ITERATIONS = 4096
BACKSTOPS = {"statement_timeout": "10min", "lock_timeout": "1min", "idle_in_transaction_session_timeout": "5min"}
"""Settings of the role. They apply unless a transaction sets lower values; a session may change its own."""


def restrict(owner: Connection) -> None:
    """Set the role's timeouts, revoke privileges of PUBLIC, and grant what PUBLIC lacks; only differences are changed.

    A superuser also marks functions as leakproof, so that their operators use an index under row-level security.
    None of it is part of a dump or of a copied database, so this runs at each upgrade. If the connected role lacks the
    privilege, a warning is logged with the statement to run.
    """
    binds = {"role": SERVICE_ROLE, "names": list(BACKSTOPS), "settings": list(BACKSTOPS.values())}
    statements = list(owner.execute(sql.statement("restrictions"), binds).scalars())
    if owner.scalar(sa.text("SHOW is_superuser")) == "on":
        functions = owner.execute(inspection.NOT_LEAKPROOF).scalars()
        statements += [f"ALTER FUNCTION pg_catalog.{name} LEAKPROOF" for name in functions]
    for statement in statements:
        try:
            with owner.begin_nested():
                owner.exec_driver_sql(statement)
        except sa.exc.DBAPIError as error:
            if not driver_errors.is_denied(error):
                raise
            log.warning("the connected role may not restrict the service's role; run as a superuser: %s", statement)


_MISSING_ROLES = sql.inline(
    """
    SELECT w.statement
    FROM (
        SELECT r.rolsuper OR r.rolcreaterole AS creates,
               CAST(current_setting('server_version_num') AS integer) >= 160000 AS options
        FROM pg_roles AS r WHERE r.rolname = current_user
    ) AS own
    CROSS JOIN LATERAL (
        SELECT 1 AS place, 'CREATE ROLE ' || g.name || ' ' || g.rights AS statement
        FROM unnest(:roles::text[], :rights::text[]) AS g (name, rights)
        WHERE NOT own.creates AND NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = g.name)
        UNION ALL
        SELECT 2, CASE WHEN own.options THEN '' ELSE 'ALTER ROLE stepwell_service NOINHERIT; ' END
                  || 'GRANT stepwell_restricted TO stepwell_service'
                  || CASE WHEN own.options THEN ' WITH INHERIT FALSE, SET TRUE' ELSE '' END
        WHERE NOT (own.creates AND NOT own.options)
          AND NOT EXISTS (
              SELECT FROM pg_auth_members AS m
              WHERE m.roleid = to_regrole('stepwell_restricted') AND m.member = to_regrole('stepwell_service'))
          AND NOT CASE WHEN to_regrole('stepwell_restricted') IS NULL THEN own.creates
                       ELSE pg_has_role(to_regrole('stepwell_restricted'), 'USAGE WITH ADMIN OPTION') END
    ) AS w
    ORDER BY w.place
    """
)


def check_creation(owner: Connection) -> None:
    """Raise SchemaMismatch, with statements for a superuser, if a role is missing that the connected one cannot create.

    A superuser, or an owner with CREATEROLE, creates both. Otherwise the roles and the membership must exist before.
    """
    binds = {"roles": [SERVICE_ROLE, RESTRICTED_ROLE], "rights": ["LOGIN", "NOLOGIN"]}
    if missing := owner.execute(_MISSING_ROLES, binds).scalars().all():
        raise errors.SchemaMismatch(
            f"This role may not create the roles of the service: run as a superuser {'; '.join(missing)};"
        )


async def check_owner(database: transactions.Database) -> None:
    """Raise BadRequest unless the connected role is the owner or a superuser, or nothing has an owner yet."""
    server = await inspection.server(database)
    if server.migrated and not (server.owns or server.superuser):
        raise errors.BadRequest(
            "This requires the database's owner: set it to the owner's address.", field="STEPWELL_MIGRATION_URL"
        )


async def check_role(database: transactions.Database, *, strict: bool) -> None:
    """Check that row-level security applies to the role that the service connects as.

    If it does not, raises SchemaMismatch with `strict` (many users), and otherwise logs a warning.
    """
    reasons = (await inspection.server(database)).unbound
    if not reasons:
        return
    message = (
        f"The role in DATABASE_URL {reasons[0]}, so row-level security does not bind it: connect as stepwell_service."
    )
    if strict:
        raise errors.SchemaMismatch(message)
    log.warning(message)


async def set_password(owner_dsn: str, *, service_dsn: str) -> None:
    """Set the password of the service's role to the password in `service_dsn`. Idempotent.

    Only the SCRAM verifier is sent to the server, so its logs cannot contain the password. Raises BadRequest if
    `service_dsn` has another role or no password of visible ASCII characters, SchemaMismatch if the owner may not set
    it, and DatabaseUnavailable.
    """
    service = addresses.read(service_dsn)
    password = service.password or ""
    if service.user != SERVICE_ROLE:
        raise errors.BadRequest(f"The address must be that of the role {SERVICE_ROLE}.", field="DATABASE_URL")
    if not (password.isascii() and password.isprintable() and password):
        raise errors.BadRequest(
            "The address must contain a password of visible ASCII characters.", field="DATABASE_URL"
        )
    async with transactions.connect(owner_dsn, pool_size=1) as owner, owner.shared() as connection:
        scram = verifier(password, os.urandom(16)).replace(":", r"\:")  # a colon would begin a bind
        try:
            await connection.execute(sa.text(f"ALTER ROLE {SERVICE_ROLE} PASSWORD '{scram}'"))
        except asyncpg.InsufficientPrivilegeError as error:
            raise errors.SchemaMismatch(
                f"This role may not set the password: run as a superuser ALTER ROLE {SERVICE_ROLE} PASSWORD '…';"
            ) from error


def verifier(password: str, salt: bytes) -> str:
    """The SCRAM verifier of an ASCII password (RFC 5803, RFC 7677): SCRAM-SHA-256$iterations:salt$stored:server."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ITERATIONS)
    stored = hashlib.sha256(_sign(salted, b"Client Key")).digest()
    parts = (b64encode(part).decode() for part in (salt, stored, _sign(salted, b"Server Key")))
    return "SCRAM-SHA-256${}:{}${}:{}".format(ITERATIONS, *parts)


def _sign(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")
