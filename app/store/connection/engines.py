"""Creates SQLAlchemy engines from the addresses of databases."""

from __future__ import annotations

from typing import Any

from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app import errors
from app.store.connection import bounded, tls_parameters

CONNECT_S = 5.0


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
    url, tls = tls_parameters.split(make_url(asyncpg_url(dsn)))
    connecting = {"server_settings": settings, "timeout": CONNECT_S, "connection_class": bounded.Driver, **tls}
    return create_async_engine(url, connect_args=connecting, **options)


def asyncpg_url(dsn: str) -> str:
    """Convert a database URL to the form that SQLAlchemy's asyncpg dialect requires."""
    scheme, separator, rest = dsn.partition("://")
    if not separator or scheme.split("+")[0] not in {"postgres", "postgresql"}:
        raise errors.BadRequest("The address must start with postgresql://", field="DATABASE_URL")
    return f"postgresql+asyncpg://{rest}"
