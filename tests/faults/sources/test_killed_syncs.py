"""Nothing is lost or doubled when services and Postgres are killed at random points of a synchronisation.

STEPWELL_FAULTS=full kills each 20 times during the synchronisation of 2,000 files.
"""

import faulthandler
import random
from functools import partial
from pathlib import Path
from uuid import UUID

import forked_service
import pytest
import running_service
import server_folders
import source_folder
from harness import Tenant

from app.database import pools, transactions
from app.database.embedded import postgres
from app.derived_row_repairs import Damage
from app.jobs import operations as job_operations
from app.maintenance import repair
from app.sources import operations as sources
from app.sources import source_sync
from app.text.names import metadata_names

KILLS, FILES = (20, 2_000) if running_service.FULL else (1, 20)
DONE = "SELECT coalesce(CAST(progress->>'done' AS integer), 0) FROM stepwell.jobs WHERE job_id = $1"
EXPIRE = "UPDATE stepwell.jobs SET leased_until = now(), run_at = now() WHERE job_id = $1 AND status <> 'done'"


def serve(dsn: str, port: int, roots: tuple[Path, ...]) -> None:
    """Serves with small groups of files: their progress is stored often."""
    source_sync.GROUP = 2
    forked_service.serve(dsn, port, roots)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path.resolve()


async def test_a_synchronisation_survives_killed_services_and_a_killed_database(own_server, folder) -> None:
    if running_service.FULL:
        faulthandler.cancel_dump_traceback_later()  # it takes longer than other tests may
    chance = random.Random(11)
    hooks = pools.ServerHooks(own_server.ensure_running)
    database = transactions.connect(own_server.service_dsn, pool_size=4, pool_wait_s=30, hooks=hooks)
    tenant = Tenant(database)
    paths = source_folder.fill(folder, FILES, kinds=("md", "txt", "csv", "html"))
    added = await source_folder.add(tenant, folder)
    await source_folder.work(tenant)
    changed = source_folder.disturb(folder, paths, chance)
    job_id = await sources.sync(added.source.source_id, tenant.user_id, db=database)
    total = sum(changed.counts.values()) - changed.counts["unchanged"]
    points = sorted(chance.sample(range(1, total - 4), 2 * KILLS))
    victims = ["service", "postgres"] * KILLS
    async with forked_service.forked_service(own_server.service_dsn, serve=serve) as service:
        for point, victim in zip(points, victims, strict=True):
            await running_service.until(partial(_has_done, own_server, job_id, point))
            if victim == "service":
                await service.kill()
            else:
                server_folders.kill(own_server)
            await own_server.ensure_running()
            if victim == "service":
                await service.start()
            await server_folders.fetch(own_server, EXPIRE, job_id)
        await running_service.until(lambda: _is_done(tenant, job_id))
    state = await job_operations.get(job_id, tenant.user_id, db=database)
    assert source_folder.counts(state) == dict(changed.counts)
    assert state.attempts > KILLS
    fresh = Tenant(database)
    await source_folder.synced(fresh, await source_folder.add(fresh, folder))
    assert await source_folder.stored(tenant) == await source_folder.stored(fresh)
    assert (await repair.check(tenant.user_id, db=database, keys=metadata_names.KEYS)).damage == Damage()
    await database.close()


async def _has_done(server: postgres.EmbeddedPostgres, job_id: UUID, files: int) -> bool:
    return int(await server_folders.fetch(server, DONE, job_id)) >= files


async def _is_done(tenant: Tenant, job_id: UUID) -> bool:
    return (await job_operations.get(job_id, tenant.user_id, db=tenant.db)).is_final
