"""Builds the corpus of `load` in a process of its own; another checkout runs this file with its own code.

It reads its order from the JSON file that its argument names, and prints questions and keys as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from app import capability_registry, runtime
from app import settings as config
from app.access import keys
from app.cli import database_as_owner
from app.services import Services
from benchmarks.speed import benchmark, corpus, passages, vectors
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.owner import owning

QUESTIONS = 2_000


async def run(order: dict[str, Any]) -> dict[str, Any]:
    """Builds the corpus; returns distinct questions, and keys of the user with the corpus and of another one."""
    chunks, data_dir, texts = order["chunks"], Path(order["data_dir"]), passages.load(None)
    settings = config.load(data_dir=data_dir, log_level="error")
    async with runtime.open_services(settings) as services, database_as_owner.open_dsn(settings) as owner_dsn:
        async with owning(owner_dsn) as owner:
            await benchmark.ensure_corpus(Parameters(chunks, QUESTIONS, texts), owner, services, data_dir)
            nowhere = vectors.unit(np.ones((1, services.embedder.model.dimension)))
            asked = await corpus.questions(owner, nowhere, chunks=chunks, count=QUESTIONS, seed=2)
        heavy, light = [await _key(user, services) for user in (corpus.USER, corpus.OTHER_USER)]
    return {"questions": [" ".join(one.words) for one in asked], "heavy": heavy, "light": light}


async def _key(user_id: str, services: Services) -> str:
    grant = keys.Grant(("search",), name="load")
    return await keys.create(user_id, grant, db=services.owner or services.db, actor="load")


if __name__ == "__main__":
    capability_registry.register()
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.write("\n" + json.dumps(asyncio.run(run(given))) + "\n")
