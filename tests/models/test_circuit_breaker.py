"""A provider that keeps failing is not called for a while, then probed by one call."""

import asyncio
import logging
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from fake_provider import FakeProvider

from app.errors import ProviderError
from app.models import remote_calls
from app.models.remote.rerankers import HttpReranker
from app.models.remote_calls import Breaker, CallTimes, NotCalled, ProviderDown, ProviderModel

MODEL = ProviderModel("embedder", "openai", "tiny")


@pytest.fixture
def guard() -> Breaker:
    return Breaker(MODEL)


def _fail(guard: Breaker, error: BaseException | None = None) -> None:
    """Let a call end with an error, by default one of the provider."""
    error = error or ProviderDown("down")
    with pytest.raises(type(error)), guard.guard():
        raise error


def _pass(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the breaker see a time so many seconds from now."""
    monkeypatch.setattr(remote_calls, "monotonic", lambda: time.monotonic() + seconds)


def _succeed(guard: Breaker) -> None:
    with guard.guard():
        pass


def _open(guard: Breaker) -> None:
    for _ in range(remote_calls.BREAKER_FAILURES):
        assert guard.state == "closed"
        _fail(guard)


def test_five_failures_among_ten_calls_open_it_and_fewer_do_not(guard: Breaker) -> None:
    for _ in range(20):
        _fail(guard)
        _succeed(guard)
        _succeed(guard)
    assert guard.state == "closed"
    guard = Breaker(MODEL)
    for _ in range(remote_calls.BREAKER_FAILURES - 1):
        _fail(guard)
        _succeed(guard)
    _succeed(guard)
    _fail(guard)
    assert guard.state == "open"
    with pytest.raises(NotCalled, match="not called for a while"), guard.guard():
        raise AssertionError("the provider was called")


def test_an_outage_is_logged_when_it_begins_and_when_it_is_over(guard, monkeypatch, caplog) -> None:
    caplog.set_level(logging.INFO)
    _open(guard)
    for _ in range(3):
        with pytest.raises(NotCalled) as refused, guard.guard():
            raise AssertionError("the provider was called")
        remote_calls.log_failure("query embedding failed", refused.value, action="embedding_failed")
    _pass(monkeypatch, remote_calls.BREAKER_PAUSE_S)
    _fail(guard)
    _pass(monkeypatch, 2 * remote_calls.BREAKER_PAUSE_S + 1)
    _succeed(guard)
    _succeed(guard)
    assert [(one.action, one.role, one.model) for one in caplog.records] == [
        ("model_lost", "embedder", "tiny"),
        ("model_reached", "embedder", "tiny"),
    ]


def test_a_call_that_found_no_free_connection_is_logged(caplog) -> None:
    remote_calls.log_failure("query embedding failed", NotCalled("Busy."), action="embedding_failed")
    assert [one.action for one in caplog.records] == ["embedding_failed"]


def test_half_open_lets_one_call_through_whose_success_closes_it(guard, monkeypatch) -> None:
    _open(guard)
    _pass(monkeypatch, remote_calls.BREAKER_PAUSE_S)
    assert guard.state == "half_open"
    with guard.guard(), pytest.raises(NotCalled), guard.guard():
        raise AssertionError("a second call was let through")
    assert guard.state == "closed"
    _fail(guard)
    assert guard.state == "closed"


def test_a_failed_probe_opens_it_again_for_the_time_that_it_is_told(guard, monkeypatch) -> None:
    _fail(guard, ProviderDown("down", pause_s=remote_calls.BREAKER_PAUSE_S))
    assert guard.state == "open", "one failure that says when to call again"
    _pass(monkeypatch, remote_calls.BREAKER_PAUSE_S)
    _fail(guard)
    assert guard.state == "open"
    _pass(monkeypatch, 2 * remote_calls.BREAKER_PAUSE_S)
    _fail(guard, ProviderDown("down", pause_s=1.0))
    _pass(monkeypatch, 2 * remote_calls.BREAKER_PAUSE_S + 2.0)
    assert guard.state == "half_open"


def test_a_cancelled_call_counts_neither_as_a_failure_nor_as_a_success(guard, monkeypatch) -> None:
    for _ in range(remote_calls.BREAKER_FAILURES + 1):
        _fail(guard, asyncio.CancelledError())
    assert guard.state == "closed"
    _open(guard)
    _pass(monkeypatch, remote_calls.BREAKER_PAUSE_S)
    _fail(guard, asyncio.CancelledError())
    assert guard.state == "open"
    _pass(monkeypatch, 3 * remote_calls.BREAKER_PAUSE_S)
    _succeed(guard)
    assert guard.state == "closed"


def test_an_unusable_answer_shows_that_the_provider_works(guard: Breaker) -> None:
    for _ in range(remote_calls.BREAKER_FAILURES + 1):
        _fail(guard, ProviderError("no JSON"))
    assert guard.state == "closed"


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [
        *(("7", 7, 7), ("0", 0, 0), ("-3", 0, 0), ("1e9", 60, 60), ("nan", 0, 0), ("inf", 60, 60)),
        *(("soon", 1, 1), ("a date", 15, 20)),
    ],
)
def test_retry_after_is_bounded_whatever_it_holds(given: str, least: float, most: float) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    error = remote_calls.error_for_status(429, {"retry-after": date if given == "a date" else given}, "x")
    assert least <= getattr(error, "pause_s", -1) <= most


async def test_the_batches_of_a_reranking_share_one_limit(provider: FakeProvider) -> None:
    provider.respond = lambda asked: [{"index": i, "score": 0.5} for i in range(len(asked["texts"]))]
    provider.delay_s = 0.2
    reranker = HttpReranker(kind="tei", url=provider.url, times=CallTimes(0.3))
    with pytest.raises(ProviderDown, match="in time"):
        await reranker.scores("mortar?", ["lime"] * 100)
    await reranker.aclose()
