"""Dumps the schema `stepwell` to a file in pg_dump's custom format and loads such a file in one transaction.

The wheel's programs are used, or those on the PATH if the server is newer. Passwords are passed only through the
environment. A file is loaded by psql in a single transaction that is committed only after pg_restore has read the
whole file, so a failure at any point leaves the database as it was.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from app import errors
from app.database import engines, transactions
from app.database.embedded import embedded_programs
from app.database.embedded.postgres import RESTRICTED_ROLE, SERVICE_RIGHTS, SERVICE_ROLE
from app.database.schema import distribution, roles, tables

LOCK_WAIT_S = 30
"""How long a dump waits for a migration, and a load for open transactions."""
READ_BYTES = 1 << 16
EXAMPLE = "stepwell.dump"
_LIBPQ = {"ssl": "PGSSLMODE", "host": "PGHOST", "port": "PGPORT", "passfile": "PGPASSFILE"} | {
    name: f"PG{name.upper()}" for name in ("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "gssencmode")
}
_EXCLUDED_VARIABLES = (
    "PGOPTIONS",
    "PGSERVICE",
    "PGSERVICEFILE",
    "PGHOSTADDR",
    "PGDATABASE",
    "PGUSER",
    "PGHOST",
    "PGPORT",
)
"""Environment variables that would change the target or the behaviour of a program."""
_TABLE_DATA = re.compile(r"^COPY \w+\.(\w+) \(([^)]*)\) FROM stdin;\n(.*?)^\\\.$", re.MULTILINE | re.DOTALL)
_NEW_SETTING = b"SET transaction_timeout"
"""Written by pg_restore 17 and newer, rejected by older servers."""


@dataclass(frozen=True, slots=True)
class Access:
    """The URL of a database for its owner, and the environment of the programs that use it."""

    dsn: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Archive:
    """The content of a backup file; `model` and `dimension` are None if nothing was ever embedded."""

    revision: str
    model: str | None
    dimension: int | None
    bytes: int


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """A database before a restore: server version, whether the schema exists, users with data, keys, open sessions."""

    server_major: int
    migrated: bool
    users: int
    keys: int
    sessions: int

    @property
    def is_empty(self) -> bool:
        """Whether a restore would replace nothing."""
        return not (self.users or self.keys)


def check_target(file: Path, *, replace: bool) -> None:
    """Raise BadRequest unless a backup can be written to `file`: a new one, or one that it may replace, in a folder."""
    _refuse_folder(file)
    if file.exists() and not file.is_file():
        raise errors.BadRequest("This is not an ordinary file, and would be replaced by one.", field="FILE")
    if file.exists() and not replace:
        raise errors.BadRequest("This file exists: add --replace to replace it.", field="FILE")
    with _draft_of(file):
        return


def check_source(file: Path) -> None:
    """Raise BadRequest unless `file` is a file."""
    _refuse_folder(file)
    if not file.is_file():
        raise errors.BadRequest("No such file.", field="FILE")


def _refuse_folder(file: Path) -> None:
    if file.is_dir():
        raise errors.BadRequest(f"This is a folder: name the file in it, such as {file / EXAMPLE}.", field="FILE")


async def dump(access: Access, file: Path, *, server_major: int) -> Archive:
    """Write a consistent backup to `file` atomically, readable by its owner only.

    The file is read back completely before it is renamed to `file`. Raises BadRequest if `file` cannot be written,
    BackupFailed with the error output of the program that failed.
    """
    programs = _programs(server_major, access.environment)
    with _finished(file) as draft:
        arguments = ("--format=custom", f"--schema={tables.SCHEMA}", f"--lock-wait-timeout={LOCK_WAIT_S}s")
        await _run(programs / "pg_dump", *arguments, "--no-password", f"--file={draft}", environment=_libpq(access))
        archive = await describe(draft, access.environment, server_major=server_major)
        await _run(programs / "pg_restore", f"--file={os.devnull}", str(draft), environment=access.environment)
    return archive


async def describe(file: Path, environment: Mapping[str, str], *, server_major: int) -> Archive:
    """Read the description of a backup from its file. Raises BadRequest if it is not a backup of Stepwell."""
    wanted = [f"--table={name}" for name in ("alembic_version", "embedding_identity")]
    restore = _programs(server_major, environment) / "pg_restore"
    try:
        output = await _run(restore, "--data-only", *wanted, "--file=-", str(file), environment=environment)
    except errors.BackupFailed as error:
        raise errors.BadRequest(f"The file is not a readable backup: {error.message}", field="FILE") from error
    rows = {table: _row(columns, values) for table, columns, values in _TABLE_DATA.findall(output)}
    if not rows.get("alembic_version"):
        raise errors.BadRequest("The file is not a backup of a Stepwell database.", field="FILE")
    identity = rows.get("embedding_identity") or {}
    dimension = identity.get("dimension")
    return Archive(
        revision=rows["alembic_version"]["version_num"],
        model=identity.get("model"),
        dimension=int(dimension) if dimension else None,
        bytes=os.stat(file).st_size,
    )


async def load(access: Access, file: Path, *, server_major: int) -> None:
    """Replace the schema `stepwell` by the one in `file`, in one transaction.

    Raises BackupFailed with the error output of the program that failed; then nothing has changed.
    """
    programs = _programs(server_major, access.environment)
    script = ("--no-owner", "--file=-", str(file))
    unattended = ("--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1", "--output=/dev/null")
    async with (
        _started(programs / "pg_restore", *script, environment=access.environment) as reader,
        _started(programs / "psql", *unattended, environment=_libpq(access)) as writer,
    ):
        error_outputs = asyncio.gather(_error_output(reader), _error_output(writer))
        with suppress(BrokenPipeError, ConnectionResetError):
            await _send_script(reader, writer)
        read_error, write_error = await error_outputs
        if await reader.wait() or await writer.wait():
            # A failure of psql also makes pg_restore fail, so psql's error output comes first.
            raise errors.BackupFailed(f"The backup could not be restored: {write_error or read_error}")


async def _send_script(reader: Process, writer: Process) -> None:
    """Pipe pg_restore's output to psql in one transaction, committed only if pg_restore read the whole file."""
    assert reader.stdout
    assert writer.stdin
    before = f"BEGIN; SET LOCAL lock_timeout = '{LOCK_WAIT_S}s'; DROP SCHEMA IF EXISTS {tables.SCHEMA} CASCADE;\n"
    writer.stdin.write(before.encode())
    try:
        async for line in reader.stdout:
            if not line.startswith((_NEW_SETTING, distribution.SETTING)):
                writer.stdin.write(line)
            if line.startswith(b"COPY "):
                break
        while block := await reader.stdout.read(READ_BYTES):
            writer.stdin.write(block)
            await writer.stdin.drain()
        if await reader.wait() == 0:
            writer.stdin.write(b"\nCOMMIT;\n")
            await writer.stdin.drain()
    finally:
        writer.stdin.close()


async def target(database: transactions.Database) -> RestoreTarget:
    """The database into which a backup is to be restored. Raises DatabaseUnavailable."""
    async with database.shared() as connection:
        version = await connection.scalar(sa.text("SELECT current_setting('server_version_num')"))
        sessions = await connection.scalar(
            sa.text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = :role"),
            {"role": SERVICE_ROLE},
        )
        migrated = bool(await connection.scalar(sa.text("SELECT to_regclass('stepwell.alembic_version') IS NOT NULL")))
        users = await _count(connection, "tenants")
        keys = await _count(connection, "api_keys")
        return RestoreTarget(int(str(version)) // 10_000, migrated, users, keys, int(sessions or 0))


async def create_service_role(database: transactions.Database) -> bool:
    """Create the service's role and its restricted one if they do not exist; returns whether the first was created.

    Raises SchemaMismatch if the connected role may not create them.
    """
    async with database.shared() as connection:
        await connection.run_sync(roles.check_creation)
        created = [
            await _create_role(connection, role, rights)
            for role, rights in ((SERVICE_ROLE, SERVICE_RIGHTS), (RESTRICTED_ROLE, "NOLOGIN"))
        ]
        return created[0]


async def _create_role(connection: transactions.SharedTransaction, role: str, rights: str) -> bool:
    if await connection.scalar(sa.text("SELECT true FROM pg_roles WHERE rolname = :role"), {"role": role}):
        return False
    await connection.execute(sa.text(f"CREATE ROLE {role} {rights}"))
    return True


async def vacuum(dsn: str) -> None:
    """Collect the planner's statistics of restored tables, which are not part of a backup."""
    engine = engines.create(dsn, pool_size=1, max_overflow=0, isolation_level="AUTOCOMMIT")
    try:
        async with engine.connect() as connection:
            for table in tables.complete().sorted_tables:
                await connection.execute(sa.text(f"VACUUM (ANALYZE) {table.fullname}"))
    finally:
        await engine.dispose()


async def _count(connection: transactions.SharedTransaction, table: str) -> int:
    """The number of rows of a table; 0 if the table does not exist."""
    if not await connection.scalar(sa.text(f"SELECT to_regclass('{tables.SCHEMA}.{table}') IS NOT NULL")):
        return 0
    rows = sa.select(sa.func.count()).select_from(sa.table(table, schema=tables.SCHEMA))
    return int(await connection.scalar(rows) or 0)


def _programs(server_major: int, environment: Mapping[str, str]) -> Path:
    """The folder of programs at least as new as the server. Raises BackupFailed if there are none."""
    if server_major <= int(embedded_programs.MAJOR):
        return embedded_programs.installed()
    pg_dump = shutil.which("pg_dump", path=environment.get("PATH"))
    version = _major(pg_dump) if pg_dump else 0
    if pg_dump is None or version < server_major:
        installed = f"those on the PATH are {version}" if pg_dump else "there are none on the PATH"
        raise errors.BackupFailed(
            f"The server is Postgres {server_major}: pg_dump, pg_restore and psql {server_major} or newer are needed, "
            f"and {installed}. Install the Postgres {server_major} client programs."
        )
    return Path(pg_dump).parent


def _major(program: str) -> int:
    """The major version of a Postgres program; 0 if its output does not contain one."""
    output = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    match = re.search(r"\) (\d+)", output)
    return int(match[1]) if match else 0


def _libpq(access: Access) -> dict[str, str]:
    """The environment in which libpq connects to `access.dsn`, the password included."""
    url = make_url(engines.asyncpg_url(access.dsn))
    variables: dict[str, Any] = {
        "PGHOST": url.host,
        "PGPORT": url.port,
        "PGUSER": url.username,
        "PGDATABASE": url.database,
    }
    variables |= {_LIBPQ[name]: value for name, value in url.query.items() if name in _LIBPQ}
    variables["PGPASSWORD"] = url.password
    inherited = {name: value for name, value in access.environment.items() if name not in _EXCLUDED_VARIABLES}
    return inherited | {name: str(value) for name, value in variables.items() if value is not None}


@contextmanager
def _finished(file: Path) -> Iterator[Path]:
    """A private draft of `file` that is synced and renamed to `file` if the block ends without an error."""
    with _draft_of(file) as draft:
        yield draft
        try:
            _synchronise(draft)
            draft.replace(file)
            _synchronise(file.parent)
        except OSError as error:
            raise errors.BackupFailed(f"The backup could not be written to {file}: {error.strerror}.") from error


@contextmanager
def _draft_of(file: Path) -> Iterator[Path]:
    """An empty private file beside `file`, which is deleted when the block ends."""
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".part")
    except OSError as error:
        raise errors.BadRequest(f"The folder cannot be written: {error.strerror}.", field="FILE") from error
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _synchronise(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@asynccontextmanager
async def _started(program: Path, *arguments: str, environment: Mapping[str, str]) -> AsyncIterator[Process]:
    """A running program that is killed when the block ends."""
    process = await asyncio.create_subprocess_exec(
        str(program), *arguments, env={**environment, "LC_ALL": "C"}, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _run(program: Path, *arguments: str, environment: Mapping[str, str]) -> str:
    """The output of a program. Raises BackupFailed with its error output."""
    async with _started(program, *arguments, environment=environment) as process:
        output, error_output = await process.communicate()
        if process.returncode:
            raise errors.BackupFailed(f"{program.name} failed: {_last_lines(error_output)}")
        return output.decode(errors="replace")


async def _error_output(process: Process) -> str:
    assert process.stderr
    return _last_lines(await process.stderr.read())


def _last_lines(error_output: bytes) -> str:
    return "; ".join(error_output.decode(errors="replace").strip().splitlines()[-3:]) or "it gave no reason"


def _row(columns: str, values: str) -> dict[str, str]:
    """The first row of a table's COPY block; empty if the table is empty."""
    return dict(zip(columns.split(", "), values.splitlines()[0].split("\t"), strict=True)) if values else {}
