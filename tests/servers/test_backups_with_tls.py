"""Backups of a server that requires TLS are written and restored, even into another major version."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import harness
import pytest
import test_supported_servers

from app import errors
from app.database import transactions
from app.database.schema import migration
from app.maintenance.commands import backup
from app.maintenance.store import backups as storage
from app.maintenance.store.backups import Access
from app.settings import environment
from benchmarks.fake_embedder import FakeEmbedder

EMBEDDER = FakeEmbedder()
EMBEDDING = EMBEDDER.model.name, EMBEDDER.model.dimension


async def stored(owner_dsn: str) -> int:
    async with transactions.connect(owner_dsn, pool_size=1) as owner:
        return len(await harness.Tenant(owner, EMBEDDER, "local").uris())


async def filled(owner_dsn: str) -> None:
    """Upgrade a database, and store more documents than fit into a pipe."""
    await migration.upgrade(owner_dsn, model=EMBEDDING[0], dimension=EMBEDDING[1])
    async with transactions.connect(owner_dsn, pool_size=2) as owner:
        tenant = harness.Tenant(owner, EMBEDDER, "local")
        await tenant.add_all({f"{number}.md": f"Copper lantern {number} " * 200 for number in range(40)})


async def major_of(address) -> int:
    """The major version of the server that other tests share too."""
    ((version,),) = await address.fetch("SELECT current_setting('server_version_num')::integer")
    return int(version) // 10_000


@pytest.fixture(scope="module")
async def source(debian) -> AsyncIterator[test_supported_servers.Database]:
    """A database with documents on the server that requires TLS."""
    async with test_supported_servers.on_debian(debian, "direct", name="near") as made:
        await filled(made.owner_dsn)
        yield made


@pytest.fixture(scope="module")
async def file(source, tmp_path_factory) -> Path:
    """A backup of it over TLS."""
    file = tmp_path_factory.mktemp("backup") / "a.dump"
    await backup.create(file, access=Access(source.owner_dsn, environment()))
    return file


async def test_a_backup_over_tls_is_restored_over_tls(debian, file):
    async with test_supported_servers.on_debian(debian, "direct", name="restored") as target:
        done = await backup.load(file, access=Access(target.owner_dsn, environment()), embedding=EMBEDDING)
        assert (done.archive.server_major, done.stems_differ) == (test_supported_servers.MAJOR, False)
        await storage.vacuum(target.owner_dsn)
        assert await stored(target.owner_dsn) == 40


async def test_a_restore_that_psql_refuses_ends_with_its_message(debian, file):
    async with test_supported_servers.on_debian(debian, "direct", schema="extensions") as target:
        restoring = backup.load(file, access=Access(target.owner_dsn, environment()), embedding=EMBEDDING)
        with pytest.raises(errors.BackupFailed, match=r"could not be restored: .* does not exist"):
            await asyncio.wait_for(restoring, 120)
        assert await stored(target.owner_dsn) == 0


async def test_a_backup_of_another_major_says_that_stems_differ(debian, new_database, tmp_path):
    source = await new_database()
    await filled(source.owner_dsn)
    await backup.create(tmp_path / "a.dump", access=Access(source.owner_dsn, environment()))
    async with test_supported_servers.on_debian(debian, "direct") as target:
        done = await backup.load(
            tmp_path / "a.dump", access=Access(target.owner_dsn, environment()), embedding=EMBEDDING
        )
        major = await major_of(source)
        assert (done.archive.server_major, done.stems_differ) == (major, major != test_supported_servers.MAJOR)
        assert await stored(target.owner_dsn) == 40


async def test_a_backup_through_a_socket_by_the_wheels_older_program_is_restored_on_the_embedded_server(
    debian, source, new_database, tmp_path
):
    own, target = {"PATH": str(tmp_path)}, await new_database()
    near = f"postgresql://{test_supported_servers.OWNER}@/near?host={debian.folder}&port={debian.port}"
    await backup.create(tmp_path / "a.dump", access=Access(near, own))
    done = await backup.load(tmp_path / "a.dump", access=Access(target.owner_dsn, own), embedding=EMBEDDING)
    major = test_supported_servers.MAJOR
    assert (done.archive.server_major, done.stems_differ) == (major, await major_of(target) != major)
    assert await stored(target.owner_dsn) == 40
