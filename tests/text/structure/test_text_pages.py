"""Words and sentences continue over page breaks, and nothing is lost."""

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
def test_no_word_is_lost_and_offsets_ascend_within_the_text(texts: list[str]) -> None:
    text, _parts = of(*texts)
    starts = pages.clean("\n\n".join(texts), [sum(len(t) + 2 for t in texts[:n]) for n in range(len(texts))]).starts
    assert list(starts) == sorted(starts)
    assert all(0 <= start <= len(text) for start in starts)
    for word in ("Header", "word", "Text.", "# Top", "| a |", "Page 3", "Footer 7"):
        assert (word in text) == any(word in cleaning.clean(page).text for page in texts)
