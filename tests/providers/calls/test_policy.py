"""Calls of remote models end at their deadline, are retried within limits, and leave room for queries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from app.errors import BadEmbedding, ProviderError
from app.providers.calls import breaker, limits, policy, scope
from app.providers.calls.breaker import NotCalled, ProviderDown, ProviderModel
from app.providers.calls.limits import ConcurrentCalls, RequestRate, RetryBudget
from app.providers.calls.policy import CallLimits, CallPolicy

Work = Callable[[], Awaitable[str]]


@pytest.fixture(autouse=True)
def _no_random_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "FIRST_WAIT_S", 0.0)


def _policy(timeout_s: float = 30.0, **given: int) -> CallPolicy:
    return CallPolicy(ProviderModel("embedder", "openai", "tiny"), CallLimits(timeout_s, **given))


class Calls:
    """Work that raises each of `failures` once and then answers."""

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)
        self.count = 0

    async def __call__(self) -> str:
        self.count += 1
        if self._failures:
            raise self._failures.pop(0)
        return "answer"


async def _hang() -> str:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("failure", [ProviderDown("500"), ProviderDown("429", pause_s=0.01), BadEmbedding("NaN")])
async def test_a_failure_of_the_provider_is_retried_twice(failure: Exception) -> None:
    calls = Calls(failure, failure)
    assert await _policy().call(calls) == "answer"
    with pytest.raises(type(failure)):
        await _policy().call(Calls(*[failure] * 3))
    assert calls.count == 3


@pytest.mark.parametrize("failure", [ProviderError("400"), ProviderDown("401", fault="key")])
async def test_a_failure_that_a_retry_would_not_correct_is_not_retried(failure: Exception) -> None:
    calls = Calls(failure, failure)
    for run in (_policy().call, _policy().bulk):
        with pytest.raises(type(failure)):
            await run(calls)
    assert calls.count == 2


async def test_unusable_vectors_are_computed_three_times_at_most_in_bulk_too() -> None:
    calls = Calls(*[BadEmbedding("NaN")] * 9)
    with pytest.raises(BadEmbedding):
        await _policy().bulk(calls)
    assert calls.count == policy.MAX_ATTEMPTS


async def test_a_pause_beyond_the_deadline_is_not_waited_for_and_the_provider_not_called_again() -> None:
    called = _policy()
    calls = Calls(ProviderDown("429", pause_s=40.0))
    for error in (ProviderDown, NotCalled):
        with pytest.raises(error):
            await called.call(calls)
    assert calls.count == 1


async def test_the_deadline_of_the_request_ends_a_call_before_the_timeout_of_the_provider() -> None:
    called = _policy(timeout_s=3_600.0)
    for run in (called.call, called.bulk):
        with scope.entered("ana", seconds=0.02), pytest.raises(ProviderDown, match="in time"):
            await run(_hang)
    with scope.entered("ana", seconds=0.0), pytest.raises(NotCalled):
        await called.call(_hang)


async def test_retries_stop_when_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "FAILURES", 1_000)
    monkeypatch.setattr(breaker, "WINDOW_S", -1.0)
    calls = Calls(*[ProviderDown("500")] * 1_000)
    called = _policy()
    for _ in range(30):
        with pytest.raises(ProviderDown):
            await called.call(calls)
    assert 30 + limits.MAX_RETRIES_SAVED <= calls.count <= 30 + limits.MAX_RETRIES_SAVED + 3


def test_ten_calls_earn_one_retry() -> None:
    budget = RetryBudget()
    assert [budget.spend() for _ in range(11)] == [True] * 10 + [False]
    for _ in range(11):
        budget.count_call()
    assert [budget.spend(), budget.spend()] == [True, False]


async def test_a_call_in_bulk_outlasts_a_pause_and_an_open_breaker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "PAUSE_S", 0.02)
    called = _policy()
    calls = Calls(ProviderDown("429", pause_s=0.02), *[ProviderDown("500")] * (2 * breaker.FAILURES))
    assert await called.bulk(calls) == "answer"
    assert called.outcomes["answered"] == 1
    assert called.outcomes["failed"] == 2 * breaker.FAILURES + 1
    assert called.breaker.state == "closed"


async def test_a_call_in_bulk_gives_up_when_its_time_is_over() -> None:
    called = _policy()
    with scope.retrying_bulk(0.05), pytest.raises(NotCalled) as refused:
        await called.bulk(Calls(*[ProviderDown("500")] * 1_000))
    assert called.outcomes["failed"] == breaker.FAILURES
    assert refused.value.retry_after_s == breaker.PAUSE_S


async def test_a_provider_that_fails_every_other_call_is_not_called_for_a_while() -> None:
    called = _policy()
    for _ in range(breaker.WINDOW // 2):
        assert await called.call(Calls(ProviderDown("500"))) == "answer"
    with pytest.raises(ProviderError):
        await called.call(Calls(ProviderDown("500")))
    assert called.breaker.state == "open"


async def test_equal_concurrent_calls_of_one_user_run_once() -> None:
    called, gate, runs = _policy(), asyncio.Event(), []

    async def work() -> str:
        runs.append(scope.current().user_id)
        await gate.wait()
        return "answer"

    async def ask(user_id: str, key: str) -> str:
        with scope.entered(user_id, seconds=30):
            return await called.shared(key, work)

    asked = [("ana", "x"), ("ana", "x"), ("ana", "y"), ("ben", "x")]
    asking = [asyncio.create_task(ask(*one)) for one in asked]
    asking += [asyncio.create_task(called.shared("x", work)) for _ in range(2)]
    for _ in range(5):
        await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(*asking) == ["answer"] * 6
    assert sorted(map(str, runs)) == ["None", "None", "ana", "ana", "ben"]


async def test_calls_in_bulk_leave_half_of_the_slots_to_queries() -> None:
    slots, running = ConcurrentCalls(4), []

    async def hold(bulk: bool) -> None:
        async with slots.slot(bulk=bulk):
            running.append(bulk)
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(hold(bulk)) for bulk in [True] * 5 + [False] * 3]
    for _ in range(5):
        await asyncio.sleep(0)
    assert sorted(running) == [False, False, True, True]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with slots.slot(bulk=True), slots.slot(bulk=True), slots.slot(bulk=False), slots.slot(bulk=False):
        pass


async def test_a_call_that_gets_no_slot_in_time_is_no_failure_of_the_provider() -> None:
    called = _policy(timeout_s=0.05, concurrent=1)
    first = asyncio.create_task(called.bulk(_hang))
    await asyncio.sleep(0)
    with pytest.raises(NotCalled, match="wait for their turn"):
        await called.call(Calls())
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert called.outcomes == {"not_called": 1}
    assert await called.call(Calls()) == "answer"


async def test_the_rate_has_a_burst_of_ten_seconds_of_which_bulk_leaves_half(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(limits, "monotonic", lambda: now)
    rate = RequestRate(60)

    async def allowed(*, bulk: bool) -> int:
        count = 0
        while count < 100:
            try:
                async with asyncio.timeout(0.01):
                    await rate.wait(bulk=bulk)
            except TimeoutError:
                return count
            count += 1
        return count

    assert (await allowed(bulk=True), await allowed(bulk=False)) == (5, 5)
    now += 7.0
    assert (await allowed(bulk=True), await allowed(bulk=False)) == (2, 5)
    now += 3_600.0
    assert await allowed(bulk=False) == 10
    assert await RequestRate(0).wait(bulk=True) is None
