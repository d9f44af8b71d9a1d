"""How does the service's role get its password?

The migration creates `stepwell_service` without one, so that it cannot log in over a network until somebody says so.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import b64encode

from sqlalchemy.engine import make_url

from app import errors
from app.store import db
from app.store.embedded import SERVICE_ROLE

ITERATIONS = 4096


async def set_password(owner_dsn: str, *, service_dsn: str) -> None:
    """Give the service's role the password that `service_dsn` holds; again is harmless.

    Only its SCRAM verifier leaves this process, so no server log can show the password. Raises BadRequest where
    `service_dsn` is another role's or has no password of visible ASCII characters, DatabaseUnavailable.
    """
    given = make_url(db.normalised(service_dsn))
    password = str(given.password or "")
    if given.username != SERVICE_ROLE:
        raise errors.BadRequest(f"The address must be that of the role {SERVICE_ROLE}.", field="DATABASE_URL")
    if not (password.isascii() and password.isprintable() and password):
        raise errors.BadRequest("The address must hold a password of visible ASCII characters.", field="DATABASE_URL")
    owner = db.connect(owner_dsn, pool_size=1)
    try:
        async with owner.shared() as connection:
            # Not as sa.text, which would take the verifier's colons for binds.
            await connection.exec_driver_sql(
                f"ALTER ROLE {SERVICE_ROLE} PASSWORD '{verifier(password, os.urandom(16))}'"
            )
    finally:
        await owner.close()


def verifier(password: str, salt: bytes) -> str:
    """What Postgres stores for an ASCII password (RFC 5803, RFC 7677): SCRAM-SHA-256$iterations:salt$stored:server."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ITERATIONS)
    stored = hashlib.sha256(_signed(salted, b"Client Key")).digest()
    parts = (b64encode(part).decode() for part in (salt, stored, _signed(salted, b"Server Key")))
    return "SCRAM-SHA-256${}:{}${}:{}".format(ITERATIONS, *parts)


def _signed(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")
