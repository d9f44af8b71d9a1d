"""Tests of the fair queue: turns, order and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app import errors
from app.api.edge.fair_queue import FairQueue, Turn


class Clock:
    """Time that passes only when a test moves it on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Request:
    """A task that holds a turn until it is finished."""

    def __init__(self, queue: FairQueue, user: str) -> None:
        self.user = user
        self.turn: Turn | None = None
        self._end = asyncio.Event()
        self.task = asyncio.create_task(self._run(queue))

    async def _run(self, queue: FairQueue) -> None:
        async with queue.turn(self.user) as self.turn:
            await self._end.wait()

    @property
    def runs(self) -> bool:
        """Whether it holds a turn now."""
        return self.turn is not None and not self.task.done()

    async def finish(self) -> None:
        """End it in good order."""
        self._end.set()
        await self.task
        await settled()


async def settled() -> None:
    """Let every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


async def requests(queue: FairQueue, *users: str) -> list[Request]:
    """One request for each, in this order."""
    made = [Request(queue, user) for user in users]
    await settled()
    return made


async def refused(request: Request) -> int:
    """The seconds after which a refused request may come again."""
    with pytest.raises(errors.Overloaded) as refusal:
        await request.task
    assert refusal.value.retry_after_s is not None
    return refusal.value.retry_after_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@contextmanager
def ended(*made: Request) -> Iterator[None]:
    """Cancel what is left of some requests."""
    yield
    for request in made:
        request.task.cancel()


async def order(made: list[Request]) -> list[str]:
    """The users in the order in which their requests run, one after the other."""
    served = []
    left = list(made)
    while left:
        (request,) = (one for one in left if one.runs)
        served.append(request.user)
        left.remove(request)
        await request.finish()
    return served


async def test_as_many_run_as_may_and_the_others_wait() -> None:
    queue = FairQueue(2, max_waiting=8, timeout_s=5)
    made = await requests(queue, *"aaaa")
    assert [one.runs for one in made] == [True, True, False, False]
    assert (queue.running, queue.waiting) == (2, 2)
    for one in made:
        await one.finish()
    assert (queue.running, queue.waiting) == (0, 0)


async def test_users_are_served_in_rounds_however_many_requests_one_of_them_has_queued() -> None:
    queue = FairQueue(1, max_waiting=20, timeout_s=5)
    made = await requests(queue, *"aaaaaabbc")
    assert "".join(await order(made)) == "aabcabaaa"


async def test_a_user_holds_its_share_at_most_and_the_free_turns_are_those_of_others() -> None:
    queue = FairQueue(3, of_user=2, max_waiting=20, timeout_s=5)
    made = await requests(queue, *"aaaabb")
    assert [one.runs for one in made] == [True, True, False, False, True, False]
    await made[4].finish()
    assert [one.runs for one in made] == [True, True, False, False, False, True]
    await made[5].finish()
    assert (queue.running, queue.waiting) == (2, 2)
    for one in made[:4]:
        await one.finish()
    assert (queue.running, queue.waiting) == (0, 0)


async def test_a_request_that_waits_too_long_is_refused_and_frees_its_place() -> None:
    queue = FairQueue(1, max_waiting=8, timeout_s=0.01)
    running, waiting = await requests(queue, "a", "b")
    assert await refused(waiting) == 1
    assert queue.waiting == 0
    await running.finish()
    assert queue.running == 0


async def test_a_request_that_cannot_be_served_in_time_is_refused_at_once(clock: Clock) -> None:
    queue = FairQueue(2, max_waiting=100, timeout_s=5, clock=clock)
    (first,) = await requests(queue, "a")
    clock.now += 2.0
    await first.finish()
    # Two turns of 2 s at a time: the fifth that waits is served after 5 s.
    made = await requests(queue, *"aaaaaaaa")
    with ended(*made):
        assert queue.waiting == 5
        assert await refused(made[-1]) == 5
        # Somebody else's first request comes before the second of the user who has five waiting.
        (other,) = await requests(queue, "b")
        assert queue.waiting == 6
        other.task.cancel()


async def test_a_few_slow_turns_do_not_have_others_refused(clock: Clock) -> None:
    queue = FairQueue(1, max_waiting=100, timeout_s=5, clock=clock)
    for took in (0.1, 0.1, 8.0, 8.0):
        (one,) = await requests(queue, "a")
        clock.now += took
        await one.finish()
    made = await requests(queue, *"a" * 40)
    with ended(*made):
        assert queue.waiting == 39


async def test_if_the_queue_is_full_the_user_with_most_requests_loses_a_place_to_one_with_fewer() -> None:
    queue = FairQueue(1, max_waiting=4, timeout_s=5)
    made = await requests(queue, *"aaaaa")
    with ended(*made):
        (sixth,) = await requests(queue, "a")
        await refused(sixth)
        (other,) = await requests(queue, "b")
        await refused(made[-1])
        assert queue.waiting == 4
        await made[0].finish()
        await made[1].finish()
        assert other.runs
        await other.finish()


async def test_a_cancelled_request_releases_its_turn_or_place() -> None:
    queue = FairQueue(1, max_waiting=8, timeout_s=5)
    first, second, third = await requests(queue, *"abc")
    second.task.cancel()
    await settled()
    assert queue.waiting == 1
    first.task.cancel()
    await settled()
    assert third.runs
    await third.finish()
    assert (queue.running, queue.waiting) == (0, 0)


async def test_a_turn_granted_to_a_request_cancelled_at_that_moment_goes_to_the_next() -> None:
    queue = FairQueue(1, max_waiting=8, timeout_s=5)
    first, second, third = await requests(queue, *"abc")
    first._end.set()
    await first.task  # the second has been granted the turn, and has not run since
    second.task.cancel()
    await settled()
    assert third.runs
    await third.finish()
    assert queue.running == 0


async def test_a_released_turn_serves_others_and_is_regained_before_the_users_other_requests() -> None:
    queue = FairQueue(1, max_waiting=8, timeout_s=5)
    replied, done = asyncio.Event(), asyncio.Event()

    async def asking_elsewhere() -> None:
        async with queue.turn("a") as turn:
            async with turn.released():
                await replied.wait()
            assert queue.running == 1
            await done.wait()

    asking = asyncio.create_task(asking_elsewhere())
    await settled()
    made = await requests(queue, *"baa")
    assert [one.runs for one in made] == [True, False, False]
    replied.set()
    await settled()
    await made[0].finish()
    assert not any(one.runs for one in made[1:])
    done.set()
    await asking
    await settled()
    assert made[1].runs
    for one in made[1:]:
        await one.finish()
    assert queue.running == 0


async def test_a_failure_while_the_turn_is_released_regains_the_turn() -> None:
    queue = FairQueue(1, max_waiting=8, timeout_s=5)

    async def failing(turn: Turn) -> None:
        async with turn.released():
            assert queue.running == 0
            raise errors.ProviderError("It failed.")

    async with queue.turn("a") as turn:
        with pytest.raises(errors.ProviderError):
            await failing(turn)
        assert queue.running == 1
    assert queue.running == 0


async def test_a_cancellation_while_the_turn_is_released_leaves_no_state() -> None:
    queue = FairQueue(1, max_waiting=1, timeout_s=5)

    async def hanging() -> None:
        async with queue.turn("a") as turn, turn.released():
            await asyncio.Event().wait()

    task = asyncio.create_task(hanging())
    await settled()
    running, waiting = await requests(queue, *"bb")
    await refused(waiting)  # the one that has given its turn back counts among those that wait
    task.cancel()
    await settled()
    (third,) = await requests(queue, "c")
    await running.finish()
    assert third.runs
    await third.finish()
    assert queue.running == 0
