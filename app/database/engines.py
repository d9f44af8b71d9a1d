"""Creates SQLAlchemy engines from the addresses of databases, and hands libpq's TLS parameters to asyncpg."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app import errors
from app.database import bounded, vectors

CONNECT_S = 5.0
KNOWS_VECTORS = "knows vectors"
"""Whether pgvector was installed when a connection was opened, in the `info` of the pool's entry."""
_TLS_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_TLS_FILES = frozenset({"sslrootcert", "sslcert", "sslkey", "sslcrl"})
_INT64 = range(-(2**63), 2**63)


def _whole_number(digits: str) -> int | float:
    # Postgres writes 1e300 with 301 digits. Requests have no whole numbers beyond 64 bits, so this was a float.
    if len(digits) < 19:
        return int(digits)
    return value if len(digits) <= 20 and (value := int(digits)) in _INT64 else float(digits)


_JSON = json.JSONDecoder(parse_int=_whole_number)


def create(dsn: str, **options: Any) -> AsyncEngine:
    """Create an engine that suppresses notices and enables TCP keepalives on both sides."""
    settings = {
        "application_name": "stepwell",
        "client_min_messages": "warning",
        "timezone": "UTC",
        "citus.propagate_set_commands": "local",
        # Citus otherwise filters shards out of each look-up of a type, which makes a new connection take seconds.
        "citus.show_shards_for_app_name_prefixes": "*",
        **bounded.SERVER_SETTINGS,
    }
    url, tls = _split_tls(sa.make_url(asyncpg_url(dsn)))
    connecting = {
        "server_settings": settings,
        "timeout": CONNECT_S,
        "connection_class": bounded.Driver,
        "max_cacheable_statement_size": 0,
        "max_cached_statement_lifetime": 0,
        **tls,
    }
    engine = create_async_engine(url, connect_args=connecting, json_deserializer=_JSON.decode, **options)
    sa.event.listen(engine.sync_engine, "connect", _connected)
    return engine


def _connected(connection: Any, record: sa.pool.ConnectionPoolEntry) -> None:
    record.info[KNOWS_VECTORS] = connection.run_async(vectors.register)


def asyncpg_url(dsn: str) -> str:
    """Convert a database URL to the form that SQLAlchemy's asyncpg dialect requires."""
    scheme, separator, rest = dsn.partition("://")
    if not separator or scheme.split("+")[0] not in {"postgres", "postgresql"}:
        raise errors.BadRequest("The address must start with postgresql://", field="DATABASE_URL")
    return f"postgresql+asyncpg://{rest}"


def _split_tls(url: sa.URL) -> tuple[sa.URL, dict[str, str]]:
    """The address without libpq's TLS parameters, and these as an argument of asyncpg.connect.

    SQLAlchemy would pass each as a keyword, which asyncpg does not take; in an address it reads them as libpq does.
    """
    tls = {name: str(value) for name, value in url.query.items() if name.startswith("ssl") and name != "ssl"}
    if not tls:
        return url, {}
    if tls.get("sslmode", "prefer") not in _TLS_MODES:
        raise errors.BadRequest(f"sslmode must be one of {', '.join(_TLS_MODES)}.", field="DATABASE_URL")
    for name in _TLS_FILES & set(tls):
        if not Path(tls[name]).is_file():
            raise errors.BadRequest(f"The file that {name} names does not exist.", field="DATABASE_URL")
    return url.difference_update_query(tls), {"dsn": f"postgresql://?{urlencode(tls)}"}
