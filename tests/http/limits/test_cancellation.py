"""Cancels a request at every point where it waits, and looks for what it leaves behind."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from typing import Any

import pytest
from api_caller import Caller
from fastapi import FastAPI
from raw_connections import until

from app.concurrency.limiter import Limiter
from app.http import spooling

LARGE = json.dumps({"content": "", "padding": spooling.IN_MEMORY * "x"}).encode()
REQUESTS = {
    "search": ("POST", "/api/rag/search", b'{"query": "lime mortar"}'),
    "several hops": ("POST", "/api/rag/search/multihop", b'{"query": "lime mortar"}'),
    "listing": ("GET", "/api/rag/documents", b""),
    "write": ("POST", "/api/rag/documents", b'{"content": "Lime mortar.", "uri": "lime"}'),
    "body on disk": ("POST", "/api/rag/documents", LARGE),
}


class Cancelled:
    """Awaits some work and cancels the task where the work waits for the `point`-th time.

    `late`: as soon as what it waits for has come, and before the task goes on; else at once.
    """

    def __init__(self, work: Awaitable[None], point: int, *, late: bool) -> None:
        self._work, self._point, self._late, self.waits = work, point, late, 0

    def __await__(self) -> Generator[Any, Any, None]:
        task, steps = asyncio.current_task(), self._work.__await__()
        assert task is not None
        advance: Callable[[], Any] = lambda: steps.send(None)  # noqa: E731
        while True:
            try:
                future = advance()
            except StopIteration:
                return
            self.waits += 1
            if self.waits == self._point and self._late and future is not None:
                future.add_done_callback(lambda _future: task.cancel())  # before the callback of the task
            elif self.waits == self._point:
                asyncio.get_running_loop().call_soon(task.cancel)
            try:
                yield future
                advance = lambda: steps.send(None)  # noqa: E731
            except BaseException as error:
                advance = lambda error=error: steps.throw(error)  # type: ignore[misc]  # noqa: E731


def left(app: FastAPI) -> dict[str, int]:
    """The places, connections and files in use."""
    limiters = {name: one for name, one in app.state._state.items() if isinstance(one, Limiter)}
    found = {name: one.running + one.waiting + one._released for name, one in limiters.items()}
    files = sum("(deleted)" in _target(one) for one in os.listdir("/proc/self/fd"))
    return {**found, "connections": app.state.services.db.in_use(), "files": files}


def left_since(app: FastAPI, before: dict[str, int]) -> dict[str, int]:
    """What is in use more than before."""
    return {kind: count for kind, count in left(app).items() if count > before[kind]}


def _target(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except FileNotFoundError:  # another thread has closed it
        return ""


@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize("name", REQUESTS)
async def test_a_request_that_is_cancelled_anywhere_leaves_nothing(
    app: FastAPI, caller: Caller, name: str, late: bool
) -> None:
    method, path, body = REQUESTS[name]
    headers = {"host": "localhost", "content-type": "application/json", "content-length": str(len(body))}
    headers |= {"authorization": f"Bearer {caller.key}", "idempotency-key": name.replace(" ", "")}
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "root_path": "", "scheme": "http"}
    scope["headers"] = [(one.encode(), value.encode()) for one, value in headers.items()]

    async def request() -> None:
        parts = [body[start : start + 500_000] for start in range(0, len(body), 500_000)] or [b""]

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0 if parts else 60)
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        await app(dict(scope), receive, lambda _message: asyncio.sleep(0))

    before, point, waits = left(app), 0, 1
    while waits >= point:
        point += 1
        cancelled = Cancelled(request(), point, late=late)

        async def run(work: Cancelled = cancelled) -> None:
            await work

        await asyncio.gather(asyncio.create_task(run()), return_exceptions=True)
        with suppress(TimeoutError):
            await until(lambda: not left_since(app, before))
        assert not left_since(app, before), f"cancelled at {point}"
        waits = cancelled.waits
    assert point > 3
