"""PDFs become text in reading order with headings, tables and pages; unreadable ones are refused with a reason."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import made_files
import pytest
from reading import Read, refusal

from app.parsing import pdf

PROSE = ["The wind blows from the west in the morning and calms at night."] * 8


def test_each_page_begins_at_its_offset(read: Read) -> None:
    (document,) = read(made_files.pdf([["First page."], ["Second page.", "It goes on."], ["Third page."]]))
    starts = [*document.page_starts, len(document.text)]
    pages = [document.text[start:end].strip() for start, end in itertools.pairwise(starts)]
    assert pages == ["First page.", "Second page.\nIt goes on.", "Third page."]


def test_headings_of_the_outline_become_headings(read: Read) -> None:
    pages = [["## Winds", *PROSE], ["## 2.1. Currents of the bay", *PROSE]]
    (document,) = read(made_files.pdf(pages, title="Bay report", author="Ana Veit"))
    assert "## Winds\n\nThe wind" in document.text
    assert "## 2.1. Currents of the bay\n\nThe wind" in document.text
    assert (document.title, document.metadata) == ("Bay report", {"author": "Ana Veit"})


def test_without_an_outline_lines_in_larger_fonts_become_headings_and_the_largest_the_title(read: Read) -> None:
    pages = [["### Bay report", "# Winds", *PROSE], ["# Currents", *PROSE]]
    (document,) = read(made_files.pdf(pages))
    assert document.text.startswith("# Bay report\n\n### Winds\n\nThe wind")
    assert "### Currents\n\nThe wind" in document.text


def test_columns_are_read_one_after_the_other_under_a_heading_over_both(read: Read) -> None:
    rows = [(f"left line {n} of the text here", f"right line {n} of the text here") for n in range(12)]
    (document,) = read(made_files.two_columns(rows, "A heading over both of the columns"))
    lines = document.text.splitlines()
    assert lines[0] == "# A heading over both of the columns"
    order = [line for line in lines[1:] if line]
    assert order == [left for left, _ in rows] + [right for _, right in rows]


def test_columns_of_short_cells_without_lines_are_read_row_by_row(read: Read) -> None:
    rows = [(f"Port {n}", f"{n}.5 m") for n in range(12)]
    (document,) = read(made_files.two_columns(rows, "High water in all of the ports"))
    assert "Port 3 3.5 m\nPort 4 4.5 m" in document.text


def test_a_ruled_table_becomes_a_markdown_table_between_its_sentences(read: Read) -> None:
    (document,) = read(made_files.ruled_table([["Port", "High"], ["Lindau", "3.5 m"], ["Bregenz", "4.1 m"]]))
    assert document.text == (
        "The table below lists the tides.\n\n"
        "| Port | High |\n| --- | --- |\n| Lindau | 3.5 m |\n| Bregenz | 4.1 m |\n\n"
        "Tides come twice a day."
    )


def test_lines_that_look_like_markdown_are_escaped(read: Read) -> None:
    (document,) = read(made_files.pdf([["First line", "-----", "last line"]]))
    assert document.text == "First line\n\\-----\nlast line"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (made_files.pdf([PROSE])[:-400], "damaged"),
        (b"%PDF-1.7\n" + b"garbage " * 500 + b"%%EOF", "damaged"),
        (b"%PDF-1.7", "damaged"),
        (made_files.pdf([PROSE], password="secret"), "encrypted"),
        (made_files.image_only_pdf(), "no_text"),
    ],
    ids=["truncated", "corrupted", "header only", "encrypted", "image only"],
)
def test_a_pdf_that_cannot_be_read_is_refused_with_its_reason(read: Read, raw: bytes, code: str) -> None:
    assert refusal(read, raw) == code


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("D:20240131093000+01'00'", datetime(2024, 1, 31, 8, 30, tzinfo=UTC)),
        ("D:2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("20240230", None),
        ("yesterday", None),
    ],
)
def test_dates_of_pdf_are_read_in_utc(text: str, moment: datetime | None) -> None:
    assert pdf.moment(text) == moment
