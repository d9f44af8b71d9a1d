"""Dumps the schema `stepwell` to a file in pg_dump's custom format and loads such a file in one transaction.

A server that is reached over TCP needs the system's programs, because the wheel's are built without TLS. For other
servers the wheel's are used. Passwords are passed only through the environment. A file is loaded by psql in a single
transaction that is committed only after pg_restore has read the whole file, so a failure leaves the database as it was.
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
import subprocess
import tempfile
import textwrap
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from app import errors
from app.database import addresses, driver_errors, sql, sqlalchemy_engines, transactions
from app.database.embedded import embedded_programs
from app.database.embedded.postgres import SERVICE_ROLE
from app.database.schema import citus, migration, tables

LOCK_WAIT_S = 30
"""How long a dump waits for a migration, and a load for open transactions."""
READ_BYTES = 1 << 16
LINE = 300
"""Most characters that are shown of a line of a program's error output."""
DEBIAN = Path("/usr/lib/postgresql")
"""Where Debian's packages put the programs of each major version."""
_LIBPQ = {"connect_timeout": "PGCONNECT_TIMEOUT", "application_name": "PGAPPNAME"}
"""The variables of libpq that are not named as its parameters are."""
_EXCLUDED_VARIABLES = (
    *("PGOPTIONS", "PGSERVICE", "PGSERVICEFILE", "PGHOSTADDR"),
    *("PGDATABASE", "PGUSER", "PGHOST", "PGPORT"),
)
"""Environment variables that would change the target or the behaviour of a program."""
_TABLE_DATA = re.compile(r"^COPY \w+\.(\w+) \(([^)]*)\) FROM stdin;\n(.*?)^\\\.$", re.MULTILINE | re.DOTALL)
_DUMPED_FROM = re.compile(r"^-- Dumped from database version (\d+)", re.MULTILINE)
_UNKNOWN = re.compile(rb"SET transaction_timeout|ALTER TABLE .* SET \(pg_attver=")
"""What other servers reject: a setting of pg_restore from 17 on, and marks of columns that new minor releases keep.

An older pg_dump writes the marks. Each server makes its own.
"""
_VECTOR_COLUMN = re.compile(r"(\w+)\.(?:halfvec|vector)\(")
"""In the error of a table that cannot be created, because pgvector is in another schema than in the backup."""

_REMEMBER_ENDS = """
DO $$ BEGIN
    IF to_regclass('stepwell.api_keys') IS NOT NULL THEN
        PERFORM set_config('stepwell.ends', CAST(jsonb_agg(e) AS text), true) FROM (
            SELECT k.key_id, NULL AS user_id, k.revoked_at, k.expires_at FROM stepwell.api_keys AS k
            UNION ALL SELECT NULL, a.user_id, a.at, NULL FROM stepwell.audit_log AS a WHERE a.action = 'user.deleted'
        ) AS e;
    END IF;
END $$;
"""
_END_KEYS = b"""
UPDATE stepwell.api_keys AS k
SET revoked_at = least(k.revoked_at, e.revoked_at), expires_at = least(k.expires_at, e.expires_at)
FROM jsonb_to_recordset(CAST(nullif(current_setting('stepwell.ends', true), '') AS jsonb))
    AS e (key_id text, user_id text, revoked_at timestamptz, expires_at timestamptz)
WHERE e.key_id = k.key_id OR (e.user_id = k.user_id AND k.created_at < e.revoked_at);
"""
"""A backup does not bring back keys that were revoked, rotated or deleted with their user after it."""


@dataclass(frozen=True, slots=True)
class Access:
    """The URL of a database for its owner, and the environment of the programs that use it."""

    dsn: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Archive:
    """The content of a backup file; `model` and `dimension` are None if nothing was ever embedded.

    `server_major` is the version of the server that it was taken from, None if the file does not say it.
    """

    revision: str
    model: str | None
    dimension: int | None
    bytes: int
    server_major: int | None = None


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """A database before a restore: server version, whether role and schema exist, users with data, keys, sessions."""

    server_major: int
    has_role: bool
    migrated: bool
    users: int
    keys: int
    sessions: int

    @property
    def is_empty(self) -> bool:
        """Whether a restore would replace nothing."""
        return not (self.users or self.keys)


async def dump(access: Access, file: Path, *, server_major: int, replace: bool) -> Archive:
    """Write a consistent backup to `file` atomically, readable by its owner only.

    The file is read back completely before it is renamed to `file`. Raises BadRequest if `file` cannot be written, or
    has appeared meanwhile and may not be replaced, BackupFailed with the error output of the program that failed.
    """
    dumps = _program("pg_dump", access, major=server_major)
    with _finish(file, replace=replace) as draft:
        arguments = ("--format=custom", f"--schema={tables.SCHEMA}", f"--lock-wait-timeout={LOCK_WAIT_S}s")
        await _run(dumps, *arguments, "--no-password", f"--file={draft}", environment=_libpq(access))
        archive = await describe(draft, access.environment)
        await _run(_newest(access.environment), f"--file={os.devnull}", str(draft), environment=access.environment)
    return archive


async def describe(file: Path, environment: Mapping[str, str]) -> Archive:
    """Read the description of a backup from its file. Raises BadRequest if it is not a backup of Stepwell."""
    wanted = [f"--table={name}" for name in ("alembic_version", "embedding_identity")]
    try:
        output = await _run(
            _newest(environment), "--data-only", *wanted, "--file=-", str(file), environment=environment
        )
    except errors.BackupFailed as error:
        raise errors.BadRequest(f"The file is not a readable backup: {error.message}", field="FILE") from error
    rows: dict[str, dict[str, str]] = {}
    for table, columns, values in _TABLE_DATA.findall(output):
        first = values.splitlines()[0].split("\t") if values else ()
        rows[table] = dict(zip(columns.split(", "), first, strict=True)) if first else {}
    if not rows.get("alembic_version"):
        raise errors.BadRequest("The file is not a backup of a Stepwell database.", field="FILE")
    major = _DUMPED_FROM.search(output)
    identity = rows.get("embedding_identity") or {}
    dimension = identity.get("dimension")
    return Archive(
        revision=rows["alembic_version"]["version_num"],
        model=identity.get("model"),
        dimension=int(dimension) if dimension else None,
        bytes=os.stat(file).st_size,
        server_major=int(major[1]) if major else None,
    )


async def load(access: Access, file: Path) -> None:
    """Replace the schema `stepwell` by the one in `file`, in one transaction. Keys that have ended stay so.

    Raises BackupFailed with the error output of the program that failed; then nothing has changed.
    """
    script = ("--no-owner", "--file=-", str(file))
    unattended = ("--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1", "--output=/dev/null")
    async with (
        _start(_newest(access.environment), *script, environment=access.environment) as reader,
        _start(_program("psql", access), *unattended, environment=_libpq(access)) as writer,
    ):
        error_outputs = asyncio.gather(_error_output(reader), _error_output(writer))
        try:
            await _send_script(reader, writer)
        except (BrokenPipeError, ConnectionResetError):
            await _end(reader)  # psql has ended, and nobody reads the rest
        read_error, write_error = await error_outputs
        if await reader.wait() > 0:  # psql then fails too, at the row where the script ends
            raise errors.BackupFailed(f"The backup could not be restored, its file is damaged: {read_error}")
        if reader.returncode or await writer.wait():
            elsewhere = _VECTOR_COLUMN.search(write_error)
            remedy = f". As a superuser: ALTER EXTENSION vector SET SCHEMA {elsewhere[1]};" if elsewhere else ""
            raise errors.BackupFailed(f"The backup could not be restored: {write_error or read_error}{remedy}")


async def _send_script(reader: Process, writer: Process) -> None:
    """Pipe pg_restore's output to psql in one transaction, committed only if pg_restore read the whole file."""
    assert reader.stdout
    assert writer.stdin
    limits = f"{migration.UNLIMITED.format('false')} SET lock_timeout = '{LOCK_WAIT_S}s';"
    before = f"{limits} BEGIN;{_REMEMBER_ENDS}DROP SCHEMA IF EXISTS {tables.SCHEMA} CASCADE;\n"
    writer.stdin.write(before.encode())
    try:
        async for line in reader.stdout:
            if not (_UNKNOWN.match(line) or line.startswith(citus.SETTING)):
                await _write(writer.stdin, line)
            if line.startswith(b"COPY "):
                break
        while block := await reader.stdout.read(READ_BYTES):
            await _write(writer.stdin, block)
        if await reader.wait() == 0:
            await _write(writer.stdin, b"\n" + _END_KEYS + b"COMMIT;\n")
            await writer.stdin.drain()
    finally:
        writer.stdin.close()


async def _write(pipe: asyncio.StreamWriter, data: bytes) -> None:
    """Write as soon as there is room. Raises BrokenPipeError or ConnectionResetError if the reader has ended."""
    await pipe.drain()  # uvloop's `write` raises RuntimeError once the pipe is closed
    pipe.write(data)


_TARGET = sql.inline(
    """
    SELECT CAST(current_setting('server_version_num') AS integer) AS version, to_regrole(:role) IS NOT NULL AS has_role,
           to_regclass('stepwell.alembic_version') IS NOT NULL AS migrated,
           (SELECT count(*) FROM pg_stat_activity AS a
            WHERE a.datname = current_database() AND a.usename = :role::text) AS sessions
    """
)


async def target(database: transactions.Database) -> RestoreTarget:
    """The database into which a backup is to be restored. Raises DatabaseUnavailable."""
    async with database.shared() as connection:
        facts = (await connection.execute(_TARGET, {"role": SERVICE_ROLE})).one()
        counts = {"tenants": 0, "api_keys": 0}
        for table in counts:
            if await connection.scalar(sa.text(f"SELECT to_regclass('{tables.SCHEMA}.{table}') IS NOT NULL")):
                rows = sa.select(sa.func.count()).select_from(sa.table(table, schema=tables.SCHEMA))
                counts[table] = int(await connection.scalar(rows) or 0)
        users, keys = counts.values()
        return RestoreTarget(facts.version // 10_000, facts.has_role, facts.migrated, users, keys, facts.sessions)


async def vacuum(dsn: str) -> None:
    """Vacuum the restored tables and collect the planner's statistics, which are not part of a backup."""
    engine = sqlalchemy_engines.create(dsn, pool_size=1, max_overflow=0, isolation_level="AUTOCOMMIT")
    try:
        with driver_errors.explaining():
            async with engine.connect() as connection:
                driver: Any = (await connection.get_raw_connection()).driver_connection
                await driver.execute(migration.UNLIMITED.format("false"))
                for table in tables.complete().sorted_tables:
                    await driver.execute(f"VACUUM (ANALYZE) {table.fullname}")
    finally:
        await engine.dispose()


@dataclass(frozen=True, slots=True)
class _Programs:
    """A folder of Postgres programs, their major version, and whether they can use TLS."""

    major: int
    has_tls: bool
    folder: Path


def _install(environment: Mapping[str, str]) -> list[_Programs]:
    """The programs on the PATH, where Debian puts them, and of the wheel, which has no TLS; the newest first."""
    on_path = [Path(folder) for folder in environment.get("PATH", os.defpath).split(os.pathsep) if folder]
    folders = {folder for folder in (*on_path, *DEBIAN.glob("*/bin")) if (folder / "pg_dump").is_file()}
    found = [_Programs(_major(folder / "pg_dump"), True, folder) for folder in folders]
    with suppress(errors.EmbeddedServerError):
        found.append(_Programs(int(embedded_programs.MAJOR), False, embedded_programs.find_installed()))
    return sorted(found, key=lambda one: (one.major, one.has_tls), reverse=True)


def _newest(environment: Mapping[str, str]) -> Path:
    """The newest pg_restore, which reads the backups of all older ones and connects to nothing."""
    found = _install(environment)
    if not found:
        raise errors.BackupFailed("There is no pg_restore: install the client programs of Postgres.")
    return found[0].folder / "pg_restore"


def _program(name: str, access: Access, *, major: int = 0) -> Path:
    """A program that connects, of at least a major version. Raises BackupFailed if there is none."""
    address = addresses.read(access.dsn)
    found = _install(access.environment)
    if address.needs_tls:
        found = [one for one in found if one.has_tls]
    elif all(host.startswith("/") for host, _ in address.hosts):
        found.sort(key=lambda one: one.has_tls)
    else:
        found.sort(key=lambda one: not one.has_tls)
    fitting = [one for one in found if one.major >= major]
    if not fitting:
        needs = f"{name} {major or ''}".strip() + (" or newer" if major else "") + " with TLS" * address.needs_tls
        has = f"the newest one here is {found[0].major}" if found else "there is none here"
        raise errors.BackupFailed(
            f"{needs} is needed, and {has}: install the client programs of Postgres {major or ''}."
        )
    return fitting[0].folder / name


@functools.cache
def _major(program: Path) -> int:
    """The major version of a Postgres program; 0 if its output does not contain one."""
    output = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    match = re.search(r"\) (\d+)", output)
    return int(match[1]) if match else 0


def _libpq(access: Access) -> dict[str, str]:
    """The environment in which libpq connects to `access.dsn`, with the password."""
    address = addresses.read(access.dsn)
    variables = {
        "PGHOST": ",".join(host for host, _ in address.hosts) or None,
        "PGPORT": ",".join(str(port or addresses.PORT) for _, port in address.hosts) or None,
        "PGUSER": address.user,
        "PGDATABASE": address.database,
        "PGPASSWORD": address.password,
    }
    variables |= {
        _LIBPQ.get(name, f"PG{name.upper().replace('_', '')}"): text for name, text in address.parameters.items()
    }
    inherited = {name: value for name, value in access.environment.items() if name not in _EXCLUDED_VARIABLES}
    return inherited | {name: value for name, value in variables.items() if value is not None}


def check_free(file: Path, *, replace: bool) -> None:
    """Raises BadRequest if there is a file that may not be replaced."""
    if file.exists() and not replace:
        raise errors.BadRequest("This file exists: add --replace to replace it.", field="FILE")


@contextmanager
def _finish(file: Path, *, replace: bool) -> Iterator[Path]:
    """A private draft of `file` that is synced and renamed to `file` if the block ends without an error."""
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".part")
    except OSError as error:
        raise errors.BadRequest(f"The folder cannot be written: {error.strerror}.", field="FILE") from error
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        try:
            _synchronise(draft)
            check_free(file, replace=replace)  # another backup may have written it meanwhile
            draft.replace(file)
            _synchronise(file.parent)
        except OSError as error:
            raise errors.BackupFailed(f"The backup could not be written to {file}: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)


def _synchronise(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@asynccontextmanager
async def _start(program: Path, *arguments: str, environment: Mapping[str, str]) -> AsyncIterator[Process]:
    """A running program that is killed when the block ends."""
    process = await asyncio.create_subprocess_exec(
        str(program), *arguments, env={**environment, "LC_ALL": "C"}, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _run(program: Path, *arguments: str, environment: Mapping[str, str]) -> str:
    """The output of a program. Raises BackupFailed with its error output."""
    async with _start(program, *arguments, environment=environment) as process:
        output, error_output = await process.communicate()
        if process.returncode:
            raise errors.BackupFailed(f"{program.name} failed: {_last_lines(error_output)}")
        return output.decode(errors="replace")


async def _end(reader: Process) -> None:
    """Kill a program and read what is left of its output, which would keep its pipe open."""
    with suppress(ProcessLookupError):  # a small backup is read before the other program fails
        reader.kill()
    assert reader.stdout
    while await reader.stdout.read(READ_BYTES):
        continue


async def _error_output(process: Process) -> str:
    assert process.stderr
    return _last_lines(await process.stderr.read())


def _last_lines(error_output: bytes) -> str:
    """The last lines of a program's error output. They are cut, because an error in a row quotes the whole row."""
    lines = error_output.decode(errors="replace").strip().splitlines()[-3:]
    return "; ".join(textwrap.shorten(line, LINE, placeholder=" …") for line in lines) or "it gave no reason"
