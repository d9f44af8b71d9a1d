"""The words by which texts with a name are found are words of every text with the name."""

from __future__ import annotations

import pytest

from app.text.names import name_probes, names
from app.text.names.name_probes import Probe


@pytest.mark.parametrize(
    ("key", "name", "found"),
    [
        ("harbour light", "Harbour Light", [("harbour light", "harbour"), ("harbourlight", "harbourlight")]),
        ("file txt", "file.txt", [("file txt", "file")]),
        ("lihua", "LiHua", [("lihua", "lihua"), ("li hua", "hua")]),
        ("2026 11", "2026.11", [("", "2026")]),
        ("muller", "Müller", [("muller", "muller")]),
        ("елка", "Ёлка", [("елка", "")]),
        ("かく", "がく", [("", "")]),
        ("c++", "C++", [("", "c")]),
        ("a" * names.MAX_WORD_LENGTH, "a" * 50, [("", "a" * names.MAX_WORD_LENGTH)]),
    ],
)
def test_each_form_of_a_name_has_words_of_the_index_and_one_to_search_for(
    key: str, name: str, found: list[tuple[str, str]]
) -> None:
    assert name_probes.probes(key, name) == [Probe(*one) for one in found]


@pytest.mark.parametrize(
    ("title", "folded", "plain", "numbers"),
    [
        ("Über uns", "uber uns", "über uns", ()),
        ("The file.txt of 12 May", "the file txt of may", "the file txt of may", ()),
        ("2026-11-24.md", "2026 md", "2026 md", ("2026",)),
        ("がく 12", "", "", ()),
    ],
)
def test_all_words_of_a_title_are_found_in_the_index(
    title: str, folded: str, plain: str, numbers: tuple[str, ...]
) -> None:
    name = names.title_name(title)
    assert name is not None
    words = name_probes.all_words(name)
    assert (words.text.folded, words.text.plain, words.numbers) == (folded, plain, numbers)
