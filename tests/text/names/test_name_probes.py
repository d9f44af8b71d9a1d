"""Texts with a name are found by words of their index, and then by reading."""

from __future__ import annotations

import pytest

from app.text.names import gazetteer, name_probes, names
from app.text.names.name_probes import FormFinder, NumberedText


@pytest.mark.parametrize(
    ("key", "name", "found"),
    [
        ("harbour light", "Harbour Light", ["harbour light", "harbourlight"]),
        ("file txt", "file.txt", ["file txt"]),
        ("lihua", "LiHua", ["lihua", "li hua"]),
        ("2026 11", "2026.11", ["2026"]),
        ("may 12", "May 12", ["may"]),
        ("muller", "Müller", ["muller"]),
        ("елка", "Ёлка", ["елка"]),
        ("かく", "がく", [""]),
        ("c++", "C++", [""]),
        ("a" * names.MAX_WORD_LENGTH, "a" * 50, [""]),
    ],
)
def test_each_form_of_a_name_has_words_of_the_index(key: str, name: str, found: list[str]) -> None:
    assert [probe.indexed(without=()) for probe in name_probes.probes(key, name)] == found


def test_numbers_that_texts_write_with_dots_are_no_words_of_the_index() -> None:
    (probe,) = name_probes.probes("plan 2026", "Plan 2026")[:1]
    assert (probe.indexed(without=()), probe.indexed(without={"2026"})) == ("plan 2026", "plan")


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("Harbour Light", "the HARBOUR  light", True),
        ("Harbour Light", "the harbourlight", True),
        ("Harbour Light", "a light harbour, light", True),
        ("Harbour Light", "the harbour of light", False),
        ("Bank of England", "bank, of england", True),
        ("Bank of England", "bank of", False),
        ("Müller", "muller", True),
        ("LiHua", "with Li Hua", True),
        ("C++", "c is a letter", True),
        ("がく", "かく", True),
    ],
)
def test_a_text_with_a_form_of_a_name_is_found(name: str, text: str, is_found: bool) -> None:
    key = gazetteer.key(name)
    assert key is not None
    finder = FormFinder((probe.form, 5) for probe in name_probes.probes(key, name))
    assert finder.among([NumberedText(4, text), NumberedText(5, text)]) == [4] * is_found
