"""`stepwell formats` lists the formats that are read, without a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.parsing import formats

Stepwell = Callable[..., Any]


def test_the_formats_are_listed_with_their_suffixes_and_what_is_read(stepwell: Stepwell) -> None:
    listed = stepwell("formats", "--json").json
    assert {one["suffixes"][0]: one["read"] for one in listed if one["formats"] == ["RTF"]} == {
        ".rtf": "headings, paragraphs, list items, tables, notes; title, author, date"
    }
    assert {suffix.removeprefix(".") for one in listed for suffix in one["suffixes"]} == {
        suffix for one in formats.FORMATS for suffix in one.suffixes
    }
    shown = stepwell("formats").out
    assert all(name in shown for name in ("PDF", ".ipynb", "Markdown"))
