"""A hit is shown with its relevance and with what matches marked."""

from __future__ import annotations

from typing import Any

import pytest

from app.search.commands import hits


@pytest.mark.parametrize(
    ("text", "matches", "plain", "marked"),
    [
        ("Lime sets\nslowly, and lime.", [[0, 4], [22, 26]], "Lime sets slowly, and lime.", ["Lime", "lime"]),
        ("Setting\n \nLime\nsets.", [[10, 14]], "Setting  \nLime sets.", ["Lime"]),
    ],
)
def test_matches_are_marked_in_the_sentences(text: str, matches: Any, plain: str, marked: list[str]) -> None:
    shown = hits.sentences({"snippet": {"text": text, "matches": matches}})
    assert shown.plain == plain
    assert [plain[span.start : span.end] for span in shown.spans] == marked
