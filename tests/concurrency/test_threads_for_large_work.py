"""Large work leaves the event loop free. A few threads are shared by users, heed cancellation and delay no exit."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable

import pytest
from harness import Tenant

from app.concurrency import offload
from app.concurrency.offload import Threads
from app.search import sent_lists
from app.search.sent_lists import RankedList, RankedListHit, RerankRequest
from app.services import Services
from app.text import chunking
from app.text.structure import structure
from app.text.words import cleaning

LOOP_SHARE = 0.25
"""Largest share of the CPU time that the event loop's thread may use while large work runs."""


def _begun(threads: Threads, user: str, work: Callable[[], object]) -> asyncio.Task[object]:
    async def run() -> object:
        offload.set_user(user)
        return await threads.run(work)

    return asyncio.create_task(run())


async def test_cancelled_work_is_left_out_and_what_has_begun_keeps_its_thread_to_its_end() -> None:
    threads, release, order = Threads(1, of_user=1), threading.Event(), list[str]()
    began = threading.Event()
    first = _begun(threads, "a", lambda: (began.set(), release.wait(), order.append("first")))
    await asyncio.to_thread(began.wait)
    waiting = [_begun(threads, user, lambda n=user: order.append(n)) for user in "bcd"]
    await asyncio.sleep(0)
    for left in (first, waiting[1]):
        left.cancel()
    await asyncio.wait([first, waiting[1]])
    assert order == []
    release.set()
    await asyncio.gather(waiting[0], waiting[2])
    assert order == ["first", "b", "d"]


async def test_work_for_which_no_thread_can_be_started_fails_and_keeps_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = Threads(2, of_user=1)

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(3):
            with pytest.raises(RuntimeError):
                await threads.run(int)
    async with asyncio.timeout(10):
        assert [await threads.run(int) for _ in range(3)] == [0, 0, 0]


TEXT = "a\x00b é\n\nc::\n\n  d\n\n# e\n"
PASSES: dict[str, Callable[[], object]] = {
    "cleaning": lambda: cleaning.clean(TEXT),
    "pages": lambda: cleaning.clean_pages(TEXT, [0, 5]),
    "structure": lambda: structure.blocks(TEXT),
    "chunking": lambda: chunking.split(TEXT),
}


@pytest.mark.parametrize("name", PASSES)
async def test_every_pass_over_a_text_ends_when_its_caller_is_cancelled(name: str) -> None:
    began, ended = threading.Event(), threading.Event()

    def endless() -> None:
        try:
            while True:
                PASSES[name]()
                began.set()
        finally:
            ended.set()

    running = asyncio.create_task(offload.run_stoppable(offload.LARGE, endless))
    await asyncio.to_thread(began.wait)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(ended.wait, 30)


def test_a_process_ends_while_its_threads_work() -> None:
    script = (
        "import asyncio, threading\n"
        "from app.concurrency import offload\n"
        "async def main():\n"
        "    for run in (offload.run_stoppable(offload.LARGE, threading.Event().wait),\n"
        "                offload.run(offload.INLINE + 1, threading.Event().wait)):\n"
        "        task = asyncio.create_task(run)\n"
        "        await asyncio.sleep(0)\n"
        "        task.cancel()\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0


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
    merged: list[sent_lists.MergeResult] = []

    async def merge() -> None:
        merged.append(await sent_lists.run(merging, tenant.user_id, Services(tenant.db, tenant.embedder)))

    # A first use opens connections and imports modules on the loop's thread; the best of three shows the work itself.
    assert min([await loop_share(merge()) for _ in range(3)]) < LOOP_SHARE
    assert sorted(int(hit.hit.chunk_id) for hit in merged[0].hits) == list(range(200))
