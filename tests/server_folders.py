"""Makes temporary folders for the data of embedded servers, and kills these."""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import asyncpg
import psutil

from app.database.embedded import postgres
from app.database.embedded.postgres import EmbeddedPostgres

IN_MEMORY = Path("/dev/shm")
ENOUGH = 4_000_000_000
"""Free bytes of the file system in memory from which it is used: a container often has 64 MB."""


@contextmanager
def temporary() -> Iterator[Path]:
    """A folder that is removed afterwards; other accounts may traverse it, unlike pytest's folders.

    As root, Postgres runs under an account of its own. Where there is room, the folder is in memory: a new database
    takes a tenth of the time there.
    """
    has_room = IN_MEMORY.is_dir() and psutil.disk_usage(str(IN_MEMORY)).free >= ENOUGH
    with tempfile.TemporaryDirectory(prefix="stepwell-test-", dir=IN_MEMORY if has_room else None) as name:
        folder = Path(name).resolve()
        folder.chmod(0o711)
        yield folder


def kill(server: EmbeddedPostgres) -> None:
    """Kills every process of the server at once."""
    assert server.postmaster_pid is not None
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        postmaster = psutil.Process(server.postmaster_pid)
        for process in [*postmaster.children(recursive=True), postmaster]:
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)


async def fetch(server: EmbeddedPostgres, statement: str, *values: object) -> object:
    """The value of a statement that a superuser runs."""
    connection = await asyncpg.connect(server.dsn(user=postgres.OWNER, driver="postgresql"))
    try:
        return await connection.fetchval(statement, *values)
    finally:
        await connection.close()
