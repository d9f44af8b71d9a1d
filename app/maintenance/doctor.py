"""Checks a database and the settings that concern it; each finding names its fix."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from app import errors
from app.database import driver_errors
from app.database.embedded.postgres import SERVICE_ROLE
from app.database.schema import citus, inspection, migration, reembedding
from app.database.schema.inspection import ServerFacts
from app.database.transactions import Database

Level = Literal["ok", "warning", "error"]
Verdict = tuple[Level, str] | tuple[Level, str, str]
"""The result of a check without its name."""
LAG_S = 30.0
"""Seconds behind the primary from which a standby is reported."""
SCARCE_BYTES = 2_000_000_000
POSTGRES = 15
PGVECTOR_FIXED = (0, 8, 4)
_UPGRADE = "Run `stepwell db upgrade` as the owner, then try again."
_IN_UTF8 = (
    "Restore a backup into a database made with ENCODING 'UTF8' LOCALE_PROVIDER libc LC_CTYPE 'C.UTF-8' "
    "TEMPLATE template0."
)
_LATER = "Try again when the server is less busy."
_NODES = "Start the node, let nodes log in to each other as this role, then run `stepwell db distribute` as the owner."
_RIGHTS = "As the owner, run the lines of migrations/schema.sql that begin with GRANT or REVOKE; `--no-acl` omits them."
_AS_SERVICE = "Connect as stepwell_service in DATABASE_URL; keep the owner's for migrations."


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; `fix` names the setting or the command that corrects it."""

    name: str
    level: Level
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the settings require of a database.

    Attributes:
        many_users: Row-level security must apply to the role.
        target: The model to which the vectors can be switched, and its dimension.
    """

    model: str
    dimension: int
    many_users: bool
    target: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Examined:
    """A database, its server, and what the settings require of it."""

    db: Database
    server: ServerFacts
    expected: Expected


async def database(db: Database, expected: Expected) -> list[Finding]:
    """All findings about a database, in the order in which they should be fixed. Raises nothing."""
    try:
        server = await inspection.server(db)
    except Exception as error:
        # The message of a server that answers names the fix itself.
        fix = "Start Postgres, or correct DATABASE_URL." if isinstance(error, errors.ConnectionLost) else ""
        findings = [Finding("database", "error", driver_errors.reason(error), fix)]
    else:
        examined = Examined(db, server, expected)
        checks = (*SERVER_CHECKS, *(SCHEMA_CHECKS if server.migrated and server.may_use else NO_SCHEMA_CHECKS))
        findings = [finding for name, check in checks for finding in await _judge(name, check(examined))]
    return [*findings, *await _judge("standby", standby(db))]


async def _judge(name: str, check: Awaitable[Verdict | None]) -> list[Finding]:
    """The finding of a check, if any. A check that raises is an error, or a warning if the database did not answer."""
    verdict: Verdict | None
    try:
        verdict = await check
    except errors.DatabaseUnavailable as error:
        verdict = ("warning", f"Not checked: {error.message}")  # the message names the fix
    except errors.DeadlineExceeded as error:
        verdict = ("warning", f"Not checked: {error.message}", _LATER)
    except Exception as error:
        verdict = ("error", driver_errors.reason(error), _UPGRADE)
    return [] if verdict is None else [Finding(name, *verdict)]


async def _size(examined: Examined) -> Verdict:
    """The size of the database over all nodes of a cluster, and what its nodes lack."""
    server = examined.server
    try:
        nodes = await migration.nodes(examined.db)
    except (errors.DatabaseUnavailable, errors.DeadlineExceeded):
        raise  # the server itself, since the answer of a node that is away says so
    except Exception as error:
        return "error", f"The nodes give no answer: {driver_errors.reason(error)}", _NODES
    size = sum(node.bytes for node in nodes) or server.bytes
    way = f"over {server.tls}" if server.tls else "without TLS"
    message = f"reached as {server.role} {way}; its size is {size / 1e6:.0f} MB"
    if nodes:
        message += f" on {len(nodes)} nodes, of which {sum(node.holds_shards for node in nodes)} hold users"
    if problems := citus.node_problems(nodes):
        return "error", f"{message}. {'; '.join(problems[:5])}.", _NODES
    return "ok", message


async def _postgres(examined: Examined) -> Verdict:
    server = examined.server
    if server.version_num < POSTGRES * 10_000:
        return "error", f"Postgres {server.version} is too old.", f"Move to Postgres {POSTGRES} or newer."
    if server.encoding != "UTF8":
        return "error", f"The database is in {server.encoding}, so most languages cannot be stored.", _IN_UTF8
    if server.ascii_case:
        return "warning", "The database's locale is C, so sorted lists tell Ä from ä.", _IN_UTF8
    return "ok", f"Postgres {server.version}"


async def _pgvector(examined: Examined) -> Verdict:
    found = examined.server.vector
    if found is None:
        fix = "With its package on the server, as a superuser: CREATE EXTENSION vector;"
        return "error", "pgvector is not installed here.", fix
    version = inspection.pgvector(found)
    fix = "Install pgvector 0.8.4 or newer on the server, then ALTER EXTENSION vector UPDATE;"
    if version < inspection.PGVECTOR:
        return "error", f"pgvector {found} lacks iterative scans.", fix
    if version < PGVECTOR_FIXED:
        return "warning", f"pgvector {found} has bugs that can damage an HNSW index on vacuum; 0.8.4 fixes them.", fix
    return "ok", f"pgvector {found}"


async def _role(examined: Examined) -> Verdict:
    server = examined.server
    if not server.unbound:
        return "ok", f"row-level security binds {server.role}"
    message = f"{server.role} {' and '.join(server.unbound)}, so row-level security does not bind it."
    return "error" if examined.expected.many_users else "warning", message, _AS_SERVICE


async def _missing_schema(examined: Examined) -> Verdict:
    if examined.server.migrated:
        fix = _RIGHTS if examined.server.role == SERVICE_ROLE else _AS_SERVICE
        return "error", f"{examined.server.role} has no rights in the schema stepwell.", fix
    fix = "Run `stepwell db upgrade` with STEPWELL_MIGRATION_URL set."
    return "error", "The database has no Stepwell schema.", fix


async def _revision(examined: Examined) -> Verdict:
    found, head = await migration.revision_of(examined.db), migration.head()
    if found != head:
        message, fix = migration.mismatch(found)
        return "error", f"{message}.", f"{fix[0].upper()}{fix[1:]}."
    return "ok", f"at revision {head}"


async def _embedding(examined: Examined) -> Verdict:
    db, expected = examined.db, examined.expected
    found, wanted = await inspection.embedding(db), (expected.model, expected.dimension)
    if found is None or found not in (wanted, expected.target):
        stored = f"{found[0]} ({found[1]} dimensions)" if found else "no model"
        message = f"The stored vectors are of {stored}, the settings ask for {wanted[0]} ({wanted[1]})."
        fix = "Set STEPWELL_EMBEDDER back; to change the model, set STEPWELL_NEXT_EMBEDDER and run `stepwell reembed`."
        return "error", message, fix
    async with db.shared() as shared:
        target = await reembedding.target(shared)
    if target is not None:
        message = f"vectors of {found[0]} are being replaced by those of {target.model} ({target.dimension})"
        return "warning", message, "Run `stepwell reembed` to go on, or with --cancel to stop."
    return "ok", f"vectors of {found[0]} with {found[1]} dimensions"


async def _schema(examined: Examined) -> Verdict | None:
    """What is missing or invalid; None where another version has made the schema, which `_revision` reports."""
    if await migration.revision_of(examined.db) != migration.head():
        return None
    stored = await inspection.embedding(examined.db)
    found = await inspection.differences(examined.db, dimension=stored[1] if stored else examined.expected.dimension)
    if found:
        fix = "REINDEX an invalid index; what is missing was removed by hand: restore it from migrations/schema.sql."
        return "error", "; ".join(found[:5]), fix
    if refused := await inspection.refused(examined.db):
        return "error", "; ".join(refused[:5]), _RIGHTS
    return "ok", "columns and indexes are complete and valid"


async def _leakproof(examined: Examined) -> Verdict:
    missing = await inspection.not_leakproof(examined.db)
    if not missing:
        return "ok", "filters and expressions may use their indexes under row-level security"
    message = (
        f"{' and '.join(missing)} not LEAKPROOF: under row-level security, metadata filters and expressions may have "
        "to read all of a user's documents or chunks instead of an index (measured for a filter at 120,000: 63 ms "
        "instead of 4.7). Answers are the same."
    )
    alter = " ".join(f"ALTER FUNCTION pg_catalog.{name} LEAKPROOF;" for name in missing)
    fix = f"As a superuser, if the server is yours (it leaks nothing; a dump does not keep it): {alter}"
    return "warning", message, fix


def disk(free: int, where: str) -> Finding:
    """The finding on whether `free` bytes are enough for the data folder `where`."""
    if free < SCARCE_BYTES:
        message = f"Only {free / 1e6:.0f} MB are free for {where}."
        level: Level = "error" if free < inspection.KEPT_FREE_BYTES else "warning"
        return Finding("disk", level, message, "Free space, or set STEPWELL_DATA_DIR to a larger disk.")
    return Finding("disk", "ok", f"{free / 1e9:.0f} GB are free for {where}")


async def writes(db: Database) -> Verdict | None:
    """A warning if the database is read-only, else None. Raises DatabaseUnavailable."""
    if not await db.is_read_only():
        return None
    message = "The database is read-only (a standby, or default_transaction_read_only): searches work, writes get 503."
    fix = "Nothing, if that is intended; otherwise set DATABASE_URL to the primary, and DATABASE_READ_URL to this one."
    return "warning", message, fix


async def standby(db: Database) -> Verdict | None:
    """How far the standby in DATABASE_READ_URL is behind, or why it is not used; None if there is none."""
    await db.reads.probe()
    report = db.reads.standby
    if report is None:
        return None
    if report.lag is None:
        message = f"The server in DATABASE_READ_URL is not used, the primary serves all reads: {report.reason}"
        fix = "Start it, let it replay, or correct DATABASE_READ_URL: a streaming standby of DATABASE_URL, same role."
        return "warning" if report.state == "unavailable" else "error", message, fix
    message = f"the standby is {report.lag.seconds:.1f} s and {report.lag.bytes} bytes behind the primary"
    if report.lag.seconds >= LAG_S:
        fix = "See pg_stat_replication on the primary and pg_get_wal_replay_pause_state() on the standby."
        return "warning", f"{message}: users with newer changes are served by the primary", fix
    if not report.feedback:
        fix = "On the standby: hot_standby_feedback = on, then reload it."
        return "warning", f"{message}; vacuum on the primary cancels long reads on it, which are repeated", fix
    return "ok", message


Check = Callable[[Examined], Awaitable[Verdict | None]]
SERVER_CHECKS: tuple[tuple[str, Check], ...] = (
    ("database", _size),
    ("postgres", _postgres),
    ("pgvector", _pgvector),
    ("role", _role),
)
NO_SCHEMA_CHECKS: tuple[tuple[str, Check], ...] = (("revision", _missing_schema),)
SCHEMA_CHECKS: tuple[tuple[str, Check], ...] = (
    ("revision", _revision),
    ("embedding", _embedding),
    ("schema", _schema),
    ("leakproof", _leakproof),
    ("writes", lambda examined: writes(examined.db)),
)
"""The checks of a database with a schema."""
