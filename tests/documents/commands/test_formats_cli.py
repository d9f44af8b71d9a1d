"""`stepwell formats` lists the formats that are read, without a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app import runtime
from app.parsing import formats

Stepwell = Callable[..., Any]


def test_the_formats_are_listed_with_their_suffixes_and_what_is_read_with_and_without_ocr(
    stepwell: Stepwell, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = stepwell("formats", "--json").json
    assert {one["suffixes"][0]: one["read"] for one in listed if one["formats"] == ["RTF"]} == {
        ".rtf": "headings, paragraphs, list items, tables, notes, headers, footers; title, author, date"
    }
    assert {suffix.removeprefix(".") for one in listed for suffix in one["suffixes"]} == {
        suffix for one in formats.FORMATS for suffix in one.suffixes
    }
    shown = stepwell("formats").out
    assert all(name in shown for name in ("PDF", ".ipynb", "Markdown", 'pip install ".[ocr]"'))
    without = {one["formats"][0]: one for one in listed}
    assert (without["PNG"]["is_read"], without["PNG"]["read"], without["PDF"]["is_read"]) == (False, "", True)
    monkeypatch.setattr(runtime, "reads_pictures", lambda _settings: True)
    listed = {one["formats"][0]: one for one in stepwell("formats", "--json").json}
    assert all(one["is_read"] for one in listed.values())
    assert listed["PDF"]["read"] == f"{without['PDF']['read']}; by OCR scans and pictures"
    assert ".[ocr]" not in stepwell("formats").out
