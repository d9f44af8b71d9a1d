"""Reads facts about a server, its schema and its disk that `doctor` judges."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from app import errors
from app.database import addresses, sql, transactions
from app.database.schema import catalogue, distribution, tables

KEPT_FREE_BYTES = 200_000_000
"""Room that writes leave on the embedded server's disk: for the write-ahead log, a checkpoint and temporary files."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server, the role that is connected and its database; `vector` is pgvector's version, None without it.

    `tls` is the version of TLS of the server's connection, None without it.
    """

    version_num: int
    version: str
    vector: str | None
    role: str
    superuser: bool
    bypasses: bool
    owns: bool
    migrated: bool
    may_use: bool
    bytes: int
    tls: str | None = None

    @property
    def unbound(self) -> list[str]:
        """Why row-level security does not bind the role, as ends of a sentence; empty if it does."""
        found = {"is a superuser": self.superuser, "has BYPASSRLS": self.bypasses, "owns the tables": self.owns}
        return [reason for reason, is_so in found.items() if is_so]


async def server(database: transactions.Database) -> ServerFacts:
    """The server behind the pool."""
    async with database.shared() as connection:
        row = (await connection.execute(sql.statement("health_server"))).one()
        return ServerFacts(**row._mapping)


_NOT_LEAKPROOF = sql.inline(
    """
    SELECT CAST(CAST(p.oid AS regprocedure) AS text) AS name
    FROM pg_proc AS p
    WHERE NOT p.proleakproof
      AND p.oid IN (CAST('pg_catalog.jsonb_contains(jsonb, jsonb)' AS regprocedure),
                    CAST('pg_catalog.ts_match_vq(tsvector, tsquery)' AS regprocedure))
    ORDER BY name
    """,
)


async def not_leakproof(database: transactions.Database) -> list[str]:
    """The operators that need to be leakproof to use an index and are not, by the name that ALTER FUNCTION takes."""
    async with database.shared() as connection:
        return list(await connection.scalars(_NOT_LEAKPROOF))


async def embedding(database: transactions.Database) -> tuple[str, int] | None:
    """Name and dimension of the model whose vectors are stored."""
    identity = tables.embedding_identity.c
    async with database.shared() as connection:
        row = (await connection.execute(sa.select(identity.model, identity.dimension))).one_or_none()
        return None if row is None else (row.model, row.dimension)


async def bits_of_vectors(database: transactions.Database) -> int:
    """The bits of each number of a stored vector: 16, or 32 in a database that an earlier version created."""
    kind = "SELECT CAST(atttypid AS regtype)::text FROM pg_attribute WHERE attrelid = 'stepwell.embeddings'::regclass"
    async with database.shared() as connection:
        found = await connection.scalar(sa.text(f"{kind} AND attname = 'embedding'"))
    return 32 if found == "vector" else 16


async def differences(database: transactions.Database, *, dimension: int) -> list[str]:
    """What of the schema differs from that of this version, as a sentence each.

    Missing and additional columns and indexes, invalid indexes, and tables that are not distributed as others are.
    """
    async with database.shared() as connection:
        found = await connection.run_sync(catalogue.differences, dimension)
        return [*found, *await connection.run_sync(distribution.differences)]


def free_bytes(folder: Path) -> int:
    """Free bytes on the disk of a folder, which need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def is_full(folder: Path) -> bool:
    """Whether the disk of a folder has no room for further writes."""
    return free_bytes(folder) < KEPT_FREE_BYTES


def address(dsn: str) -> str:
    """Host and port of a database address, or the directory of its Unix socket; never the user or the password."""
    return addresses.read(dsn).server


@contextmanager
def naming_server(url: str | None, variable: str) -> Iterator[None]:
    """Adds the server's host and port, and the variable that sets them, to the message of DatabaseUnavailable."""
    try:
        yield
    except errors.DatabaseUnavailable as error:
        if url is None:
            raise
        raise type(error)(f"{error.message} {variable} names the server {address(url)}.") from error
