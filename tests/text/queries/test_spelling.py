"""Stored stems similar to a misspelled word are found."""

from __future__ import annotations

import pytest

from app.text.queries import spelling

STORED = ["timet", "time", "tim", "harbour", "harb", "gannet", "generat", "gener"]


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("timetabel", "timet"),
        ("timteable", "timet"),
        ("harbor", "harb"),
        ("harbours", "harbour"),
        ("gannett", "gannet"),
        ("genrations", "generat"),
        ("gan", "gannet"),
    ],
)
def test_a_word_finds_the_stem_it_resembles_first(word: str, first: str) -> None:
    assert first in spelling.nearest(word, STORED)[:2]


def test_words_that_resemble_nothing_find_nothing() -> None:
    for word in ("quazzlewick", "tides", "ti", "x" * 65):
        assert not set(spelling.nearest(word, STORED)) - {known for known in STORED if known.startswith(word)}


def test_a_stem_too_short_for_the_word_does_not_match() -> None:
    assert spelling.nearest("timekeepers", ["time"]) == []
    assert spelling.nearest("timer", ["tim"]) == ["tim"]
    assert spelling.nearest("timely", ["tim"]) == []
