"""Stores documents in a process of its own and measures it; another checkout runs this file with its own code.

The file imports nothing of its package. It reads its order from the JSON file that its argument names, and prints its
figures as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

from app import capability_registry, runtime
from app import settings as config
from app.documents.storing import ingest
from app.documents.types import Upload
from app.services import Services


def _uploads(rows: Sequence[dict[str, Any]]) -> list[Upload]:
    return [
        Upload(**{**row, "created_at": row["created_at"] and datetime.fromisoformat(row["created_at"])}) for row in rows
    ]


async def _store(uploads: Sequence[Upload], user_id: str, services: Services) -> int:
    """Stores the uploads of a user; returns the number of their chunks."""
    return sum([one.result().chunk_count async for one in ingest.store(uploads, user_id, services)])


def _postgres_s(data_dir: Path) -> float:
    """The CPU time of Postgres with all its processes so far, ended ones included."""
    (file,) = data_dir.rglob("postmaster.pid")
    server = psutil.Process(int(file.read_text().split()[0]))
    used = sum(server.cpu_times()[:4])
    for child in server.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            used += sum(child.cpu_times()[:2])
    return float(used)


async def run(order: dict[str, Any]) -> dict[str, float]:
    """Returns the number of chunks, and the seconds and CPU seconds of this process and of Postgres."""
    data_dir, user_id = Path(order["data_dir"]), f"storing-{uuid4()}"
    async with runtime.open_services(config.load(data_dir=data_dir, log_level="error")) as services:
        await _store(_uploads(order["first"]), user_id, services)
        uploads = _uploads(order["uploads"])
        gc.collect()
        gc.freeze()  # as the service does when it starts
        began, cpu, postgres = time.perf_counter(), time.process_time(), _postgres_s(data_dir)
        chunks = await _store(uploads, user_id, services)
        times = time.perf_counter() - began, time.process_time() - cpu, _postgres_s(data_dir) - postgres
    return dict(zip(("chunks", "wall_s", "cpu_s", "postgres_s"), (chunks, *times), strict=True))


if __name__ == "__main__":
    capability_registry.register()
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.write(json.dumps(asyncio.run(run(given))) + "\n")
