"""Transactions become larger while they are short, and smaller after a long one."""

from __future__ import annotations

from app.pipelines.running import pace
from app.pipelines.running.pace import Pace

SHORT_S, LONG_S = pace.SHORT_S / 2, 2 * pace.LONG_S


def test_a_short_transaction_doubles_the_next_one_up_to_the_most() -> None:
    adapted = Pace(16, fewest=8, most=40)
    sizes = []
    for _ in range(3):
        adapted.note(adapted.size, SHORT_S)
        sizes.append(adapted.size)
    assert sizes == [32, 40, 40]


def test_a_short_transaction_of_fewer_items_than_allowed_says_nothing() -> None:
    adapted = Pace(16, fewest=8, most=40)
    adapted.note(15, SHORT_S)
    assert adapted.size == 16


def test_a_long_transaction_halves_what_it_wrote_down_to_the_fewest() -> None:
    adapted = Pace(64, fewest=8, most=128)
    sizes = []
    for written in (64, 20, 10):
        adapted.note(written, LONG_S)
        sizes.append(adapted.size)
    assert sizes == [32, 10, 8]


def test_a_transaction_in_between_changes_nothing() -> None:
    adapted = Pace(16, fewest=8, most=40)
    adapted.note(16, (pace.SHORT_S + pace.LONG_S) / 2)
    assert adapted.size == 16
