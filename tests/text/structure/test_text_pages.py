"""Texts of pages lose page numbers and repeated headers, and words and sentences continue over page breaks."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from app.text.structure import pages
from app.text.words import cleaning


def of(*texts: str) -> tuple[str, list[str]]:
    """The cleaned text of pages, and its part on each page."""
    starts = [sum(len(text) + 2 for text in texts[:number]) for number in range(len(texts))]
    cleaned = pages.clean("\n\n".join(texts), starts)
    bounds = [*cleaned.starts, len(cleaned.text)]
    return cleaned.text, [cleaned.text[a:b].strip() for a, b in itertools.pairwise(bounds)]


def test_page_numbers_are_removed_and_a_running_header_is_kept_once() -> None:
    _text, parts = of(*(f"Tide report\n\nText {word}.\n\nPage {n} of 4" for n, word in enumerate("abcd", 1)))
    assert parts == ["Tide report\n\nText a.", "Text b.", "Text c.", "Text d."]


def test_headers_of_left_and_right_pages_and_of_chapters_are_recognised() -> None:
    texts = []
    for number in range(1, 13):
        chapter = f"{number}  Chapter {1 + number // 7}: Tides" if number % 2 else f"The book  {number}"
        texts.append(f"{chapter}\n\nText {'abcdefghijklm'[number]}.")
    _text, parts = of(*texts)
    assert [part.count("\n\n") for part in parts] == [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]


def test_equal_lines_inside_pages_headings_tables_and_lists_stay() -> None:
    page = "## Notes\n\n- same item\n\nFirst {0}.\n\nThe same sentence.\n\nLast {0}.\n\n| a | b |\n\n1. one"
    text, _parts = of(*(page.format(word) for word in "abcd"))
    assert text.count("The same sentence.") == text.count("## Notes") == text.count("| a | b |") == 4
    assert text.count("- same item") == text.count("1. one") == 4


def test_two_pages_with_one_line_in_common_keep_it() -> None:
    assert of("Same.\n\nText a.", "Same.\n\nText b.")[1] == ["Same.\n\nText a.", "Same.\n\nText b."]


def test_a_word_and_a_sentence_continue_over_the_break() -> None:
    text, parts = of("It is a har-", "bour of the lake", "where boats lie.", "## Tides", "They come.")
    assert text == "It is a harbour of the lake\nwhere boats lie.\n\n## Tides\n\nThey come."
    assert parts == ["It is a har", "bour of the lake", "where boats lie.", "## Tides", "They come."]


def test_an_empty_page_counts() -> None:
    assert of("", "One.", "", "Two.")[1] == ["", "One.", "", "Two."]
    assert of("har-", "", "bour")[1] == ["har", "", "bour"]


LINES = ["Header", "Page 3", "word", "Text.", "", "har-", "# Top", "| a |", "Footer 7"]
PAGE = st.lists(st.sampled_from(LINES), max_size=6)


@given(st.lists(PAGE.map("\n".join), max_size=8))
def test_no_word_but_page_numbers_is_lost_and_offsets_ascend_within_the_text(texts: list[str]) -> None:
    text, _parts = of(*texts)
    starts = pages.clean("\n\n".join(texts), [sum(len(t) + 2 for t in texts[:n]) for n in range(len(texts))]).starts
    assert list(starts) == sorted(starts)
    assert all(0 <= start <= len(text) for start in starts)
    for word in ("Header", "word", "Text.", "# Top", "| a |", "Footer"):
        assert (word in text) == any(word in cleaning.clean(page).text for page in texts)
