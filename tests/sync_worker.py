"""Runs the jobs of sources and documents with the fake embedder until it is killed: `python sync_worker.py DSN GROUP`.

It stores progress often, so that it can be killed at many points.
"""

from __future__ import annotations

import asyncio
import sys

from app import capabilities
from app.database import transactions
from app.documents.storing import large_documents
from app.jobs import workers
from app.services import Services
from app.sources import source_sync
from benchmarks.fake_embedder import FakeEmbedder


async def _work(dsn: str) -> None:
    services = Services(transactions.connect(dsn, pool_size=4, pool_wait_s=30), FakeEmbedder())
    await workers.run_forever(services, [source_sync.KIND, *large_documents.KINDS])


if __name__ == "__main__":
    capabilities.register()
    source_sync.GROUP = int(sys.argv[2])
    large_documents.CHUNKS = 10
    workers.IDLE_S = 0.05
    asyncio.run(_work(sys.argv[1]))
