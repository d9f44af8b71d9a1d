"""The guard names what a reader leaves out, and finds what it loses: a page, a cell, a number, a part."""

from __future__ import annotations

from collections.abc import Sequence

import made_files
import pytest

from app.parsing import guard
from app.parsing.files import ExtractedDocument, InputFile, LeftOut
from app.parsing.pages import pdf

PAGES = ["Payslip of Ana Lind\nGross pay: 2,950.00", "Payslip of Carla Moss\nGross pay: 4,120.00"]


def warnings(document: ExtractedDocument, parts: Sequence[str], where: str = "page") -> tuple[str, ...]:
    content = [(f"{where} {number}", part) for number, part in enumerate(parts, 1)]
    (checked,) = guard.check([document], lambda _raw: content, b"")
    return checked.warnings


def paged(*pages: str) -> ExtractedDocument:
    starts = [sum(len(page) + 2 for page in pages[:number]) for number in range(len(pages))]
    return ExtractedDocument("\n\n".join(pages), page_starts=tuple(starts))


def test_a_document_that_has_everything_has_no_warning() -> None:
    assert warnings(paged(*PAGES), PAGES) == ()


def test_a_lost_number_is_named_with_its_page() -> None:
    document = paged(PAGES[0], "Payslip of Carla Moss")
    assert warnings(document, PAGES) == (
        "Not in the stored text: 3 words and numbers of page 2, such as “gross”, “pay”, “4,120.00”.",
    )


def test_a_number_counts_as_often_as_the_file_has_it() -> None:
    (warning,) = warnings(ExtractedDocument("Fee 12 EUR"), ["Fee 12 EUR", "12"], "cell")
    assert warning == "Not in the stored text: 1 word or number of cell 2, such as “12”."


def test_letters_and_digits_that_are_torn_apart_are_lost() -> None:
    (warning,) = warnings(ExtractedDocument("F e r r y 5 2"), ["Ferry 52"])
    assert "“ferry”, “52”" in warning


def test_what_is_left_out_on_purpose_is_named_by_its_reason_and_is_no_loss() -> None:
    left_out = (
        LeftOut("lines repeated as headers", "Bay report", "page 2"),
        LeftOut("lines repeated as headers", "Bay report", "page 3"),
        LeftOut("pictures without OCR"),
    )
    document = ExtractedDocument("Bay report\nWinds", left_out=left_out)
    assert warnings(document, ["Bay report", "Bay report\nWinds", "Bay report"]) == (
        "Left out as lines repeated as headers: 2 lines, page 2, page 3.",
        "Left out as pictures without OCR: 1.",
    )


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a highway and a state-of-the-art pier", "a high-\nway and a state-of-the-\nart pier"),
        ("ﬁle size of the naïve café", "file size of the naïve cafe\u0301"),
        ("Head | Size\n- one", "HEAD\nsize\n• one"),
        ("数据库搜索", "数据\n库搜索"),
    ],
)
def test_other_forms_and_orders_of_the_same_words_are_no_loss(text: str, part: str) -> None:
    assert warnings(ExtractedDocument(text), [part]) == ()


def test_titles_and_metadata_are_stored_text() -> None:
    document = ExtractedDocument("See below.", title="Bay report", metadata={"team": ["tide 4"]})
    assert warnings(document, ["Bay report", "team: tide 4", "See below."]) == ()


def test_content_that_cannot_be_read_is_a_warning_and_no_failure() -> None:
    def content(_raw: bytes) -> list[tuple[str, str]]:
        raise ValueError("damaged")

    (checked,) = guard.check([ExtractedDocument("text")], content, b"")
    assert checked.warnings == (guard.UNKNOWN,)


def test_a_page_that_the_reader_of_pdf_drops_is_found() -> None:
    raw = made_files.pdf([["First page."], ["Second page of 1912."]])
    (document,) = pdf.read(InputFile(raw))
    cut = ExtractedDocument(document.text[: document.page_starts[1]])
    (checked,) = guard.check([cut], pdf.content, raw)
    assert checked.warnings[0].startswith("Not in the stored text: 4 words and numbers of page 2")


def test_a_word_that_is_in_the_text_and_in_a_field_of_a_record_is_no_loss() -> None:
    record = ExtractedDocument("The pier is shut.", metadata={"place": "pier 4"}, fragment="line=1")
    assert warnings(record, ["The pier is shut.\npier 4"], "line") == ()


def test_one_of_two_equal_lines_that_is_lost_is_found() -> None:
    (warning,) = warnings(ExtractedDocument("Fee 12 EUR\nTax"), ["Fee 12 EUR\nTax\nFee 12 EUR"])
    assert warning.startswith("Not in the stored text: 3 words and numbers")
