"""A typing error is looked for in words that may have one, and corrected by one change."""

import pytest

from app.search.steps import corrections


def test_identifiers_names_of_files_numbers_and_quoted_words_are_meant_as_they_are_written() -> None:
    query = 'Which croissnat, "literl" KX-4471 v1.20.3 delivry.py getUserNmae err_tide_4012 NASDAQ 20255 hous Brandaur?'
    assert corrections.may_be_misspelt(query, ("literl",)) == ["croissnat", "brandaur", "which"]
    assert corrections.may_be_misspelt("CROISSNAT DELIVRY") == ["croissnat", "delivry"]
    assert corrections.may_be_misspelt("東京都漆喰石工職人 известко мо\u0301ртер") == ["известко"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(("croissnat", "croissant"), ("delivry", "delivery"), ("cormorannt", "cormorant"), ("boyler", "boiler")),
        *(("известко", "известка"), ("mörtl", "mörtel"), ("oiler", "boiler")),
    ],
)
def test_a_word_is_among_the_edits_of_a_word_that_differs_by_one_typing_error(written: str, meant: str) -> None:
    edits = corrections.edits(written)
    assert meant in edits
    assert written not in edits
    assert not [one for one in edits if one[0] != written[0] and one[1:] == written[1:]]
    assert len(edits) == len(set(edits)) < 120 * (len(written) + 1)
