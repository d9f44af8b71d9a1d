"""The table of signals agrees with the page on multi-hop search and with the formulas."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from app.multihop import hop_strategies
from app.query import signals

PAGE = Path(__file__).parents[2] / "docs" / "multihop.md"


def test_the_page_on_multi_hop_search_lists_every_signal_with_its_weight() -> None:
    listed = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    expected = {**signals.WEIGHTS, "covers": hop_strategies.COVERAGE_WEIGHT}
    assert {name: float(weight) for name, weight in listed} == expected


def test_the_largest_strength_of_a_link_is_that_of_a_whole_source_and_the_rarest_name() -> None:
    title, shared = 2 / (1 + math.log(1 + 1)), 1 / (1 + math.log(2))
    for name, exact in (("linked", title), ("shared", shared)):
        largest = signals.LINKS[name].largest
        assert exact <= largest == pytest.approx(exact, abs=1e-4)
