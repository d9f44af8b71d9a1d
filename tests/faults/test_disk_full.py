"""A full disk rejects writes with 507 and does not affect searches; writes work again once there is space."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import harness
import httpx
import pytest
import running_service
import sqlalchemy as sa
from requests_of import search_request
from running_service import DOCUMENTS, SEARCH, until

from app import errors, runtime
from app.database import pools, transactions
from app.database.embedded import postgres
from app.database.schema import inspection, migration
from app.documents.storing import document_writes, ingest
from app.documents.types import Upload
from app.models.local.minilm import MODEL
from app.search import search
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

DISK_BYTES = 700_000_000
NOTE = {"title": "Lime", "content": "Lime mortar sets slowly."}


FAILS = "DO $$ BEGIN RAISE EXCEPTION 'could not extend file: {}' USING ERRCODE = '{}'; END $$"


@pytest.mark.parametrize(("reason", "state"), [("No space left on device", "53100"), ("Disk quota exceeded", "XX000")])
async def test_a_write_on_a_full_disk_is_507_and_a_search_with_temporary_files_is_503(database, reason, state):
    fails = sa.text(FAILS.format(reason, state))
    with pytest.raises(Exception, match=r"disk is full\. Make room") as stored:
        async with database.writing("somebody") as writing:
            await writing.execute(fails)
    assert (stored.value.status, stored.value.code) == (507, "disk_full")
    with pytest.raises(Exception, match="temporary space") as searched:
        async with database.reading("somebody") as reading:
            await reading.execute(fails)
    assert searched.value.status == 503


async def test_a_list_that_fills_the_disk_is_not_said_to_be_lost_and_can_be_sent_again(address, monkeypatch):
    written, put = [], document_writes.put

    async def note(*given, **options):
        written.append(given)
        return await put(*given, **options)

    monkeypatch.setattr(document_writes, "put", note)
    opened = transactions.connect(address.service_dsn, pool_size=2, hooks=pools.ServerHooks(is_full=lambda: written))
    notes = [{"content": f"Lime {number}.", "uri": f"lime {number}"} for number in range(100)]
    settings, services = Settings(auth="none"), await harness.services(opened)
    async with harness.running(settings, services) as app, harness.client(app) as client:
        refused = await client.post(DOCUMENTS, json=notes)
        assert (refused.status_code, refused.json()["code"]) == (507, "disk_full"), refused.text
        assert "nothing" not in refused.json()["detail"]
        opened.pool.hooks = pools.ServerHooks()
        again = (await client.post(DOCUMENTS, json=notes)).json()
        assert again["added"] + again["unchanged"] == 100
        assert again["unchanged"] > 0
    await opened.close()


async def test_writes_are_refused_before_the_disk_is_full_and_accepted_again_once_there_is_space(address):
    full = False

    class Embedder(FakeEmbedder):
        async def embed_documents(self, texts):
            assert not full, "nothing is embedded that cannot be stored"
            return await super().embed_documents(texts)

    opened = transactions.connect(address.service_dsn, pool_size=2, hooks=pools.ServerHooks(is_full=lambda: full))
    services = await harness.services(opened, Embedder())
    async with harness.running(Settings(auth="none"), services) as app, harness.client(app) as client:
        stored = (await client.post(DOCUMENTS, json={**NOTE, "uri": "kept"})).json()
        full = True
        url = f"{DOCUMENTS}/{stored['document_id']}"
        for refused in (
            await client.post(DOCUMENTS, json={"content": "Cement sets fast."}),
            await client.put(url, json={"content": "Cement sets fast."}),
            await client.delete(url),
            await client.post("/api/rag/entities", json=[{"type": "material", "name": "Lime"}]),
        ):
            assert (refused.status_code, refused.json().get("code")) == (507, "disk_full"), refused.text
        found = await client.post(SEARCH, json={"query": "lime mortar"})
        assert found.json()["results"][0]["uri"] == "kept"
        full = False
        assert (await client.put(url, json={"content": "Cement sets fast."})).status_code == 200
    await opened.close()


@contextmanager
def small_disk(size: int = DISK_BYTES) -> Iterator[Path]:
    """A filesystem of `size` bytes in memory; skips the test where this user may not mount one."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root may mount a small filesystem")
    with tempfile.TemporaryDirectory(prefix="stepwell-full-") as folder:
        Path(folder).chmod(0o755)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", folder], capture_output=True, text=True
        )
        if mounted.returncode:
            pytest.skip(f"a small filesystem cannot be mounted here: {mounted.stderr.strip()}")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill(ballast: Path, leave: int) -> None:
    """Take all space on the disk but `leave` bytes."""
    free = inspection.free_bytes(ballast.parent) - leave
    with ballast.open("ab") as file:
        os.posix_fallocate(file.fileno(), file.tell(), free)


async def test_a_search_starts_the_embedded_server_although_the_disk_is_full():
    with small_disk(320_000_000) as disk:
        settings = Settings(auth="none", data_dir=disk / "data")
        async with runtime.open_services(settings) as services:
            await ingest.store_one(Upload("Lime mortar sets slowly."), "local", services)
        fill(disk / "ballast", leave=0)
        async with runtime.open_services(settings) as services:
            assert (await search.run(search_request("lime mortar"), "local", services)).hits
            with pytest.raises(errors.DiskFull):
                await ingest.store_one(Upload("Cement sets fast."), "local", services)


@pytest.mark.skipif(not running_service.FULL, reason="mounts a filesystem and starts a service: part of `make faults`")
async def test_a_service_on_a_full_disk_answers_searches_and_recovers_once_there_is_space():
    with small_disk() as disk:
        ballast = disk / "ballast"
        async with running_service.process(STEPWELL_DATA_DIR=str(disk / "data")) as (started, client):
            await running_service.answers(started, client)
            assert (await client.post(DOCUMENTS, json=NOTE)).status_code == 201
            fill(ballast, leave=inspection.KEPT_FREE_BYTES // 2)
            await _refuses_writes_and_answers_searches(client)
            # Nothing is left for the write-ahead log either: the server itself may stop now.
            fill(ballast, leave=0)
            await _refuses_writes_and_answers_searches(client)
            ballast.unlink()

            async def writes() -> bool:
                return (await client.post(DOCUMENTS, json={"content": "Cement sets fast."})).status_code == 201

            await until(writes)
            found = await client.post(SEARCH, json={"query": "lime mortar"})
            assert found.json()["results"], found.text


async def _refuses_writes_and_answers_searches(client: httpx.AsyncClient) -> None:
    for number in range(20):
        refused = await client.post(DOCUMENTS, json={"content": f"Cement number {number} sets fast."})
        assert (refused.status_code, refused.json()["code"]) == (507, "disk_full"), refused.text
        found = await client.post(SEARCH, json={"query": f"lime mortar {number}"})
        assert (found.status_code, len(found.json()["results"])) == (200, 1), found.text


@pytest.mark.skipif(not running_service.FULL, reason="mounts a filesystem and fills it: part of `make faults`")
async def test_a_server_whose_disk_fills_during_writes_recovers_every_acknowledged_write():
    with small_disk() as disk:
        async with postgres.EmbeddedPostgres(disk / "data", tuning=postgres.SMALL) as server:
            await migration.upgrade(server.owner_dsn, model=MODEL.name, dimension=MODEL.dimension)
            # No threshold: the writes themselves meet the end of the disk.
            hooks = pools.ServerHooks(server.ensure_running)
            tenant = harness.Tenant(transactions.connect(server.service_dsn, pool_size=2, hooks=hooks))
            fill(disk / "ballast", leave=30_000_000)
            text, stored = " ".join(f"word{number}" for number in range(20_000)), 0
            while await _is_stored(tenant, f"Lime mortar {stored}. {text}", f"note-{stored}"):
                stored += 1
            assert 0 < stored < 1_000, "the disk never filled"
            (disk / "ballast").unlink()
            await until(lambda: _is_stored(tenant, "Cement sets fast.", "after"))
            assert {f"note-{number}" for number in range(stored)} <= set(await tenant.uris())
            assert (await tenant.ask("lime mortar")).hits
            await tenant.db.close()


async def _is_stored(tenant: harness.Tenant, text: str, uri: str) -> bool:
    try:
        await tenant.add(text, uri)
    except (errors.DiskFull, errors.DatabaseUnavailable, errors.EmbeddedServerError):
        return False
    return True
