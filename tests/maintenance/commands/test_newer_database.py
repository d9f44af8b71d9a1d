"""Every command says in one sentence that a newer version has upgraded the database."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import server_folders

from app import __version__, capability
from app.database.embedded import postgres
from app.database.schema import migration

LINES = [
    *("serve --port 0", "worker", "ingest pyproject.toml", "search lime", "mcp", "repair", "doctor"),
    *(f"{name} list" for name in ("documents", "sources", "jobs", "keys", "users")),
    *("db upgrade", "db check"),
]
COMMANDS = [line for line in LINES if line.split()[0] in capability.commands()]


@pytest.fixture(scope="module")
def newer(data_dir: Path) -> Iterator[None]:
    """The embedded database at a revision that this version does not know."""
    asyncio.run(_set_revision(data_dir, None))
    asyncio.run(_set_revision(data_dir, "0099"))
    yield
    asyncio.run(_set_revision(data_dir, migration.head()))


async def _set_revision(data_dir: Path, revision: str | None) -> None:
    async with postgres.EmbeddedPostgres(data_dir) as server:
        if revision is None:
            await migration.upgrade(server.owner_dsn, model="fake", dimension=64)
            return
        await server_folders.fetch(server, "UPDATE stepwell.alembic_version SET version_num = $1", revision)


@pytest.mark.usefixtures("newer", "on_embedded")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_names_both_versions_and_the_way_out(stepwell, command: str) -> None:
    ran = stepwell(*command.split())
    assert ran.code == 1
    said = " ".join((ran.err + ran.out).replace("│", " ").split())
    assert f"database to revision 0099, which this version ({__version__}, revision {migration.head()})" in said
    assert "install the newer version, or restore a backup of an earlier revision." in said
    assert "Traceback" not in said
