"""Who has a turn, who may wait for one, and who is told to come back?"""

from __future__ import annotations

import pytest

from app.api.gate import ENOUGH, Gate, Place


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def _gate(clock: Clock, *, running: int = 2, waiting: int = 8, takes: float = 1.0) -> Gate:
    """A gate that saw enough searches of one kind run alone, in so many seconds each."""
    gate = Gate(running, waiting, clock=clock)
    _alone(gate, clock, "search", takes)
    return gate


def _alone(gate: Gate, clock: Clock, kind: str, takes: float) -> None:
    for _ in range(ENOUGH):
        place = _entered(gate, kind)
        clock.now += takes
        gate.leave(place, served=True)


def _entered(gate: Gate, kind: str = "search", caller: object = None) -> Place:
    place = gate.enter(kind, caller)
    assert place is not None
    return place


def _runs(place: Place) -> bool:
    return place.turn.done() and place.turn.result()


def _away(place: Place) -> bool:
    return place.turn.done() and not place.turn.result()


async def test_a_free_turn_is_taken_whatever_is_known(clock: Clock) -> None:
    for gate in (Gate(2, 0, clock=clock), _gate(clock, waiting=0)):
        assert _runs(_entered(gate))
        assert _runs(_entered(gate))
        assert gate.enter("search") is None
        assert (gate.running, gate.waiting) == (2, 0)


async def test_while_nothing_is_known_as_many_may_wait_as_run(clock: Clock) -> None:
    gate = Gate(2, 8, clock=clock)
    assert sum(gate.enter("search") is not None for _ in range(20)) == 4


async def test_only_those_wait_who_are_likely_to_be_answered_within_three_times_the_usual(clock: Clock) -> None:
    gate = _gate(clock)
    # Nothing is known of two beside each other: they share everything, 2 s each, one ends each second.
    assert sum(gate.enter("search") is not None for _ in range(20)) == 2 + 1
    assert gate.waiting == 1


async def test_more_may_wait_where_searches_hardly_slow_each_other_down(clock: Clock) -> None:
    gate = _gate(clock)
    for _ in range(ENOUGH):
        pair = [_entered(gate), _entered(gate)]
        clock.now += 1.0
        for place in pair:
            gate.leave(place, served=True)
    # 1 s each, two a second: 2 s to wait for the fourth, and one more for itself.
    assert sum(gate.enter("search") is not None for _ in range(20)) == 2 + 4


async def test_never_more_wait_than_the_setting_says(clock: Clock) -> None:
    gate = Gate(2, 1, clock=clock)
    assert sum(gate.enter("search") is not None for _ in range(20)) == 3


async def test_a_turn_that_is_given_up_goes_to_the_first_who_waits(clock: Clock) -> None:
    gate = Gate(2, 8, clock=clock)
    first, second, third, fourth = (_entered(gate) for _ in range(4))
    gate.leave(second)
    assert _runs(third)
    assert not fourth.turn.done()
    gate.leave(fourth)
    gate.leave(first)
    gate.leave(first)
    assert (gate.running, gate.waiting) == (1, 0)


async def test_who_has_waited_too_long_is_turned_away_and_the_turn_stays_free(clock: Clock) -> None:
    gate = _gate(clock, running=1)
    running, waiting = _entered(gate), _entered(gate)
    clock.now += 2.5
    gate.leave(running)
    assert _away(waiting)
    assert _runs(_entered(gate))


async def test_slower_kinds_are_waited_for_by_their_own_measure(clock: Clock) -> None:
    gate = _gate(clock, running=1)
    _alone(gate, clock, "multihop", 4.0)
    _entered(gate, "multihop")
    assert gate.enter("search") is None
    assert not _entered(gate, "multihop").turn.done()


async def test_who_asks_for_much_keeps_out_nobody_who_asks_for_little(clock: Clock) -> None:
    gate = Gate(1, 2, clock=clock)
    many = [gate.enter("search", "greedy") for _ in range(50)]
    waiting = [place for place in many if place is not None][1]
    modest = _entered(gate, caller="modest")
    assert _away(waiting)
    gate.leave(many[0] or modest)
    assert _runs(modest)


async def test_callers_who_ask_alike_are_served_in_turns(clock: Clock) -> None:
    gate = Gate(1, 8, clock=clock)
    gate._paces["search"] = _gate(clock, takes=0.0)._paces["search"]
    places = [_entered(gate, caller=caller) for caller in "aaabbb"]
    order = []
    while running := [place for place in places if _runs(place)]:
        order.append(running[0].caller)
        places.remove(running[0])
        gate.leave(running[0])
    assert order == ["a", "b", "a", "b", "a", "b"]


async def test_searches_that_failed_or_ran_beside_others_say_nothing_about_the_usual(clock: Clock) -> None:
    gate = _gate(clock)
    for _ in range(50):
        gate.leave(_entered(gate))
        pair = [_entered(gate), _entered(gate)]
        clock.now += 9.0
        for place in pair:
            gate.leave(place, served=True)
    assert gate._paces["search"].longest == 1.0
