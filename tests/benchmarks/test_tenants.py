"""Users of very different size are built, asked in every form and checked for their plans."""

from __future__ import annotations

import asyncpg
import numpy as np

from app.pipelines.running.services import Services
from app.store.search import recall
from benchmarks.speed import texts
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.owner import owning
from benchmarks.tenants import tenants
from benchmarks.tenants.tenants import TenantCorpus

PASSAGES = [f"{place} {text}" for place, text in enumerate(texts.chunks(40, np.random.default_rng(3)))]
CORPUS = TenantCorpus(users=2, chunks=20, large=150, parameters=Parameters(20, 2, PASSAGES))


async def test_both_kinds_are_timed_in_turns_and_at_once_and_other_plans_are_reported(
    address, database, embedder, owner: asyncpg.Connection, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(recall, "EXACT_FACTOR", 0.0)
    for exact_floor in (100, 4_000):
        monkeypatch.setattr(recall, "EXACT_FLOOR", exact_floor)
        async with owning(address.owner_dsn) as owning_all:
            found = await tenants.run(CORPUS, owning_all, Services(database, embedder), tmp_path)
        assert found.in_turns.keys() == found.at_once.keys()
        assert len(found.in_turns) == 6
        wrong = {problem.partition(": ")[2] for problem in found.violations}
        assert ("the vector plan is exact" in wrong) == (exact_floor > CORPUS.large)
        # The planner prefers a sort to a graph of so few vectors.
        assert wrong <= {"the vector plan is exact", "ix_embeddings_embedding is not used"}
    held = await owner.fetch("SELECT user_id, count(*) FROM stepwell.embeddings GROUP BY 1 ORDER BY 1")
    assert [tuple(row) for row in held] == [("bench", 150), ("tenant-0", 20), ("tenant-1", 20)]
