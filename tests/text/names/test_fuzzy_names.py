"""Misspelled names are matched, and other words are not."""

import pytest

from app.text.names import fuzzy_names
from app.text.names.fuzzy_names import FuzzyNames

KEYS = ["cliff clarke", "josh ai", "ana silva", "stephen brandt", "project apollo", "york", "cliff harper"]


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("Clif Clark", "cliff clarke"),
        ("cliffclarke", "cliff clarke"),
        ("Steohen Brandt", "stephen brandt"),
        ("anna silva", "ana silva"),
        ("projct apolo", "project apollo"),
        ("clarke", "cliff clarke"),
        ("apo", "project apollo"),
    ],
)
def test_a_short_text_finds_the_name_that_it_resembles(typed: str, key: str) -> None:
    (best, similarity), *_ = FuzzyNames.build(KEYS).similar(typed)
    assert best == key
    assert 0.75 <= similarity < 1


def test_a_span_of_a_question_matches_a_similar_name_at_its_position() -> None:
    (found,) = FuzzyNames.build(KEYS).within("What has Steohen Brant been working on lately?")
    assert (found.key, found.start, found.end) == ("stephen brandt", 2, 4)
    assert 0.85 < found.similarity < 1


def test_each_name_is_returned_once_at_its_best_span() -> None:
    found = FuzzyNames.build(KEYS).within("did ana silvaa meet Ana Silva of york")
    assert [(alike.key, alike.similarity, alike.start) for alike in found] == [("ana silva", 1.0, 4), ("york", 1.0, 7)]


def test_other_words_resemble_no_name() -> None:
    assert FuzzyNames.build(KEYS).within("how do we clean the harbour steps when the tide is out") == []


def test_a_patched_index_returns_the_same_matches_as_a_rebuilt_one() -> None:
    patched = FuzzyNames.build(KEYS).patched(["otto falk"], ["york"]).patched(["york", "ilse brandt"], ["ana silva"])
    anew = FuzzyNames.build([*KEYS, "otto falk", "ilse brandt"]).patched([], ["ana silva"])
    for text in ("Oto Falk of Yorck", "ana silva", "Ilse Brand", "cliff clark"):
        assert patched.within(text) == anew.within(text)
        assert patched.similar(text) == anew.similar(text)
    assert patched.changes > 0


@pytest.mark.parametrize(
    ("words", "known", "misspelt"),
    [
        (("ana", "torrez"), "ana torres", True),
        (("linnea", "popescu"), "linnea owusu", False),
        (("wer",), "power", False),
        (("france",), "finance", False),
        (("sliva",), "silva", True),
        (("firmwear",), "firmware", True),
        (("anatorres",), "ana torres", True),
        (("torres",), "ana torres", False),
    ],
)
def test_each_word_of_a_misspelling_is_a_few_edits_from_its_counterpart(words, known, misspelt) -> None:
    assert fuzzy_names.is_misspelling(words, known) is misspelt
