"""A provider that keeps failing is not called for a while, then probed by one call."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from fake_provider import FakeProvider

from app.errors import ProviderError
from app.providers.calls import breaker
from app.providers.calls.breaker import Breaker, ProviderDown, ProviderModel
from app.providers.calls.policy import CallLimits
from app.providers.remote.chat import ChatLlm
from app.providers.remote.rerankers import HttpReranker

PASSAGES = ["Ada\nAda wrote the notes."]
GOOD = '{"terms": ["Ada"]}'


@pytest.fixture
def guard() -> Breaker:
    return Breaker(ProviderModel("llm", "openai", "tiny"))


async def _fail(guard: Breaker, pause_s: float | None = None) -> None:
    with pytest.raises(ProviderDown):
        async with guard.guard(30):
            raise ProviderDown("down", pause_s=pause_s)


async def _opened(guard: Breaker) -> None:
    for _ in range(breaker.FAILURES):
        assert guard.state == "closed"
        await _fail(guard)


async def test_five_failures_in_a_row_open_it_and_a_success_between_them_does_not(guard: Breaker) -> None:
    for _ in range(2):
        for _ in range(breaker.FAILURES - 1):
            await _fail(guard)
        async with guard.guard(30):
            pass
    assert guard.state == "closed"
    await _opened(guard)
    assert guard.state == "open"
    with pytest.raises(ProviderError, match="not called for a while"):
        async with guard.guard(30):
            raise AssertionError("the provider was called")


async def test_half_open_lets_one_call_through_whose_success_closes_it(
    guard: Breaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breaker, "PAUSE_S", 0.0)
    await _opened(guard)
    assert guard.state == "half_open"
    async with guard.guard(30):
        with pytest.raises(ProviderError, match="not called for a while"):
            async with guard.guard(30):
                raise AssertionError("a second call was let through")
    assert guard.state == "closed"


async def test_a_failed_probe_opens_it_again(guard: Breaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "PAUSE_S", 0.0)
    await _opened(guard)
    monkeypatch.setattr(breaker, "PAUSE_S", 60.0)
    await _fail(guard)
    assert guard.state == "open"


async def test_a_cancelled_call_counts_neither_as_a_failure_nor_as_a_success(
    guard: Breaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang() -> None:
        async with guard.guard(30):
            await asyncio.Event().wait()

    async def leave() -> None:
        call = asyncio.create_task(hang())
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled()

    for _ in range(breaker.FAILURES + 1):
        await leave()
    assert guard.state == "closed"
    monkeypatch.setattr(breaker, "PAUSE_S", 0.0)
    await _opened(guard)
    await leave()
    assert guard.state == "half_open"
    async with guard.guard(30):
        pass
    assert guard.state == "closed"


async def test_a_timeout_counts_even_if_the_caller_gives_up_at_the_same_moment() -> None:
    guard = Breaker(ProviderModel("llm", "openai", "tiny"))
    for _ in range(breaker.FAILURES):
        with pytest.raises((TimeoutError, ProviderDown)):
            async with asyncio.timeout(0.0), guard.guard(0.0):
                await asyncio.Event().wait()
    assert guard.state == "open"


async def test_an_unusable_answer_shows_that_the_provider_works(guard: Breaker) -> None:
    for _ in range(breaker.FAILURES + 1):
        with pytest.raises(ProviderError):
            async with guard.guard(30):
                raise ProviderError("no JSON")
    assert guard.state == "closed"


async def test_retry_after_opens_it_at_the_first_failure(guard: Breaker) -> None:
    await _fail(guard, pause_s=30.0)
    assert guard.state == "open"


@pytest.mark.parametrize(
    ("status", "counts"), [(429, True), (503, True), (500, True), (401, True), (403, True), (400, False), (404, False)]
)
def test_only_statuses_that_do_not_depend_on_the_request_count(status: int, counts: bool) -> None:
    assert isinstance(breaker.down(status, {}, "x"), ProviderDown) is counts


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [("7", 7, 7), ("0", 0, 0), ("-3", 0, 0), ("1e9", 60, 60), ("nan", 0, 0), ("inf", 60, 60), ("soon", 1, 1)],
)
def test_retry_after_is_bounded_whatever_it_holds(given: str, least: float, most: float) -> None:
    error = breaker.down(429, {"retry-after": given}, "x")
    assert isinstance(error, ProviderDown)
    assert error.pause_s is not None
    assert least <= error.pause_s <= most


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    error = breaker.down(429, {"retry-after": later}, "x")
    assert isinstance(error, ProviderDown)
    assert 15 < (error.pause_s or 0) <= 20


async def test_a_hanging_model_is_called_at_most_five_times_and_then_not_at_all(provider: FakeProvider) -> None:
    provider.silent = True
    llm = ChatLlm(kind="openai", url=provider.url, model="tiny", limits=CallLimits(0.05))
    for _ in range(breaker.FAILURES):
        with pytest.raises(ProviderError):
            await llm.propose("Who?", PASSAGES)
    assert 1 <= len(provider.requests) <= breaker.FAILURES
    assert llm.policy.breaker.state == "open"
    for _ in range(2):
        with pytest.raises(breaker.NotCalled):
            await llm.propose("Who?", PASSAGES)
    await llm.aclose()


async def test_a_slow_stream_is_cut_off_at_the_limit_of_the_whole_call(provider: FakeProvider) -> None:
    provider.openai(GOOD)
    provider.trickle = True
    llm = ChatLlm(kind="openai", url=provider.url, model="tiny", limits=CallLimits(0.3))
    began = time.monotonic()
    with pytest.raises(ProviderDown, match="in time"):
        await llm.propose("Who?", PASSAGES)
    assert time.monotonic() - began < 5
    await llm.aclose()


async def test_the_batches_of_a_reranking_share_one_limit(provider: FakeProvider) -> None:
    provider.respond = lambda asked: [{"index": i, "score": 0.5} for i in range(len(asked["texts"]))]
    provider.delay_s = 0.2
    reranker = HttpReranker(kind="tei", url=provider.url, limits=CallLimits(0.3))
    with pytest.raises(ProviderDown, match="in time"):
        await reranker.scores("mortar?", ["lime"] * 100)
    await reranker.aclose()
