"""Presentations, books, messages and mailboxes become Markdown with their properties."""

import base64
import time
from datetime import UTC, datetime
from email.policy import EmailPolicy

import made_files
import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn
from pptx.util import Inches
from reading import Read, refusal

from app.parsing.mail import mail

CHAPTERS = {
    "one.xhtml": "<html><head><title>x</title></head><body><h1>Lime</h1><p>Lime dries slowly.</p></body></html>",
    "two words.xhtml": "<html><body><h1>Clay</h1><ul><li>pipes</li></ul></body></html>",
}


def test_each_slide_is_a_page_with_its_title_texts_tables_and_notes(read: Read) -> None:
    raw = made_files.slides(
        ("Tides", ["High water", "- twice a day"], "Ask the harbour office."),
        ("Ports", ["All ports"], ""),
        table=[["port", "high"], ["Lindau", "3.5"]],
    )
    (document,) = read(raw, "a.pptx")
    first, second = document.text[: document.page_starts[1]].strip(), document.text[document.page_starts[1] :]
    assert first == "## Tides\n\n- High water\n  - twice a day\n\nAsk the harbour office."
    assert document.title == "Tides"
    assert second == "## Ports\n\n- All ports\n\n| port | high |\n| --- | --- |\n| Lindau | 3.5 |"


def test_a_chart_stands_on_its_slide_with_its_title_series_categories_and_values(read: Read) -> None:
    deck = pptx.Presentation()
    for title, values in (("Tides", (2.5, 4.4)), ("Ports", (7, 8))):
        data = CategoryChartData()
        data.categories = ["Lindau", "Husum"]
        data.add_series("High", values)
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = title
        place = (Inches(1), Inches(1), Inches(3), Inches(3))
        chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data).chart
        chart.chart_title.text_frame.text = f"{title} of 2026"
    (document,) = read(made_files.saved(deck), "a.pptx")
    first, second = document.text[: document.page_starts[1]].strip(), document.text[document.page_starts[1] :]
    assert first == "## Tides\n\nTides of 2026\n\nHigh: Lindau 2.5, Husum 4.4"
    assert second == "## Ports\n\nPorts of 2026\n\nHigh: Lindau 7, Husum 8"


def test_a_raised_number_is_no_digit_of_the_number_before_it(read: Read) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    for frame in (slide.shapes.title.text_frame, slide.notes_slide.notes_text_frame):
        for text, raised in (("4 x 10", "0"), ("9", "30000"), ("/l, CO", "0"), ("2", "-25000")):
            run = frame.paragraphs[0].add_run()
            run.text = text
            run.font._element.set("baseline", raised)
    (document,) = read(made_files.saved(deck), "a.pptx")
    assert (document.text, document.warnings) == ("## 4 x 10^9/l, CO2\n\n4 x 10^9/l, CO2", ())


def test_the_number_of_a_slide_is_left_out_and_named(read: Read) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Tides"
    number = slide.shapes.add_textbox(0, 0, 9, 9)
    number.text_frame.text = "Page 17"
    number.element.nvSpPr.nvPr.append(parse_xml(f'<p:ph {nsdecls("p")} type="sldNum"/>'))
    other = slide.shapes.add_textbox(0, 0, 9, 9).text_frame.paragraphs[0]._p
    other.append(parse_xml(f'<a:fld {nsdecls("a")} type="slidenum"><a:t>17</a:t></a:fld>'))
    notes = slide.notes_slide.notes_placeholder
    notes.text_frame.text = "Yard"
    notes.element.nvSpPr.nvPr.find(qn("p:ph")).set("type", "hdr")
    (document,) = read(made_files.saved(deck), "a.pptx")
    assert document.text == "## Tides"
    assert document.warnings == ("Left out as footers, dates and numbers of slides: 3 lines.",)


def test_a_book_has_its_chapters_in_order_under_its_title_each_once(read: Read) -> None:
    raw = made_files.book(CHAPTERS, title="Mortar", author="Ana Veit", named=3_000)
    (document,) = read(raw, "a.epub")
    assert document.text == "## Lime\n\nLime dries slowly.\n\n## Clay\n\n- pipes"
    assert (document.title, document.metadata, document.language) == ("Mortar", {"author": "Ana Veit"}, "de")
    assert document.created_at == datetime(2021, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("named", "metadata"),
    [
        ("Ana Veit\nBob\nAna Veit", {"author": ["Ana Veit", "Bob"]}),
        ("Veit, Ana\nUnknown", {"author": "Veit, Ana"}),
        ("Unknown", {}),
    ],
)
def test_a_book_has_each_of_its_authors_once(read: Read, named: str, metadata: dict[str, object]) -> None:
    (document,) = read(made_files.book(CHAPTERS, title="Mortar", author=named), "a.epub")
    assert document.metadata == metadata


def test_a_chapter_that_is_missing_or_a_picture_is_named(read: Read) -> None:
    raw = made_files.book(
        {**CHAPTERS, "gone.xhtml": "<p>Gone</p>", "cover.svg": "<svg/>"}, title="Mortar", author="Ana"
    )
    raw = made_files.replace_entry(raw, "OEBPS/gone.xhtml", None)
    assert read(raw, "a.epub")[0].warnings == (
        "Left out as chapters that are not in the file: OEBPS/gone.xhtml.",
        "Left out as chapters that are pictures: OEBPS/cover.svg.",
    )


def test_a_protected_book_is_refused(read: Read) -> None:
    raw = made_files.book({"one.xhtml": CHAPTERS["one.xhtml"]}, title="x", author="y", encrypted="one.xhtml")
    assert refusal(read, raw, "a.epub") == "encrypted"


MESSAGE = """From: =?utf-8?q?Ana_M=C3=BCller?= <ana@example.org>
To: Bo Lund <bo@example.org>, cy@example.org
Subject: =?utf-8?q?H=C3=B6he_der_Flut?=
Date: Fri, 01 Mar 2024 10:00:00 +0100
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: {kind}; charset=utf-8
Content-Transfer-Encoding: 8bit

{body}
--b
Content-Type: application/pdf
Content-Disposition: attachment; filename="tides.pdf"
Content-Transfer-Encoding: base64

JVBERi0=
--b--
"""


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", "Die Flut kommt.", "From: Ana Müller\n\nDie Flut kommt."),
        ("text/html", "<html><h1>Flut</h1><p>Sie kommt.</p></html>", "From: Ana Müller\n\n## Flut\n\nSie kommt."),
        ("text/plain", "", ""),
    ],
)
def test_a_message_has_its_subject_people_and_date(read: Read, kind: str, body: str, text: str) -> None:
    (document,) = read(MESSAGE.format(kind=kind, body=body).encode(), "a.eml")
    assert (document.text.strip(), document.title) == (text, "Höhe der Flut")
    assert document.metadata == {
        "from": ["ana@example.org"],
        "to": ["bo@example.org", "cy@example.org"],
        "participants": ["Ana Müller", "Bo Lund", "cy@example.org"],
        "author": "Ana Müller",
        "attachments": ["tides.pdf"],
    }
    assert document.created_at == datetime(2024, 3, 1, 9, tzinfo=UTC)


def test_the_type_of_the_content_is_cut_and_parsed_once_a_message(read: Read) -> None:
    value = "text/plain; charset=utf-8; " + "(a)" * mail.MAX_CONTENT_HEADER
    began = time.process_time()
    EmailPolicy().header_fetch_parse("content-type", value[: mail.MAX_CONTENT_HEADER])
    parsed = time.process_time()
    assert read(f"Content-Type: {value}\n\nMörtel.".encode(), "a.eml")[0].text == "Mörtel."
    assert time.process_time() - parsed < 5 * (parsed - began)


def test_a_header_that_is_folded_or_encoded_as_a_whole_has_names_and_addresses(read: Read) -> None:
    encoded = base64.b64encode('"Veit, Zoë" <zoe@example.org>, Cy <cy@example.org>'.encode()).decode()
    (document,) = read(f"From: =?utf-8?b?{encoded}?=\n\nMortar.".encode(), "a.eml")
    assert document.metadata["participants"] == ["Veit, Zoë", "Cy"]
    assert document.metadata["from"] == ["zoe@example.org", "cy@example.org"]
    assert read(b"\xef\xbb\xbf\r\nSubject: Lime\r\n\r\nMortar.", "a.eml")[0].title == "Lime"
    (folded,) = read(b'From: "Veit,\r\n Ana" <ana@example.org>,\r\n Bo <bo@example.org>\r\n\r\nMortar.', "a.eml")
    assert folded.metadata["participants"] == ["Veit, Ana", "Bo"]


@pytest.mark.parametrize(
    ("given", "warnings"), [(300, ()), (301, ("people of the message: 1 left out of the metadata",))]
)
def test_the_first_of_many_recipients_are_in_the_metadata(read: Read, given: int, warnings: tuple[str, ...]) -> None:
    people = ", ".join(f"Bo {number} <bo{number}@example.org>" for number in range(given))
    (document,) = read(f"To: {people}\n\nMortar.".encode(), "a.eml")
    assert document.metadata["to"] == [f"bo{number}@example.org" for number in range(300)]
    assert document.warnings == warnings


@pytest.mark.parametrize("mark", ["(", "(a)", '"', "a.", "a@b.c,", "a:", "=?utf-8?q?a?= "])
def test_a_hostile_list_of_addresses_takes_little_time(read: Read, mark: str) -> None:
    """The library's parser of headers takes time that grows with the square of such marks, .4 s for 4,000."""
    began = time.process_time()
    assert read(f"To: {mark * 20_000}\nSubject: Lime\n\nMortar.".encode(), "a.eml")[0].title == "Lime"
    forwarded = f"Subject: Lime\nContent-Type: message/rfc822\n\nTo: {mark * 20_000}\n\nMortar."
    assert read(forwarded.encode(), "a.eml")[0].title == "Lime"
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "header",
    [
        f"From: Ana <ana@example.org> {'(' * 700}{')' * 700}",
        'From: "',
        f"Content-Disposition: inline {'(' * 700}",
        "Content-Type: text/plain; a*",
    ],
)
def test_a_message_with_a_malformed_header_is_read_without_it(read: Read, header: str) -> None:
    (document,) = read(f"Subject: Lime\n{header}\nTo: bo@example.org\n\nMortar.".encode(), "a.eml")
    known = {"to": ["bo@example.org"], "participants": ["bo@example.org"]}
    assert (document.title, document.metadata, document.text) == ("Lime", known, "Mortar.")


def test_texts_and_subjects_in_an_unknown_encoding_are_read_as_utf_8_or_windows_1252(read: Read) -> None:
    for encoding in ("utf-8", "cp1252"):
        raw = "Content-Type: text/plain; charset=none\nSubject: Größe\n\nMörtel.".encode(encoding)
        (document,) = read(raw, "a.eml")
        assert (document.title, document.text) == ("Größe", "Mörtel.")


@pytest.mark.parametrize(
    ("label", "encoding", "word"),
    [("iso-8859-8-i", "iso8859_8", "שלום"), ("windows-31j", "cp932", "港"), ("windows-874", "cp874", "ท่าเรือ")],
)
def test_names_of_encodings_that_mail_programs_write_are_known(
    read: Read, label: str, encoding: str, word: str
) -> None:
    subject = f"=?{label}?B?{base64.b64encode(word.encode(encoding)).decode()}?="
    head = f"Subject: {subject}\nContent-Type: text/plain; charset={label}\n\n".encode()
    (document,) = read(head + word.encode(encoding), "a.eml")
    assert (document.title, document.text, document.warnings) == (word, word, ())


def test_a_message_without_text_has_its_subject_and_is_refused_without_one(read: Read) -> None:
    (document,) = read(b"Subject: Lime is late\n\n", "a.eml")
    assert (document.title, document.text.strip()) == ("Lime is late", "")
    for raw in (b"Subject: \n\n", b"From: a\nContent-Type: multipart/mixed; boundary=b\n\n--b--"):
        assert refusal(read, raw, "a.eml") == "no_text"


def _message(kind: str, *parts: str) -> bytes:
    inner = "".join(f"--b\n{part}\n" for part in parts)
    return f"Subject: Lime\nMIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary=b\n\n{inner}--b--\n".encode()


HTML = "Content-Type: text/html; charset=utf-8\n\n"
PLAIN = "Content-Type: text/plain; charset=utf-8\n\n"
PICTURE = "Content-Type: image/png; name=pier.png\nContent-Disposition: inline; filename=pier.png\n\nx"
FORMS = "Content-Type: multipart/alternative; boundary=c\n\n--c\n{}\n--c\n{}\n--c--\n"
FORWARDED = "Content-Type: message/rfc822\n\nFrom: Bo <bo@example.org>\nSubject: Fees\n\nPay 52 EUR.\n"
CALENDAR = """Content-Type: text/calendar; charset=utf-8; method=REQUEST

BEGIN:VCALENDAR
BEGIN:VEVENT
SUMMARY:Lime burning
DTSTART;TZID=Europe/Berlin:20260301T100000
LOCATION:Pier 5
ATTENDEE;CN=Bo Lund:mailto:bo@example.org
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (_message("mixed", f"{HTML}<p># Lime <b>dry</b></p>", f"{PLAIN}# List"), "# Lime **dry**\n\n\\# List"),
        (_message("mixed", f"{PLAIN}One.", PICTURE, f"{PLAIN}Two."), "One.\n\nTwo."),
        (_message("mixed", f"{PLAIN}FYI", FORWARDED), "FYI\n\nFrom: Bo <bo@example.org>\nSubject: Fees\n\nPay 52 EUR."),
        (_message("alternative", f"{PLAIN}Lime dries.", f"{HTML}<p>Lime dries.</p>"), "Lime dries."),
        (_message("alternative", f"{PLAIN}See the HTML.", f"{HTML}<p>Lime dries in days</p>"), "Lime dries in days"),
        (_message("alternative", f"{PLAIN}Lime dries soon.", f"{HTML}<p>Lime dries soon: 7</p>"), "Lime dries soon: 7"),
        (
            _message("mixed", FORMS.format(f"{PLAIN}Come.", CALENDAR), CALENDAR),
            "Come.\n\nLime burning\nBegins: 2026-03-01 10:00 Europe/Berlin\n"
            "Attendees: Bo Lund <bo@example.org>\nPlace: Pier 5",
        ),
        (b"Subject: Lime\nContent-Type: multipart/mixed; boundary=c\n\nNo boundary.", "No boundary."),
        ("Subject: Lime\n\nMörtel 52".encode(), "Mörtel 52"),
        ("Subject: Lime\n\nŽluťoučký kůň úpěl u řeky.".encode("cp1250"), "Žluťoučký kůň úpěl u řeky."),
        ('Subject: Lime\nContent-Type: text/html\n\n<meta charset="latin2"><p>Łódź'.encode("iso-8859-2"), "Łódź"),
        (b"Subject: Lime\nContent-Type: text/plain; charset=us-ascii\n\nS\xf8ren", "Søren"),
    ],
    ids=["HTML and plain", "picture", "forwarded", "two forms", "stub", "number", "invitation", "no boundary", "UTF-8",
         "code page", "encoding in HTML", "wrong encoding"],
)  # fmt: skip
def test_a_message_has_all_its_texts_in_their_order(read: Read, raw: bytes, text: str) -> None:
    (document,) = read(raw, "a.eml")
    assert (document.text, document.title) == (text, "Lime")


@pytest.mark.parametrize(
    ("before", "broken", "text"),
    [
        ("LOCATION", "DTEND:202505\n", "Come.\n\nLime burning\nBegins: 2026-03-01 10:00 Europe/Berlin\nEnds: 202505\n"),
        ("LOCATION", "DTEND:TBD\n", "Come.\n\nBEGIN:VCALENDAR\n"),
        ("BEGIN:VEVENT", "TZID:X\nBEGIN:STANDARD\nEND:STANDARD\nEND:VTIMEZONE\n", "Come.\n\nBEGIN:VCALENDAR\n"),
    ],
)
def test_a_message_with_a_broken_invitation_is_read(read: Read, before: str, broken: str, text: str) -> None:
    calendar = CALENDAR.replace(before, f"{broken}{before}")
    (document,) = read(_message("mixed", f"{PLAIN}Come.", calendar), "a.eml")
    assert document.text.startswith(text)
    assert "Lime burning" in document.text


def test_what_is_left_out_of_a_message_is_named(read: Read) -> None:
    attached = "Content-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\nNote"
    forms = FORMS.format(f"{PLAIN}Lime", f"{HTML}<p>Lime</p>")
    (document,) = read(_message("mixed", forms, PICTURE, attached), "a.eml")
    assert document.metadata == {"attachments": ["pier.png", "a.txt"]}
    assert document.warnings == (
        "Left out as other forms of the same text: 1 line.",
        "Left out as pictures: pier.png.",
        "Left out as attachments: a.txt.",
    )


FROM = "From ana@example.org Fri Jul  8 12:08:34 2011\n"
MAILBOX = f"""{FROM}Message-ID: <1@example.org>
From: Ana <ana@example.org>
Subject: Lime

>From Lindau, and
From the lake at 12:30 too.

From 12:30 on.

{FROM}Message-ID: <1@example.org>
Subject: Clay

>>From pipes.

{FROM}Subject:

{FROM}Content-Type: text/html
Subject: Broken

{"<div>" * 5_000}x

{FROM}Subject: Last

"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_mailbox_has_its_messages(read: Read, end: str) -> None:
    documents = read(MAILBOX.replace("\n", end).encode(), "Inbox")
    assert [one.title for one in documents] == ["Lime", "Clay", "Last"]
    assert [one.fragment for one in documents] == ["id=1@example.org", "message=2", "message=5"]
    lines = "From: Ana From Lindau, and From the lake at 12:30 too. From 12:30 on."
    assert " ".join(documents[0].text.split()) == lines
    assert documents[1].text.strip() == ">From pipes."
    assert [one.warnings for one in documents] == [(), (), ("messages of the mailbox that cannot be read: 1 left out",)]


def test_a_mailbox_whose_messages_begin_without_a_date_has_them(read: Read) -> None:
    raw = "From a@b.c\nSubject: Lime\n\nIt\n\nFrom lindau:\nslakes.\n\nFrom c@d.e\nby\n\nFrom a@b.c\nSubject: Clay\n\n"
    assert [one.title for one in read(raw.encode(), "Inbox")] == ["Lime", "Clay"]


def test_a_mailbox_without_text_is_refused(read: Read) -> None:
    assert refusal(read, f"{FROM}Subject:\n\n".encode(), "a.mbox") == "no_text"
