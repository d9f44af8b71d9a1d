"""Callers with the same key share one running call, which ends with the last of them."""

import asyncio

import pytest

from app.concurrency.single_flight import SingleFlight


class Call:
    """A call that runs until it is told to end, and counts how often it began and was cancelled."""

    def __init__(self) -> None:
        self.began = self.cancelled = 0
        self.end: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __call__(self) -> str:
        self.began += 1
        try:
            return await asyncio.shield(self.end)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


async def begun(flight: SingleFlight[str, str], call: Call, *keys: str) -> list[asyncio.Task[str]]:
    callers = [asyncio.create_task(flight.join(key, call)) for key in keys]
    for _ in range(3):
        await asyncio.sleep(0)
    return callers


async def test_callers_with_one_key_share_a_call_and_later_ones_begin_another() -> None:
    flight, call = SingleFlight[str, str](), Call()
    callers = await begun(flight, call, "a", "a", "b")
    assert call.began == 2
    call.end.set_result("done")
    assert await asyncio.gather(*callers) == ["done"] * 3
    assert await flight.join("a", call) == "done"
    assert call.began == 3


async def test_a_call_outlives_the_caller_that_began_it_and_is_cancelled_with_the_last() -> None:
    flight, call = SingleFlight[str, str](), Call()
    first, second = await begun(flight, call, "a", "a")
    first.cancel()
    await asyncio.wait([first])
    assert (call.began, call.cancelled) == (1, 0)
    second.cancel()
    await asyncio.wait([second])
    (third,) = await begun(flight, call, "a")
    assert (call.began, call.cancelled) == (2, 1)
    call.end.set_result("done")
    assert await third == "done"


async def test_a_failure_is_raised_to_every_caller() -> None:
    flight, call = SingleFlight[str, str](), Call()
    callers = await begun(flight, call, "a", "a")
    call.end.set_exception(ValueError("failed"))
    for caller in callers:
        with pytest.raises(ValueError, match="failed"):
            await caller
