"""Calls of remote models end at their time limit, are retried within it, and leave room for queries."""

import asyncio

import pytest

from app.errors import BadEmbedding, ProviderError
from app.models.remote import endpoint
from app.models.remote.endpoint import Endpoint
from app.models.remote_calls import BREAKER_PAUSE_S, CallTimes, NotCalled, ProviderDown, ProviderModel, RemoteCalls


def _calls(query_s: float = 30.0, bulk_s: float = 30.0) -> RemoteCalls:
    return RemoteCalls(ProviderModel("embedder", "openai", "tiny"), CallTimes(query_s, bulk_s))


class Failing:
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


@pytest.mark.parametrize("failure", [ProviderDown("500"), ProviderDown("429", pause_s=0.01)])
async def test_a_failure_of_the_provider_is_retried_twice(failure: Exception) -> None:
    work, hopeless = Failing(failure, failure), Failing(*[failure] * 3)
    running = (_calls().query(work), _calls().query(hopeless))
    assert await asyncio.gather(*running, return_exceptions=True) == ["answer", failure]
    assert work.count == hopeless.count == 3


@pytest.mark.parametrize(
    "failure", [ProviderError("400"), ProviderDown("401", fault="key"), BadEmbedding("NaN", fault="vectors")]
)
async def test_a_failure_that_a_retry_would_not_correct_is_not_retried(failure: Exception) -> None:
    work = Failing(failure, failure)
    for call in (_calls().query, _calls().bulk):
        with pytest.raises(type(failure)):
            await call(work)
    assert work.count == 2


async def test_a_pause_beyond_the_time_limit_is_not_waited_for_and_the_provider_not_called_again() -> None:
    calls = _calls()
    work = Failing(ProviderDown("429", pause_s=40.0))
    for error in (ProviderDown, NotCalled):
        with pytest.raises(error):
            await calls.query(work)
    assert work.count == 1


async def test_a_query_ends_at_its_time_limit() -> None:
    calls = _calls(query_s=0.02)
    with pytest.raises(ProviderDown, match="in time"):
        await calls.query(_hang)
    assert calls.outcomes == {"failed": 1}


async def test_a_call_in_bulk_outlasts_a_pause_and_an_open_breaker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.models.remote_calls.BREAKER_PAUSE_S", 0.02)
    monkeypatch.setattr("app.models.remote_calls.BREAKER_FAILURES", 2)
    calls = _calls()
    work = Failing(ProviderDown("429", pause_s=0.02), ProviderDown("500"), ProviderDown("500"))
    assert await calls.bulk(work) == "answer"
    assert (calls.outcomes["answered"], calls.outcomes["failed"], calls.breaker.state) == (1, 3, "closed")


async def test_a_call_in_bulk_gives_up_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.models.remote_calls.BREAKER_FAILURES", 1)
    calls = _calls(bulk_s=0.5)
    with pytest.raises(NotCalled) as refused:
        await calls.bulk(Failing(*[ProviderDown("500")] * 100))
    assert calls.outcomes["failed"] == 1
    assert refused.value.retry_after_s == BREAKER_PAUSE_S


async def test_calls_in_bulk_have_connections_of_their_own(provider, monkeypatch) -> None:
    monkeypatch.setattr(endpoint, "BULK_CONNECTIONS", 1)
    monkeypatch.setattr(endpoint, "BULK_WAIT_S", 0.05)
    reached = Endpoint("The model", url=provider.url)
    provider.silent = True
    calls = _calls()
    hanging = asyncio.create_task(calls.bulk(lambda: reached.post("x", {}, bulk=True)))
    while not provider.requests:  # noqa: ASYNC110 - the server sets no event
        await asyncio.sleep(0.01)
    with pytest.raises(NotCalled, match="wait for a connection"):
        await _calls(bulk_s=0.0).bulk(lambda: reached.post("x", {}, bulk=True))
    provider.silent, provider.body = False, {}
    assert await calls.query(lambda: reached.post("x", {})) == {}
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)
    await reached.aclose()
    assert calls.breaker.state == "closed"
