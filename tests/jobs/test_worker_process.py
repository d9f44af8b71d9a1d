"""`stepwell worker` runs queued jobs in a process of its own, until it is stopped."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from app import runtime
from app.entities import operations as entities
from app.entities.types import EntityDraft
from app.jobs import workers
from app.services import Services
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

ROOT = Path(__file__).parents[2]


async def test_a_worker_process_runs_queued_jobs_until_it_is_stopped(data_dir: Path) -> None:
    environ = {**os.environ, "STEPWELL_DATA_DIR": str(data_dir), "STEPWELL_LOG_JSON": "true"}
    async with runtime.open_database(Settings(data_dir=data_dir), pool_size=2) as db:
        draft = EntityDraft(type="person", name="Ana Silva")
        await entities.add([draft], "local", db=db, embedder=FakeEmbedder())
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "app", "worker", cwd=ROOT, env=environ, stderr=asyncio.subprocess.PIPE
        )
        assert worker.stderr is not None
        while b'"job_done"' not in await worker.stderr.readline():
            assert worker.returncode is None
        worker.send_signal(signal.SIGTERM)
        await worker.communicate()
        assert worker.returncode == 0
        never = workers.JobKind("relink", _never, queue="mentions")
        assert await workers.run_next(Services(db, FakeEmbedder()), [never], user_id="local") is None


async def _never(_run: workers.Run) -> int:
    raise AssertionError
