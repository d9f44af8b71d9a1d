"""Plain text has headings: underlined lines and lines in capitals; the first one, or the NAME line, is the title."""

from __future__ import annotations

import pytest

from app.text.passages import chunking
from app.text.structure import plain_headings

MANUAL = """GREP(1)                     User Commands                    GREP(1)

NAME
       grep, egrep - print lines that match patterns

SYNOPSIS
       grep [OPTION...] PATTERNS [FILE...]

DESCRIPTION
       grep searches for PATTERNS in each FILE.  PATTERNS is one or
       more patterns separated by newline characters.

   Matching Control
       -e PATTERNS, --regexp=PATTERNS

EXIT STATUS
       Normally the exit status is 0 if a line is selected.
"""
NOTES = """Harbour notes
=============

Berths are let by the week.

Fees
----
A ferry pays 52 EUR.

OPENING HOURS
Monday to Friday, 8 to 16.
"""


def headings(text: str) -> list[tuple[int, str]]:
    return [(one.level, one.title) for one in plain_headings.find(text)]


def test_lines_in_capitals_of_a_manual_page_are_headings_and_its_name_is_the_title() -> None:
    assert headings(MANUAL) == [(2, "NAME"), (2, "SYNOPSIS"), (2, "DESCRIPTION"), (2, "EXIT STATUS")]
    assert plain_headings.title(MANUAL) == "grep, egrep - print lines that match patterns"


def test_underlined_lines_of_notes_are_headings_and_the_first_is_the_title() -> None:
    assert headings(NOTES) == [(1, "Harbour notes"), (2, "Fees"), (2, "OPENING HOURS")]
    assert plain_headings.title(NOTES) == "Harbour notes"


def test_passages_of_plain_text_have_their_headings() -> None:
    passages = chunking.split(MANUAL, kind="plain", target_tokens=12, max_tokens=60, overlap_tokens=0)
    paths = {passage.content.split()[0]: passage.heading_path for passage in passages}
    assert paths["Normally"] == ("EXIT STATUS",)


@pytest.mark.parametrize(
    "text",
    [
        "ALL OF IT IS IN CAPITALS\n\nAS IN AN OLD TELEX\n\nSTOP",
        "Dear Ana,\n\nACME HARBOUR LTD\n12 SOUTH PIER\n\nplease call us back\nas soon as you can.",
        "a line\n\nSKU-AB/1204-X9\n\nanother line\n\nand one more\n\nand one more",
        "a sentence\n\nTHIS IS A SENTENCE IN CAPITALS.\n\nanother line\n\nand one more\n\nmore",
        "a line\n\nID    NAME   PRICE\n1     bolt   3\n\nmore text\n\nand more",
        "Name   Price\n-----  -----\nbolt   3",
        "A short line\n----------------------------------------\nthe rest",
        "one line\nWARNING\nthe next line\n\nmore\n\nmore",
        '{\n  "KEY": 1\n}',
        "",
    ],
)
def test_other_lines_are_no_headings(text: str) -> None:
    assert headings(text) == []
    assert plain_headings.title(text) == ""


def test_a_heading_far_below_is_not_the_title() -> None:
    assert plain_headings.title("\n".join(f"line {n} of a log" for n in range(20)) + "\n\nSUMMARY\nall good") == ""
