"""Recall of the vector leg after many changes, a VACUUM and a restart."""

import random
from typing import Any

import asyncpg
import server_folders
from harness import Tenant
from running_service import FULL

from app.database import transactions
from app.database.embedded import postgres
from app.database.transactions import Database
from app.documents.types import Upload
from benchmarks.fake_embedder import FakeEmbedder

STORED, CHANGED, ASKED = (5_000, 1_000, 50) if FULL else (200, 50, 10)
WORDS = [f"w{number}" for number in range(400)]
EXACT = """
SELECT c.chunk_id FROM stepwell.chunks AS c JOIN stepwell.embeddings AS e USING (user_id, chunk_no)
WHERE c.user_id = $1 ORDER BY CAST(e.embedding AS text)::vector <=> $2::vector, c.chunk_no LIMIT 20
"""


def _note(number: int, version: int) -> Upload:
    words = random.Random(f"{number}.{version}").choices(WORDS, k=12)
    return Upload(" ".join(words), uri=f"note-{number}")


async def _recall(tenant: Tenant, server: postgres.EmbeddedPostgres) -> float:
    """The share of the twenty truly nearest that the vector leg finds, over a few questions."""
    owner = await asyncpg.connect(server.dsn(user=postgres.OWNER, driver="postgresql"))
    found = 0
    for number in range(ASKED):
        text = " ".join(random.Random(f"question {number}").choices(WORDS, k=6))
        vector = str(await FakeEmbedder().embed_query(text))
        nearest = {row["chunk_id"] for row in await owner.fetch(EXACT, tenant.user_id, vector)}
        answer = await tenant.ask(text, mode="semantic", limit=20, explain=True)
        assert answer.explain is not None
        assert answer.explain["vector_plan"] == "hnsw"
        found += len(nearest & {hit.candidate.chunk_id for hit in answer.hits})
    await owner.close()
    return found / (20 * ASKED)


async def _change(tenant: Tenant, server: postgres.EmbeddedPostgres) -> None:
    await tenant.many([_note(number, 1) for number in range(CHANGED)])
    gone = [f"note-{number}" for number in range(CHANGED, 2 * CHANGED)]
    delete = "DELETE FROM stepwell.documents WHERE user_id = $1 AND uri = ANY($2)"
    await server_folders.fetch(server, delete, tenant.user_id, gone)
    await server_folders.fetch(server, "VACUUM ANALYZE stepwell.embeddings")


def _connected(server: postgres.EmbeddedPostgres) -> Database:
    return transactions.connect(server.service_dsn, pool_size=4, pool_wait_s=30)


async def test_recall_does_not_suffer_from_changes_a_vacuum_and_a_restart(own_server: Any, by_graph: None) -> None:
    tenant = Tenant(_connected(own_server), user_id="local")
    await tenant.many([_note(number, 0) for number in range(STORED)])
    before = await _recall(tenant, own_server)
    await _change(tenant, own_server)
    changed = await _recall(tenant, own_server)
    await tenant.db.close()
    await own_server.stop()
    await own_server.start()
    tenant.db = _connected(own_server)
    restarted = await _recall(tenant, own_server)
    await tenant.db.close()
    print(f"recall@20 {before:.3f}, after changes {changed:.3f}, after a restart {restarted:.3f}")
    assert min(changed, restarted) >= before - 0.01
    assert before >= 0.95
