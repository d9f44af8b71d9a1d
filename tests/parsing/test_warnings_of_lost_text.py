"""The check of completeness names what a reader leaves out, and finds what it loses: a number, a line, a page."""

from collections.abc import Sequence

import made_files
import pytest

from app.parsing import completeness
from app.parsing.pages import pdf
from app.parsing.types import ExtractedDocument, InputFile, LeftOut

PAGES = ["Payslip of Ana Lind\nGross pay: 2,950.00", "Payslip of Carla Moss\nGross pay: 4,120.00"]


def warnings(document: ExtractedDocument, parts: Sequence[str]) -> tuple[str, ...]:
    content = [(f"page {number}", part) for number, part in enumerate(parts, 1)]
    (checked,) = completeness.check([document], lambda _raw: content, b"")
    return checked.warnings


def paged(*pages: str) -> ExtractedDocument:
    starts = [sum(len(page) + 2 for page in pages[:number]) for number in range(len(pages))]
    return ExtractedDocument("\n\n".join(pages), page_starts=tuple(starts))


@pytest.mark.parametrize(
    ("document", "parts", "lost"),
    [
        (
            paged(PAGES[0], "Payslip of Carla Moss"),
            PAGES,
            "3 words and numbers of page 2, such as “gross”, “pay”, “4,12",
        ),
        (ExtractedDocument("Fee 12 EUR"), ["Fee 12 EUR", "12"], "1 word or number of page 2, such as “12”."),
        (ExtractedDocument("F e r r y 5 2"), ["Ferry 52"], "2 words and numbers of page 1, such as “ferry”, “52”."),
        (ExtractedDocument("Fee 12 EUR\nTax"), ["Fee 12 EUR\nTax\nFee 12 EUR"], "3 words and numbers of page 1"),
    ],
    ids=["number", "once of twice", "torn letters", "one of two equal lines"],
)
def test_what_is_lost_is_named_with_its_place(document: ExtractedDocument, parts: list[str], lost: str) -> None:
    (warning,) = warnings(document, parts)
    assert warning.startswith(f"Not in the stored text: {lost}")


def test_what_is_left_out_on_purpose_is_named_by_its_reason_and_is_no_loss() -> None:
    left_out = (
        LeftOut("lines repeated as headers", "Bay report", "page 2"),
        LeftOut("lines repeated as headers", "Bay report", "page 3"),
        LeftOut("pictures without OCR"),
        LeftOut("attachments", where="a" * 1_000_000),
    )
    document = ExtractedDocument("Bay report\nWinds", left_out=left_out)
    assert warnings(document, ["Bay report", "Bay report\nWinds", "Bay report"]) == (
        "Left out as lines repeated as headers: 2 lines, page 2, page 3.",
        "Left out as pictures without OCR: 1.",
        f"Left out as attachments: {'a' * 200}.",
    )


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("\n\n".join(PAGES), "\n".join(PAGES)),
        ("a highway and a state-of-the-art pier", "a high-\nway and a state-of-the-\nart pier"),
        ("ﬁle size of the naïve café", "file size of the naïve cafe\u0301"),
        ("Head | Size\n- one", "HEAD\nsize\n• one"),
        ("数据库搜索", "数据\n库搜索"),
    ],
)
def test_other_forms_and_orders_of_the_same_words_are_no_loss(text: str, part: str) -> None:
    assert warnings(ExtractedDocument(text), [part]) == ()


def test_titles_and_metadata_are_stored_text_and_fields_of_records_are_counted_once() -> None:
    document = ExtractedDocument("See below.", title="Bay report", metadata={"team": ["tide 4"]})
    assert warnings(document, ["Bay report", "team: tide 4", "See below."]) == ()
    record = ExtractedDocument("The pier is shut.", metadata={"place": "pier 4"}, fragment="line=1")
    assert warnings(record, ["The pier is shut.\npier 4"]) == ()


def test_content_that_cannot_be_read_is_a_warning_and_no_failure() -> None:
    def content(_raw: bytes) -> list[tuple[str, str]]:
        raise ValueError("damaged")

    (checked,) = completeness.check([ExtractedDocument("text")], content, b"")
    assert checked.warnings == (completeness.UNKNOWN,)


def test_a_page_that_the_reader_of_pdf_drops_is_found() -> None:
    raw = made_files.pdf([["First page."], ["Second page of 1912."]])
    (document,) = pdf.read(InputFile(raw))
    cut = ExtractedDocument(document.text[: document.page_starts[1]])
    (checked,) = completeness.check([cut], pdf.content, raw)
    assert checked.warnings[0].startswith("Not in the stored text: 4 words and numbers of page 2")
