"""Work on large inputs runs outside the event loop."""

import gc
import time
from collections.abc import Awaitable

from harness import Tenant

from app.search import merge_lists
from app.search.merge_lists import RankedList, RankedListHit, RerankRequest
from app.services import Services

LOOP_SHARE = 0.25
"""Largest share of the CPU time that the event loop's thread may use while large work runs."""


async def loop_share(work: Awaitable[object]) -> float:
    """The share of this process's CPU time that the event loop's own thread uses for some work."""
    # Collections of garbage take time that depends on every object of the test process.
    gc.disable()
    try:
        whole, own = time.process_time(), time.thread_time()
        await work
        return (time.thread_time() - own) / (time.process_time() - whole)
    finally:
        gc.enable()


async def test_selecting_among_long_texts_leaves_the_event_loop_free(tenant: Tenant) -> None:
    texts = [" ".join(f"w{(index * 37 + word) % 20_000}" for word in range(1_500)) for index in range(200)]
    hits = [RankedListHit(chunk_id=str(index), content=text) for index, text in enumerate(texts)]
    merging = RerankRequest(lists=[RankedList(name="all", hits=hits)], limit=200, mmr=True)
    merged: list[merge_lists.MergeResult] = []

    async def merge() -> None:
        merged.append(await merge_lists.run(merging, tenant.user_id, Services(tenant.db, tenant.embedder)))

    # A first use opens connections and imports modules on the loop's thread; the best of three shows the work itself.
    assert min([await loop_share(merge()) for _ in range(3)]) < LOOP_SHARE
    assert sorted(int(hit.hit.chunk_id) for hit in merged[0].hits) == list(range(200))
