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


def test_identifiers_names_of_files_numbers_and_quoted_words_are_meant_as_they_are_written() -> None:
    query = 'Which croissnat, "literl" KX-4471 v1.20.3 delivry.py getUserNmae err_tide_4012 NASDAQ 20255 hous Brandaur?'
    assert spelling.may_be_misspelt(query, ("literl",)) == ["croissnat", "brandaur", "which"]
    assert spelling.may_be_misspelt("CROISSNAT DELIVRY") == ["croissnat", "delivry"]
    assert spelling.may_be_misspelt("東京都漆喰石工職人 известко мо\u0301ртер") == ["известко"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(("croissnat", "croissant"), ("delivry", "delivery"), ("cormorannt", "cormorant"), ("boyler", "boiler")),
        *(("известко", "известка"), ("mörtl", "mörtel"), ("oiler", "boiler")),
    ],
)
def test_a_word_is_among_the_edits_of_a_word_that_differs_by_one_typing_error(written: str, meant: str) -> None:
    edits = spelling.edits(written)
    assert meant in edits
    assert written not in edits
    assert not [one for one in edits if one[0] != written[0] and one[1:] == written[1:]]
    assert len(edits) == len(set(edits)) < 120 * (len(written) + 1)
