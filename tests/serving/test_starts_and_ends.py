"""Tests how the processes of the service begin and end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from app import main, runtime
from app.access.key_uses import KeyUses
from app.jobs import workers
from app.serving import commands, http_process
from app.settings import Settings


async def test_services_are_closed_where_ctrl_c_interrupts_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    states, begun = [], asyncio.Event()

    @asynccontextmanager
    async def open_services(*_: object, **__: object) -> AsyncIterator[SimpleNamespace]:
        states.append("opened")
        try:
            yield SimpleNamespace(local_token="")
        finally:
            await asyncio.sleep(0)
            states.append("closed")

    async def warm_up(*_: object, **__: object) -> None:
        begun.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(runtime, "open_services", open_services)
    monkeypatch.setattr(http_process, "prepare", warm_up)
    starting = asyncio.create_task(http_process._alone(Settings()))
    await begun.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert states == ["opened", "closed"]


async def test_a_worker_whose_work_fails_ends_with_the_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def open_services(*_: object, **__: object) -> AsyncIterator[None]:
        yield

    async def fail(_services: object) -> None:
        raise RuntimeError("no such function")

    monkeypatch.setattr(runtime, "open_services", open_services)
    monkeypatch.setattr(workers, "run_forever", fail)
    with pytest.raises(RuntimeError):
        await commands._work(Settings())


async def test_work_in_the_background_that_fails_is_logged_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_services: object) -> None:
        raise RuntimeError("no such function")

    async def idle() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(workers, "run_forever", fail)
    state = SimpleNamespace(metrics=SimpleNamespace(lagged=print), key_uses=KeyUses(), settings=Settings())
    services = SimpleNamespace(db=SimpleNamespace(reads=SimpleNamespace(watch=idle)))
    async with main._background_workers(SimpleNamespace(state=state), services):
        await asyncio.sleep(0.01)
        assert [one.message for one in caplog.records] == ["background work ended"]
    assert len(caplog.records) == 1, "to be cancelled at the end is no failure"
