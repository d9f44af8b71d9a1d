"""Reads facts about a server, its schema and its disk, and compares the live schema with that of this version.

The schema is read from the system catalogue, because Alembic's comparison does not cover index kinds, operator classes
and storage parameters, policies, functions and grants.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from app import errors
from app.database import addresses, driver_errors, sql, transactions
from app.database.embedded.postgres import RESTRICTED_ROLE, SERVICE_ROLE
from app.database.schema import citus, tables

_HNSW = {name: str(value) for name, value in tables.HNSW.items()}
_SERVICE_URL = "DATABASE_URL"
KEPT_FREE_BYTES = 200_000_000
"""Disk space that writes leave free for the embedded server: for its write-ahead log, checkpoints, temporary files."""
PGVECTOR = (0, 8, 0)
"""The earliest version of pgvector, which has iterative scans."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server, the connected role and its database. `vector` is pgvector's version; None without pgvector.

    `ascii_case` says whether `lower` changes ASCII letters only.
    `tls` is the TLS version of the connection; None without TLS.
    """

    version_num: int
    version: str
    encoding: str
    ascii_case: bool
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
        row = (await connection.execute(sql.statement("inspection_of_server"))).one()
        return ServerFacts(**row._mapping)


def pgvector(version: str) -> tuple[int, ...]:
    """A version of pgvector as numbers."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


NOT_LEAKPROOF = sql.inline(
    """
    SELECT CAST(CAST(p.oid AS regprocedure) AS text) AS name
    FROM pg_proc AS p
    WHERE NOT p.proleakproof
      AND p.oid IN (CAST('pg_catalog.jsonb_contains(jsonb, jsonb)' AS regprocedure),
                    CAST('pg_catalog.ts_match_vq(tsvector, tsquery)' AS regprocedure))
    ORDER BY name
    """
)


async def not_leakproof(database: transactions.Database) -> list[str]:
    """The functions of operators that are not leakproof and so use no index, as ALTER FUNCTION names them."""
    async with database.shared() as connection:
        return list(await connection.scalars(NOT_LEAKPROOF))


async def embedding(database: transactions.Database) -> tuple[str, int] | None:
    """Name and dimension of the model whose vectors are stored."""
    identity = tables.embedding_identity.c
    async with database.shared() as connection:
        row = (await connection.execute(sa.select(identity.model, identity.dimension))).one_or_none()
        return None if row is None else (row.model, row.dimension)


_AS_WRITTEN = sa.text("SET LOCAL quote_all_identifiers = off")
"""The names of types and operator classes are compared as Postgres writes them by default."""


async def differences(database: transactions.Database, *, dimension: int) -> list[str]:
    """The differences of the schema from this version's, one sentence each.

    They are missing columns, vectors of another type or length, missing, different or invalid indexes, tables without
    row-level security, and tables with another distribution.
    """
    async with database.shared() as connection:
        await connection.execute(_AS_WRITTEN)
        return await connection.run_sync(_compare, dimension)


_REFUSED = sql.inline(
    """
    SELECT current_user || ' may not ' || string_agg(p.name, ', ' ORDER BY p.name) || ' in table ' || t.name
    FROM unnest(:tables::text[]) AS t (name)
    CROSS JOIN unnest(ARRAY['DELETE', 'INSERT', 'SELECT', 'UPDATE']) AS p (name)
    WHERE NOT has_table_privilege(to_regclass('stepwell.' || t.name), p.name)
    GROUP BY t.name ORDER BY t.name
    """
)


async def refused(database: transactions.Database) -> list[str]:
    """What the connected role may not do with the tables that the service reads and writes, one sentence a table."""
    names = [table.name for table in tables.of_users() if table.name != "audit_log"]  # of which it may only add rows
    async with database.shared() as connection:
        return list(await connection.scalars(_REFUSED, {"tables": [*names, "jobs"]}))


def free_bytes(folder: Path) -> int:
    """The free bytes on the disk of a folder. The folder need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def is_full(folder: Path) -> bool:
    """Whether the disk of a folder has no room for further writes."""
    return free_bytes(folder) < KEPT_FREE_BYTES


@contextmanager
def naming_server(url: str | None, variable: str) -> Iterator[None]:
    """Adds the server's host and port, and the variable that sets them, to the message of DatabaseUnavailable.

    Messages about an address name DATABASE_URL and the service's role. With another `variable` they name that one, and
    leave the role out.
    """
    try:
        yield
    except errors.DatabaseUnavailable as error:
        if url is None:
            raise
        message = error.message if variable == _SERVICE_URL else driver_errors.of_variable(error.message, variable)
        raise type(error)(f"{message} {variable} names the server {addresses.read(url).server}.") from error
    except driver_errors.AddressRefused as error:
        if variable == _SERVICE_URL:
            raise
        raise driver_errors.AddressRefused(driver_errors.of_variable(error.message, variable)) from error


_LIVE_COLUMNS = sql.inline(
    """
    SELECT c.relname || '.' || a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE n.nspname = 'stepwell' AND c.relkind IN ('r', 'p')
    """
)


def _compare(connection: Connection, dimension: int) -> list[str]:
    """The differences of the live columns, indexes and policies from the tables of this version, one sentence each."""
    metadata_columns = {f"{t.name}.{c.name}" for t in tables.complete().sorted_tables for c in t.columns}
    live_types = {row.name: row.type for row in connection.execute(_LIVE_COLUMNS)}
    problems = [f"column {name} is missing" for name in sorted(metadata_columns - live_types.keys())]
    base_type = live_types.get("embeddings.embedding", "").partition("(")[0]
    if "." in base_type:  # then operators of vectors are not found either
        return [_off_path(connection.execute(VECTORS).one())]
    if base_type != "vector" or dimension > tables.MOST_VECTOR:
        base_type = "halfvec"
    expected = f"{base_type}({dimension})"
    problems += [
        f"{name} is {found}, expected {expected}"
        for name in ("embeddings.embedding", "entity_vectors.embedding")
        if (found := live_types.get(name)) and found != expected
    ]
    protected = set(connection.execute(_PROTECTED).scalars())
    unprotected = sorted({table.name for table in tables.of_users()} - protected)
    problems += _index_differences(connection, base_type)
    problems += [f"table {name} has no row-level security or no policy" for name in unprotected]
    if connection.scalar(_INHERITS, {"role": SERVICE_ROLE, "restricted": RESTRICTED_ROLE}):
        problems.append(
            f"{SERVICE_ROLE} inherits {RESTRICTED_ROLE}, whose policies then refuse its writes: run `stepwell db "
            "upgrade` as a superuser or as the role that granted it"
        )
    return problems + citus.differences(connection)


_INHERITS = sql.inline(
    """
    SELECT pg_has_role(s.oid, r.oid, 'USAGE') FROM pg_roles AS s CROSS JOIN pg_roles AS r
    WHERE s.rolname = :role::name AND NOT s.rolsuper AND r.rolname = :restricted::name
    """
)
VECTORS = sql.inline(
    """
    SELECT quote_ident(n.nspname) AS schema, has_schema_privilege(n.oid, 'USAGE') AS may_use,
           to_regtype('vector') IS NOT NULL AS found, quote_ident(current_database()) AS database,
           quote_ident(current_user) AS role, e.extversion AS version
    FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
    """
)
"""Where pgvector is, and what the connected role finds of it; no row before it is installed."""


def _off_path(vectors: Row[Any]) -> str:
    """Why the names in pgvector's schema are not found."""
    schema = vectors.schema
    if vectors.may_use:
        return f"the search_path of this role or database lacks pgvector's schema {schema}: add it with ALTER ROLE"
    roles = f"{SERVICE_ROLE}, {RESTRICTED_ROLE}"
    return (
        f"this role may not use pgvector's schema {schema}: run as its owner GRANT USAGE ON SCHEMA {schema} TO {roles}"
    )


_PROTECTED = sql.inline(
    """
    SELECT c.relname AS name
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'stepwell' AND c.relrowsecurity AND EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid)
    """
)


_LIVE_INDEXES = sql.inline(
    """
    SELECT c.relname AS name, m.amname AS kind, i.indisvalid AS valid, pg_get_indexdef(c.oid) AS definition
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_am m ON m.oid = c.relam
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'stepwell'
    """
)


def _index_differences(connection: Connection, base_type: str) -> list[str]:
    live_indexes = {row.name: row for row in connection.execute(_LIVE_INDEXES)}
    problems = []
    for table in tables.complete().sorted_tables:
        for index in table.indexes:
            name, kind = str(index.name), index.dialect_options["postgresql"]["using"] or "btree"
            live = live_indexes.get(name)
            if live is None:
                problems.append(f"index {name} is missing")
            elif live.kind != kind:
                problems.append(f"index {name} is {live.kind}, expected {kind}")
            elif not live.valid:
                problems.append(f"index {name} is invalid: run REINDEX INDEX {tables.SCHEMA}.{name}")
            elif kind == "hnsw" and not (
                f" {base_type}_cosine_ops" in live.definition
                and dict(re.findall(r"(m|ef_construction)='?(\d+)'?", live.definition)) == _HNSW
            ):
                expected = ", ".join(f"{option} {value}" for option, value in tables.HNSW.items())
                problems.append(f"index {name} is not {expected}, {base_type}_cosine_ops")
    return problems
