"""A few threads are shared between users, end their work when its caller is cancelled, and do not delay an exit."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from app.concurrency import offload
from app.concurrency.offload import Threads
from app.text import chunking
from app.text.structure import structure
from app.text.words import cleaning


def _begun(threads: Threads, user: str, work: Callable[[], object]) -> asyncio.Task[object]:
    async def run() -> object:
        offload.work_for(user)
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
