"""Headers, footers and page numbers are left out and named; lines that differ in numbers are text."""

from collections.abc import Sequence

import pytest

from app.parsing.pages import headers_and_footers
from app.parsing.pages.page_layout import PageLine
from app.parsing.types import LeftOut


def remove(*pages: Sequence[str]) -> tuple[list[list[str]], tuple[LeftOut, ...]]:
    """The pages without margins, and what is left out; ` | ` is a wide gap in a line."""
    lines = [
        [PageLine(line.replace(" | ", " "), 10.0, parts=tuple(line.split(" | "))) for line in page] for page in pages
    ]
    kept, left_out = headers_and_footers.remove(lines)
    return [[line.text for line in page] for page in kept], left_out


def test_page_numbers_are_left_out_and_a_header_is_kept_once_and_both_are_named() -> None:
    kept, left_out = remove(*(["Tide report", f"Text {word}.", f"Page {n} of 4"] for n, word in enumerate("abcd", 1)))
    assert kept == [["Tide report", "Text a."], ["Text b."], ["Text c."], ["Text d."]]
    assert left_out == (
        LeftOut(headers_and_footers.HEADERS, "Tide report\nTide report\nTide report", "pages 2–4"),
        LeftOut(headers_and_footers.NUMBERS, "Page 1 of 4\nPage 2 of 4\nPage 3 of 4\nPage 4 of 4", "pages 1–4"),
    )


@pytest.mark.parametrize(
    "moment", ["11/30/26, 3:26 PM", "30.11.2026, 15:26", "2026/11/30 15:26", "26. 11. 30. 오후 3:26"]
)
def test_the_moment_at_which_a_browser_printed_the_page_is_part_of_a_header(moment: str) -> None:
    kept, _ = remove(*([f"{moment} | Tide report", f"Text {word}."] for word in "abc"))
    assert kept == [[f"{moment} Tide report", "Text a."], ["Text b."], ["Text c."]]


@pytest.mark.parametrize(
    "lines",
    [
        ["Gross pay: 3,200.00", "Gross pay: 2,950.00", "Gross pay: 4,120.00", "Gross pay: 2,777.70"],
        ["Gross pay: 2,950.00"] * 4,
        ["Station 1", "Station 2", "Station 3", "Station 4"],
        ["42 %", "31 %", "27 %", "42 %"],
        ["€ 15"] * 4,
        ["1912", "1913", "1914", "1915"],
        ["7", "3", "12", "5"],
        ["-4", "-3", "-2", "-1"],
        ["Invoice 2041", "Invoice 2042", "Invoice 2043", "Invoice 2044"],
        ["12.5", "13.5", "14.5", "15.5"],
        ["01:15", "02:15", "03:15", "04:15"],
        ["Total | 1", "Total | 2", "Total | 3", "Total | 4"],
    ],
)
def test_numbers_that_do_not_count_the_pages_stay(lines: Sequence[str]) -> None:
    pages = [[f"Body {word}.", line.replace(" | ", " ")] for word, line in zip("abcd", lines, strict=True)]
    kept, left_out = remove(*([page[0], line] for page, line in zip(pages, lines, strict=True)))
    assert (kept, left_out) == (pages, ())


@pytest.mark.parametrize(
    "form", ["{0}", "- {0} -", "Seite {0}", "{0} / 6", "p. {0}", "Tide report | {0}", "Tide report, page {0} of 6"]
)
def test_page_numbers_in_many_forms_are_left_out(form: str) -> None:
    kept, left_out = remove(*([f"Body {word}.", form.format(n)] for n, word in enumerate("abcdef", 7)))
    assert kept[1:] == [["Body b."], ["Body c."], ["Body d."], ["Body e."], ["Body f."]]
    assert headers_and_footers.NUMBERS in [one.reason for one in left_out]


def test_the_number_of_a_manual_beside_page_numbers_is_kept_once_and_a_code_alone_is_text() -> None:
    pages = [[f"Body {word}.", f"PC-24-01 | Page {n}"] for n, word in enumerate("abcd", 1)]
    assert remove(*pages)[0] == [["Body a.", "PC-24-01"], ["Body b."], ["Body c."], ["Body d."]]
    codes = [[f"Body {word}.", "PC-24-01"] for word in "abcd"]
    assert remove(*codes) == (codes, ())


def test_roman_numbers_and_numbers_that_begin_later_count_pages() -> None:
    kept, _left_out = remove(*([f"Body {number}.", number] for number in ("iii", "iv", "v", "1", "2", "3", "4")))
    assert kept == [[f"Body {number}."] for number in ("iii", "iv", "v", "1", "2", "3", "4")]


def test_headers_of_left_and_right_pages_and_of_chapters_are_recognised() -> None:
    pages = [
        [f"{n} | Chapter {1 + n // 7}: Tides" if n % 2 else f"The book | {n}", f"Text {n}.", "End."]
        for n in range(1, 13)
    ]
    kept, _left_out = remove(*pages)
    assert kept[0] == ["Chapter 1: Tides", "Text 1.", "End."]
    assert kept[1] == ["The book", "Text 2."]
    assert kept[2:6] == [["Text 3."], ["Text 4."], ["Text 5."], ["Text 6."]]


def test_lines_inside_pages_blocks_and_lines_of_two_pages_stay() -> None:
    pages = [["First", "Second", "The same sentence.", f"Last {word}", "End"] for word in "abcd"]
    assert [page[-2:] for page in remove(*pages)[0]] == [["Last a", "End"], ["The same sentence.", "Last b"]] + [
        ["The same sentence.", f"Last {word}"] for word in "cd"
    ]
    assert remove(["Same line.", "a"], ["Same line.", "b"])[1] == ()
    tables = [[PageLine("| a | b |", 10.0, is_block=True)]] * 4
    assert headers_and_footers.remove(tables) == (tables, ())


def test_the_number_of_a_slide_with_several_pages_is_left_out_and_a_share_is_text() -> None:
    numbers = ["1", "2", "2", "2", "3"]
    kept, left_out = remove(
        *([f"Text {word}.", f"Ana | Tides | {n} / 3"] for word, n in zip("abcde", numbers, strict=True))
    )
    assert kept == [["Text a.", "Ana Tides"], *([f"Text {word}."] for word in "bcde")]
    assert left_out[1] == LeftOut(headers_and_footers.NUMBERS, "1 / 3\n2 / 3\n2 / 3\n2 / 3\n3 / 3", "pages 1–5")
    shares = [[f"Text {word}.", f"Passed | {n} / 3"] for word, n in zip("abcde", "32131", strict=True)]
    assert remove(*shares)[1] == ()
