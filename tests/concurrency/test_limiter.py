"""Tests of the limiter: places, order and refusals."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app import errors
from app.concurrency.limiter import Limiter, Turn


class Clock:
    """Time that passes only when a test moves it on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Request:
    """A task that holds a turn until it is finished."""

    def __init__(self, limiter: Limiter, user: str) -> None:
        self.user = user
        self.turn: Turn | None = None
        self._end = asyncio.Event()
        self.task = asyncio.create_task(self._run(limiter))

    async def _run(self, limiter: Limiter) -> None:
        async with limiter.turn(self.user) as self.turn:
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


async def requests(limiter: Limiter, *users: str) -> list[Request]:
    """One request for each, in this order."""
    made = [Request(limiter, user) for user in users]
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


@pytest.mark.parametrize(("places", "most"), [(1, 1), (2, 1), (3, 2), (8, 7)])
async def test_a_user_never_holds_all_places_unless_there_is_one(places: int, most: int) -> None:
    limiter = Limiter(places)
    made = await requests(limiter, *"a" * 9)
    with ended(*made):
        assert limiter.running == most


async def test_users_are_served_in_rounds_however_many_requests_one_of_them_has_queued() -> None:
    limiter = Limiter(1, rounds="number")
    made = await requests(limiter, *"aaaaaabbc")
    assert "".join(await order(made)) == "abcabaaaa"


async def test_a_user_whose_requests_take_long_is_served_after_those_whose_requests_are_short(clock: Clock) -> None:
    limiter = Limiter(1, clock=clock)
    made = await requests(limiter, *["heavy", "heavy", "light", "light", "light", "light"])
    served = []
    for _ in made:
        (request,) = (one for one in made if one.runs)
        served.append(request.user)
        clock.now += 3.0 if request.user == "heavy" else 1.0
        await request.finish()
    assert served == ["heavy", "light", "light", "light", "heavy", "light"]


async def test_a_user_who_comes_after_a_pause_has_saved_nothing(clock: Clock) -> None:
    limiter = Limiter(1, clock=clock)
    for seconds in (10.0, 10.0):
        (alone,) = await requests(limiter, "a")
        clock.now += seconds
        await alone.finish()
    running, *waiting = await requests(limiter, *"abb")
    with ended(running, *waiting):
        clock.now += 2.0
        await running.finish()
        assert waiting[0].runs
        clock.now += 3.0
        (again,) = await requests(limiter, "a")
        await waiting[0].finish()
        assert again.runs
        again.task.cancel()


async def test_a_request_that_runs_counts_before_it_ends(clock: Clock) -> None:
    limiter = Limiter(3, of_user=2, clock=clock)
    long, other, last = await requests(limiter, *"abc")
    clock.now += 5.0
    waiting = await requests(limiter, *"ad")
    with ended(long, other, last, *waiting):
        await last.finish()
        assert [one.runs for one in waiting] == [False, True]


async def test_a_user_holds_its_share_at_most_and_the_free_turns_are_those_of_others() -> None:
    limiter = Limiter(3, of_user=2, max_waiting=20, timeout_s=5)
    made = await requests(limiter, *"aaaabb")
    assert [one.runs for one in made] == [True, True, False, False, True, False]
    await made[4].finish()
    assert [one.runs for one in made] == [True, True, False, False, False, True]
    await made[5].finish()
    assert (limiter.running, limiter.waiting) == (2, 2)
    for one in made[:4]:
        await one.finish()
    assert (limiter.running, limiter.waiting) == (0, 0)


async def test_a_request_that_waits_too_long_is_refused_and_frees_its_place() -> None:
    limiter = Limiter(1, max_waiting=8, timeout_s=0.01)
    running, waiting = await requests(limiter, "a", "b")
    assert await refused(waiting) == 1
    assert limiter.waiting == 0
    await running.finish()
    assert limiter.running == 0


async def test_a_request_that_cannot_be_served_in_time_is_refused_at_once(clock: Clock) -> None:
    limiter = Limiter(2, of_user=2, max_waiting=100, timeout_s=5, clock=clock)
    (first,) = await requests(limiter, "a")
    clock.now += 2.0
    await first.finish()
    # Two turns of 2 s at a time: the fifth that waits is served after 5 s.
    made = await requests(limiter, *"aaaaaaaa")
    with ended(*made):
        assert limiter.waiting == 5
        assert await refused(made[-1]) == 5
        # Somebody else's first request comes before the second of the user who has five waiting.
        (other,) = await requests(limiter, "b")
        assert limiter.waiting == 6
        other.task.cancel()


async def test_a_few_slow_turns_do_not_have_others_refused(clock: Clock) -> None:
    limiter = Limiter(1, max_waiting=100, timeout_s=5, clock=clock)
    for took in (0.1, 0.1, 8.0, 8.0):
        (one,) = await requests(limiter, "a")
        clock.now += took
        await one.finish()
    made = await requests(limiter, *"a" * 40)
    with ended(*made):
        assert limiter.waiting == 39


async def test_if_the_queue_is_full_the_user_with_most_requests_loses_a_place_to_one_with_fewer() -> None:
    limiter = Limiter(1, max_waiting=4, timeout_s=5)
    made = await requests(limiter, *"aaaaa")
    with ended(*made):
        (sixth,) = await requests(limiter, "a")
        await refused(sixth)
        (other,) = await requests(limiter, "b")
        await refused(made[-1])
        assert limiter.waiting == 4
        await made[0].finish()
        assert other.runs
        await other.finish()


async def test_a_cancelled_request_releases_its_turn_or_place() -> None:
    limiter = Limiter(1, max_waiting=8, timeout_s=5)
    first, second, third = await requests(limiter, *"abc")
    second.task.cancel()
    await settled()
    assert limiter.waiting == 1
    first.task.cancel()
    await settled()
    assert third.runs
    await third.finish()
    assert (limiter.running, limiter.waiting) == (0, 0)


async def test_a_turn_granted_to_a_request_cancelled_at_that_moment_goes_to_the_next() -> None:
    limiter = Limiter(1, max_waiting=8, timeout_s=5)
    first, second, third = await requests(limiter, *"abc")
    first._end.set()
    await first.task  # the second has been granted the turn, and has not run since
    second.task.cancel()
    await settled()
    assert third.runs
    await third.finish()
    assert limiter.running == 0


async def test_a_released_turn_serves_others_and_is_regained_before_the_users_other_requests() -> None:
    limiter = Limiter(1, max_waiting=8, timeout_s=5)
    replied, done = asyncio.Event(), asyncio.Event()

    async def asking_elsewhere() -> None:
        async with limiter.turn("a") as turn:
            async with turn.released():
                await replied.wait()
            assert limiter.running == 1
            await done.wait()

    asking = asyncio.create_task(asking_elsewhere())
    await settled()
    made = await requests(limiter, *"baa")
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
    assert limiter.running == 0


async def test_a_request_that_regains_its_turn_loses_its_place_to_nobody() -> None:
    limiter = Limiter(2, of_user=2, max_waiting=2, timeout_s=5)
    replied = asyncio.Event()

    async def asking_elsewhere() -> None:
        async with limiter.turn("a") as turn, turn.released():
            await replied.wait()

    asking = [asyncio.create_task(asking_elsewhere()) for _ in range(2)]
    await settled()
    running = await requests(limiter, *"bb")
    replied.set()
    await settled()
    assert limiter.waiting == 2
    (late,) = await requests(limiter, "c")
    await refused(late)
    for one in running:
        await one.finish()
    await asyncio.gather(*asking)


async def test_a_failure_while_the_turn_is_released_regains_the_turn() -> None:
    limiter = Limiter(1, max_waiting=8, timeout_s=5)

    async def failing(turn: Turn) -> None:
        async with turn.released():
            assert limiter.running == 0
            raise errors.ProviderError("It failed.")

    async with limiter.turn("a") as turn:
        with pytest.raises(errors.ProviderError):
            await failing(turn)
        assert limiter.running == 1
    assert limiter.running == 0


async def test_a_cancellation_while_the_turn_is_released_leaves_no_state() -> None:
    limiter = Limiter(1, max_waiting=1, timeout_s=5)

    async def hanging() -> None:
        async with limiter.turn("a") as turn, turn.released():
            await asyncio.Event().wait()

    task = asyncio.create_task(hanging())
    await settled()
    running, waiting = await requests(limiter, *"bb")
    await refused(waiting)  # the one that has given its turn back counts among those that wait
    task.cancel()
    await settled()
    (third,) = await requests(limiter, "c")
    await running.finish()
    assert third.runs
    await third.finish()
    assert limiter.running == 0
