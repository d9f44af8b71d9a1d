"""Hands libpq's TLS parameters of a database address to asyncpg."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import sqlalchemy as sa

from app import errors

_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_FILES = frozenset({"sslrootcert", "sslcert", "sslkey", "sslcrl"})


def split(url: sa.URL) -> tuple[sa.URL, dict[str, str]]:
    """The address without libpq's TLS parameters, and these as an argument of asyncpg.connect.

    SQLAlchemy would pass each as a keyword, which asyncpg does not take; in an address it reads them as libpq does.
    """
    tls = {name: str(value) for name, value in url.query.items() if name.startswith("ssl") and name != "ssl"}
    if not tls:
        return url, {}
    if tls.get("sslmode", "prefer") not in _MODES:
        raise errors.BadRequest(f"sslmode must be one of {', '.join(_MODES)}.", field="DATABASE_URL")
    for name in _FILES & set(tls):
        if not Path(tls[name]).is_file():
            raise errors.BadRequest(f"The file that {name} names does not exist.", field="DATABASE_URL")
    return url.difference_update_query(tls), {"dsn": f"postgresql://?{urlencode(tls)}"}
