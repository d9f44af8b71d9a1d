"""PDFs become text in reading order with headings, tables and pages. Unreadable PDFs are refused with a reason."""

import ctypes
import io
import itertools
import time
import zlib
from datetime import UTC, datetime

import made_files
import pypdfium2 as pdfium
import pytest
from pypdfium2 import raw as pdfium_c
from reading import Read, refusal
from reportlab.pdfgen.canvas import Canvas

from app.parsing.pages import page_layout, pdf, pdf_headings
from app.parsing.pages.page_layout import PageLine, TextRun

PROSE = ["The wind blows from the west in the morning and calms at night."] * 8
SIDES = ((0.0, "left"), (240.0, "right"))
WHOLE = made_files.pdf([PROSE])


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


def test_a_heading_is_where_the_outline_leads_not_in_a_running_header_that_repeats_it(read: Read) -> None:
    drawn = Canvas("")
    drawn.drawString(60, 800, "2 CURRENTS")
    for line, text in enumerate((*PROSE, "2 Currents", *PROSE)):
        drawn.drawString(60, 700 - 14 * line, text)
    drawn.bookmarkPage("c", fit="XYZ", left=0, top=700 - 14 * len(PROSE) + 14)
    drawn.addOutlineEntry("Currents", "c")
    (document,) = read(drawn.getpdfdata())
    assert "calms at night.\n\n## 2 Currents\n\nThe wind" in document.text
    assert "## 2 CURRENTS" not in document.text


def test_a_large_formula_is_no_heading() -> None:
    lines = [PageLine("The wind blows from the west in the morning.", 10.0), PageLine("2 √𝜋", 14.0, begins=True)]
    assert pdf_headings.find([[*lines, *lines[:1] * 8]], ()) == {}
    assert pdf_headings.find([[*lines[:1], PageLine("Wind √2", 14.0, begins=True), *lines[:1] * 8]], ()) != {}


def test_letters_that_are_sheared_to_be_italic_stay_in_their_line(read: Read) -> None:
    drawn = Canvas("")
    for line, text in enumerate(("The wind is", "It calms at night.")):
        drawn.drawString(60, 700 - 14 * line, text)
    sheared = drawn.beginText()
    sheared.setTextTransform(1, 0, 0.25, 1, 60 + drawn.stringWidth("The wind is "), 700)
    sheared.textOut("west")
    drawn.drawText(sheared)
    assert read(drawn.getpdfdata())[0].text == "The wind is west\nIt calms at night."


def test_what_programs_write_in_place_of_an_author_is_none(read: Read) -> None:
    files = [made_files.pdf([PROSE], author="(anonymous)"), made_files.word("Lime.", author="python-docx")]
    assert [read(raw)[0].metadata for raw in files] == [{}, {}]


@pytest.mark.parametrize(
    ("author", "authors"),
    [
        ("Ana Veit, Jan Berg and Eva Lind", ["Ana Veit", "Jan Berg", "Eva Lind"]),
        ("Veit, Ana; Berg, Jan;", ["Veit, Ana", "Berg, Jan"]),
        ("Veit, Ana and Berg, Jan", ["Veit, Ana", "Berg, Jan"]),
        ("Veit, Ana", "Veit, Ana"),
        ("Ana   Veit", "Ana Veit"),
        ("Food and Drug Office", "Food and Drug Office"),
    ],
)
def test_several_authors_are_a_list(read: Read, author: str, authors: object) -> None:
    assert read(made_files.pdf([PROSE], author=author))[0].metadata == {"author": authors}


@pytest.mark.parametrize(
    "title", ["Microsoft Word - tides", "my tides.docx", "plots/tides.graffle", "2", "(anonymous)"]
)
def test_what_programs_write_in_place_of_a_title_is_none(read: Read, title: str) -> None:
    (document,) = read(made_files.pdf([[title, *PROSE]], title=title))
    assert (document.title, document.text.startswith("#")) == ("", False)


def test_without_an_outline_lines_in_larger_fonts_become_headings_and_the_largest_the_title(read: Read) -> None:
    pages = [["### Bay report", "# Winds", *PROSE], ["# Currents", *PROSE]]
    (document,) = read(made_files.pdf(pages))
    assert document.text.startswith("# Bay report\n\n### Winds\n\nThe wind")
    assert "### Currents\n\nThe wind" in document.text


def test_the_title_in_the_properties_is_the_title_where_the_first_page_has_it(read: Read) -> None:
    pages = [["### Journal of the bay", "Winds and tides", "of 2012", *PROSE, "# Methods", *PROSE], PROSE]
    (document,) = read(made_files.pdf(pages, title="Winds and Tides of 2012"))
    assert [line for line in document.text.splitlines() if line.startswith("#")][1:] == [
        "# Winds and tides of 2012", "### Methods",
    ]  # fmt: skip


def test_words_in_other_fonts_and_raised_signs_make_no_heading_or_paragraph_of_their_line(read: Read) -> None:
    lines = [(0.0, 14.0 * n, "Helvetica 10", line) for n, line in enumerate(PROSE)]
    lines[4:4] = [(294.0, 38.0, "Helvetica 7", "2"), (301.0, 42.0, "Helvetica 10", "so far")]
    lines[2:2] = [(294.0, 14.0, "Courier 14", "chmod")]
    (document,) = read(made_files.placed(lines))
    assert document.text == "\n".join([PROSE[0], f"{PROSE[1]} chmod", PROSE[2], f"{PROSE[3]} 2 so far", *PROSE[4:]])


def test_lines_in_a_bold_font_become_headings_but_not_captions_rows_and_sentences(read: Read) -> None:
    bold = ["1 Winds", "Table 1: tides", "Port", "Ask the harbour master before you leave.", "2 Currents"]
    lines = [(0.0, 80.0 * n, "Helvetica-Bold 10", text) for n, text in enumerate(bold)]
    lines[3:3] = [(200.0, 160.0, "Helvetica-Bold 10", "High water"), (290.0, 160.0, "Helvetica-Bold 10", "Low water")]
    body = [(0.0, 80.0 * part + 14 * n, "Helvetica 10", PROSE[0]) for part in range(5) for n in (1, 2, 3)]
    (document,) = read(
        made_files.placed(
            [*lines, *body, (0.0, 394.0, "Helvetica-Bold 10", "Note:"), (34.0, 394.0, "Helvetica 10", "the wind")]
        )
    )
    assert [line for line in document.text.splitlines() if line.startswith("#")] == ["## 1 Winds", "## 2 Currents"]
    assert "\n\nPort High water Low water\n" in document.text


def test_a_bold_heading_in_a_slightly_larger_font_needs_no_space_above_it(read: Read) -> None:
    lines = [(0.0, 14.0 * n, "Helvetica 10", line) for n, line in enumerate(PROSE)]
    lines[4] = (0.0, 56.0, "Helvetica-Bold 11", "Currents")
    (document,) = read(made_files.placed(lines))
    assert "at night.\n\n## Currents\n\nThe wind" in document.text
    sizes = {"Wind.": 9.5, "Currents": 9.99, "Calm.": 9.5, "Rain.": 9.5}
    page = [PageLine(text, size, is_bold=size > 9.5) for text, size in sizes.items()]
    assert list(pdf_headings.find([page], ())) == [(0, 1)], "fonts of 9.5 and 10 points, as PDFium measures them"


def test_a_unit_with_a_raised_exponent_that_begins_a_line_is_no_heading(read: Read) -> None:
    lines = [(0.0, 14.0 * n, "Helvetica 10", line) for n, line in enumerate(PROSE)]
    lines[4:5] = [(0.0, 56.0, "Helvetica 10", "min"), (16.1, 51.0, "Helvetica 8", "-1")]
    (document,) = read(made_files.placed(lines))
    assert "at night.\nmin-1\nThe wind" in document.text


def test_the_rows_of_tables_count_as_lines_beside_which_headings_are_few() -> None:
    table = PageLine("| port | tide |\n| --- | --- |\n" + "| Merrow | 3.1 |\n" * 8, 10.0, is_block=True)
    headings = [PageLine(text, 14.0, begins=True) for text in ("1 Winds", "2 Tides")]
    page = [headings[0], PageLine("The wind is calm.", 10.0, begins=True), headings[1], table]
    assert sorted(pdf_headings.find([page], ())) == [(0, 0), (0, 2)]


def test_accents_that_are_drawn_over_letters_are_read_with_them(read: Read) -> None:
    line = [(0.0, "Schr"), (24.0, "\u00a8"), (24.0, "odinger,"), (78.0, "fur `x`"), (84.0, "\u00a8")]
    (document,) = read(made_files.placed([(x, 0.0, "Courier 10", text) for x, text in line]))
    assert (document.text, document.warnings) == ("Schrödinger, für `x`", ())


def test_ligatures_without_a_name_are_read_as_letters_and_bullets_as_bullets(read: Read) -> None:
    stream = zlib.compress(b"BT /F1 10 Tf 50 700 Td (\x88 X\x1c the \x1crst e\x1eciency) Tj ET")
    (document,) = read(made_files.pdf_of_streams(stream))
    assert (document.text, document.warnings) == ("• X\x1c the first efficiency", ())


def test_raised_marks_of_notes_and_affiliations_are_no_part_of_the_words_beside_them(read: Read) -> None:
    words = [(0, "Brandauer"), (54, "a"), (90, "2004"), (114, "12"), (150, "17"), (157, "Auler"), (220, "XVII")]
    words += [(244, "e"), (270, "1,310"), (300, "6"), (330, "2.10"), (354, "-3")]
    drawn = [(x, 0.0, "Courier 6", text) if len(text) < 3 else (x, 4.0, "Courier 10", text) for x, text in words]
    (document,) = read(made_files.placed(drawn))
    assert (document.text, document.warnings) == ("Brandauer a 2004 12 17 Auler XVIIe 1,310 6 2.10 -3", ())


def test_a_title_of_two_lines_is_one_heading_and_a_formula_in_a_larger_font_is_none(read: Read) -> None:
    title = [(0.0, 0.0, "Helvetica 20", "Winds of the bay"), (0.0, 25.0, "Helvetica 20", "and of the sea")]
    lines = [(0.0, 60 + 14.0 * n, "Helvetica 10", line) for n, line in enumerate(PROSE)]
    formulas = [(0.0, 190.0, "Helvetica 24", "F(1) = 2x + 3 (4.1)"), (0.0, 230.0, "Helvetica 24", '"Xn 2Xn 2 #1/2')]
    (document,) = read(made_files.placed([*title, *lines, *formulas]))
    assert document.text.startswith("# Winds of the bay and of the sea\n\nThe wind")
    assert document.text.endswith('\n\nF(1) = 2x + 3 (4.1)\n"Xn 2Xn 2 #1/2')


def test_page_numbers_and_headers_over_a_column_are_left_out_and_not_read_between_the_columns(read: Read) -> None:
    pages = [
        [(x, 40 + 14.0 * n, "Helvetica 10", f"{side} line {n} of page {word}") for x, side in SIDES for n in range(9)]
        + [(0.0, 0.0, "Helvetica 10", "Tides of the bay"), (0.0, 200.0, "Helvetica 10", f"{number}")]
        for number, word in enumerate(("one", "two", "three"), 1)
    ]
    (document,) = read(made_files.placed(*pages))
    assert "left line 8 of page two\nright line 0 of page two" in document.text
    assert document.text.count("Tides of the bay") == 1


def test_columns_are_read_one_after_the_other_under_a_heading_over_both(read: Read) -> None:
    rows = [(f"left line {n} of the text here", f"right line {n} of the text here") for n in range(12)]
    (document,) = read(made_files.two_columns(rows, "A heading over both of the columns"))
    lines = document.text.splitlines()
    assert lines[0] == "# A heading over both of the columns"
    order = [line for line in lines[1:] if line]
    assert order == [left for left, _ in rows] + [right for _, right in rows]


def test_columns_beside_a_text_that_is_wider_than_any_page_are_read_in_the_time_of_others(read: Read) -> None:
    columns = [(x, 14.0 * n, "Helvetica 10", f"{side} line {n} of the column") for x, side in SIDES for n in range(9)]
    began = time.process_time()
    (document,) = read(made_files.placed([*columns, (0.0, 200.0, "Helvetica 9000000", "Wide")]))
    assert time.process_time() - began < 2
    assert document.text.index(columns[-1][3]) > document.text.index(columns[0][3])


def test_a_heading_below_both_columns_stands_above_what_follows_them(read: Read) -> None:
    columns = [(x, 14.0 * n, "Helvetica 10", f"{side} line {n} of the column") for x, side in SIDES for n in range(9)]
    below = [(0.0, 170 + 14.0 * n, "Helvetica 10", f"{n} {PROSE[0]} as it is over both columns") for n in range(2)]
    (document,) = read(made_files.placed([*columns, (0.0, 145.0, "Helvetica-Bold 14", "How to take it"), *below]))
    assert document.text.partition("right line 8 of the column")[2].startswith("\n\n# How to take it\n\n0 The wind")


def test_columns_of_prose_with_a_list_or_a_table_in_them_are_read_one_after_the_other(read: Read) -> None:
    rows = [(f"left line {n}: {PROSE[0][:28]}", f"right line {n}: {PROSE[0][:28]}") for n in range(8)]
    rows[3:3] = [(f"port {n}", f"{n}.5 m") for n in range(12)]
    (document,) = read(made_files.two_columns(rows, "A heading over both of the columns"))
    order = [line for line in document.text.splitlines()[1:] if line]
    assert order == [left for left, _ in rows] + [right for _, right in rows]


def test_a_table_over_both_columns_is_read_row_by_row_and_tables_in_the_columns_one_after_the_other() -> None:
    prose = [TextRun(f"{side} line {n} of the text that the table is about", x, 200 - 14 * n, x + 150, 210 - 14 * n)
             for x, side in ((0, "left"), (170, "right")) for n in range(9)]  # fmt: skip
    over, beside = (
        [TextRun(f"{x} {n}", x, 280 - 14 * n, x + 20, 290 - 14 * n) for n in range(4) for x in places]
        for places in ((0, 120, 195, 250, 290), (40, 70, 230, 260))
    )
    left = prose[0].text
    read = [[line.text for line in page_layout.lines([*table, *prose])] for table in (over, beside)]
    assert read[0][:5] == [*(f"0 {n} 120 {n} 195 {n} 250 {n} 290 {n}" for n in range(4)), left]
    assert (read[1][3:5], read[1][13]) == (["40 3 70 3", left], "230 0 260 0")


def test_parts_of_a_line_and_columns_are_read_from_right_to_left_in_such_a_script() -> None:
    parts = [TextRun("שלום", 80, 0, 120, 10), TextRun("word רוח", 10, 0, 70, 10)]
    assert [line.text for line in page_layout.lines(parts)] == ["שלום word רוח"]
    places = [(x, 14 * y) for y in range(8) for x in (0, 200)]
    columns = [TextRun(f"הרוח נושבת ממערב בבוקר {x} {y}", x, y, x + 150, y + 10) for x, y in places]
    texts = [line.text for line in page_layout.lines(columns)]
    assert (texts[0], texts[8]) == ("הרוח נושבת ממערב בבוקר 200 98", "הרוח נושבת ממערב בבוקר 0 98")


def _cluster(text: str, drawn: str) -> str:
    """Glyphs with one text, as browsers and programs for texts write them."""
    return f"/Span << /ActualText <feff{text.encode('utf-16-be').hex()}> >> BDC {drawn} EMC"


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        ("<61> Tj 11 0 Td <62> Tj 11 0 Td <63> Tj 11 0 Td <64> Tj", "الأحد"),
        ("<61626364> Tj", "الأحد"),
        (_cluster("الأحد", "<78> Tj 11 0 Td <78> Tj"), "الأحد"),
        (" 11 0 Td ".join(_cluster(letter, "<78> Tj") for letter in "حئاصن"), "نصائح"),
        (f"{_cluster('का', '<78> Tj 11 0 Td <78> Tj')} 11 0 Td <6d> Tj 24 0 Td <6e> Tj", "काम न"),
        (f"{_cluster('ช้', '<78> Tj 18 1 Td <78> Tj')} -7 -1 Td <74> Tj", "ช้า"),
    ],
)
def test_letters_of_shaped_scripts_are_read_once_in_their_order_and_without_spaces_in_words(
    read: Read, drawn: str, text: str
) -> None:
    letters = {0x61: "د", 0x62: "ح", 0x63: "لأ", 0x64: "ا", 0x6D: "म", 0x6E: "न", 0x74: "า", 0x78: "x"}
    (document,) = read(made_files.pdf_of_glyphs(f"BT /F 20 Tf 100 100 Td {drawn} ET", letters))
    assert document.text == text


def test_columns_of_short_cells_without_lines_are_read_row_by_row(read: Read) -> None:
    rows = [(f"Port {n}", f"{n}.5 m") for n in range(12)]
    (document,) = read(made_files.two_columns(rows, "High water in all of the ports"))
    assert "Port 3 3.5 m\nPort 4 4.5 m" in document.text


TURNED = ["Barge 41 EUR north pier", "Ferry 52 EUR south pier"]
TURNS = ((90, 0), (90, 90), (180, 180), (270, -90), (0, 90), (0, -90), (0, 45))
TABLE = "| Port | High |\n| --- | --- |\n| Lindau | 3.5 m |\n| Bregenz | 4.1 m |"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (
            made_files.ruled_table([["Port", "High"], ["Lindau", "3.5 m"], ["Bregenz", "4.1 m"]]),
            f"The table below lists the tides.\n\n{TABLE}\n\nTides come twice a day.",
        ),
        *((made_files.turned_pdf(TURNED, rotation=page, angle=line), "\n".join(TURNED)) for page, line in TURNS),
        (
            made_files.turned_pdf(["Received 1912"], angle=90, level=["Tides of the bay", "and of the sea"]),
            "Tides of the bay\nand of the sea\n\nReceived 1912",
        ),
        (
            made_files.form_pdf({"Name": "Anna Lind", "Berth": "41"}, choice="Ferry", checked=True, note="Ask again"),
            "Name: Anna Lind\nBerth: 41\n\nFerry\n[x] Agreed\n\nNote: Ask again",
        ),
        (made_files.pdf([["First line", "-----", "last line"]]), "First line\n\\-----\nlast line"),
        (made_files.pdf([["1 Winds . . . . . . . . 12", "2 Currents .........", "and so on ..."]]),
         "1 Winds … 12\n2 Currents …\nand so on ..."),
        (WHOLE + b"\0" * 4_096, "\n".join(PROSE)),
        (WHOLE + b"<html>" * 1_000, "\n".join(PROSE)),
        (WHOLE.replace(b"%%EOF", b""), "\n".join(PROSE)),
    ],
    ids=["table between sentences", *(f"page {page}, lines {line}" for page, line in TURNS), "aside behind its page",
         "form and note", "like Markdown", "leaders", "padded", "followed by a page", "without its mark of the end"],
)  # fmt: skip
def test_a_page_has_its_text_as_it_is_read(read: Read, raw: bytes, text: str) -> None:
    (document,) = read(raw)
    assert (document.text, document.warnings) == (text, ())


@pytest.mark.parametrize("rotation", [90, 270])
def test_a_table_on_a_page_that_is_turned_is_read_upright(read: Read, rotation: int) -> None:
    (document,) = read(made_files.ruled_table([["Port", "High"], ["Lindau", "3.5 m"]], rotation=rotation))
    assert "The table below lists the tides.\n\n| Port | High |\n| --- | --- |\n| Lindau | 3.5 m |" in document.text


def test_a_high_form_field_is_no_heading(read: Read) -> None:
    drawn = Canvas("")
    for number, line in enumerate(PROSE):
        drawn.drawString(72, 700 - 14 * number, line)
    drawn.acroForm.textfield(value="Left arm was replaced", x=72, y=500, width=300, height=60, fieldFlags="multiline")
    (document,) = read(drawn.getpdfdata())
    assert document.text == "\n".join(PROSE) + "\n\nLeft arm was replaced"


def test_attached_files_and_stamps_whose_text_is_drawn_are_named(read: Read) -> None:
    made = pdfium.PdfDocument(made_files.pdf([PROSE]))
    made.new_attachment("annex A.csv").set_data(b"body,price\n")
    page = made[0]
    stamp = pdfium_c.FPDFPage_CreateAnnot(page, pdfium_c.FPDF_ANNOT_STAMP)
    pdfium_c.FPDFAnnot_SetRect(stamp, pdfium_c.FS_RECTF(300, 130, 500, 100))
    text = pdfium_c.FPDFPageObj_NewTextObj(made, b"Helvetica", 12.0)
    pdfium_c.FPDFText_SetText(text, (ctypes.c_ushort * 5)(*map(ord, "PAID"), 0))
    pdfium_c.FPDFAnnot_AppendObject(stamp, text)
    pdfium_c.FPDFPage_CloseAnnot(stamp)
    target = io.BytesIO()
    made.save(target)
    (document,) = read(target.getvalue())
    assert document.warnings == ("Left out as attachments: annex A.csv.", "Left out as stamps: page 1.")


def test_cells_of_spaced_letters_are_read_as_words(read: Read) -> None:
    (document,) = read(made_files.ruled_table([["Ship", "From"], ["Ferry", "03/25/2016"]], spaced=3.5))
    assert "| Ferry | 03/25/2016 |" in document.text


def test_a_cell_over_two_rows_of_a_table_is_repeated(read: Read) -> None:
    (document,) = read(made_files.merged_table([("Rare", "ringing in the ears"), ("", "kidney problems")]))
    assert document.text == "| Rare | ringing in the ears |\n| --- | --- |\n| Rare | kidney problems |"
    assert document.warnings == ()


def test_a_frame_around_lines_beside_a_column_of_numbers_is_no_table(read: Read) -> None:
    rows = [["Fee", "12"], ["Duty", "13"], ["Sum", "25"]]
    (document,) = read(made_files.merged_table(rows))
    assert document.text.endswith("Fee 12\nDuty 13\nSum 25")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (made_files.pdf([PROSE])[:600], "damaged"),
        (b"%PDF-1.7\n" + b"garbage " * 500 + b"%%EOF", "damaged"),
        (b"%PDF-1.7", "damaged"),
        (made_files.pdf([PROSE], password="secret"), "encrypted"),
        (made_files.image_only_pdf(), "no_text"),
    ],
    ids=["truncated", "corrupted", "header only", "encrypted", "image only"],
)
def test_a_pdf_that_cannot_be_read_is_refused_with_its_reason(read: Read, raw: bytes, code: str) -> None:
    assert refusal(read, raw) == code


def test_pages_that_are_damaged_are_named(read: Read) -> None:
    raw = made_files.pdf_of_streams(b"BT /F1 12 Tf 60 700 Td (Fee 12) Tj ET", filters="/Crypt", pages=3)
    (document,) = read(raw.replace(b"7 0 obj\n<< /Type", b"7 0 obj\n[[ /Type"))
    assert document.text.startswith("Fee 12\n\nFee 12")
    assert document.warnings == ("Damaged and not read: page 3 of 3.",)


def test_a_pdf_that_ends_within_its_last_change_is_read_with_a_warning(read: Read) -> None:
    (document,) = read(WHOLE + b"9 0 obj\n<< /Type /Page" + b" " * 5_000)
    assert document.text == "\n".join(PROSE)
    assert document.warnings == ("The end of the PDF is missing, so that pages may be missing: transfer it again.",)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("D:20240131093000+01'00'", datetime(2024, 1, 31, 8, 30, tzinfo=UTC)),
        ("D:2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("D:20240131093000Z00'00'", datetime(2024, 1, 31, 9, 30, tzinfo=UTC)),
        ("2024-01-31", datetime(2024, 1, 31, tzinfo=UTC)),
        ("2024-01-31T09:30:00+01:00", datetime(2024, 1, 31, 8, 30, tzinfo=UTC)),
        ("20240230", None),
        ("2024/01/31", None),
        ("2024 01 31", None),
        ("20240131/2", None),
        ("2024年1月31日", None),
        ("yesterday", None),
    ],
)
def test_dates_of_pdf_are_read_in_utc(text: str, moment: datetime | None) -> None:
    assert pdf.moment(text) == moment


def test_the_bars_of_slides_are_no_tables_and_what_is_beyond_the_page_is_left_out(read: Read) -> None:
    pages = [["Tides", "High at noon.", "later: Low."], ["Boats", "They float."], ["Ropes", "They are wet."]]
    (document,) = read(made_files.slide_pages(pages, "Ana | Harbour | 2025"))
    assert document.text == (
        "Tides\n\nHigh at noon.\n\nAna Harbour 2025\n\nBoats\n\nThey float.\n\nRopes\n\nThey are wet."
    )
    assert "Left out as text beyond the edges of the page: 1 line, page 1." in document.warnings
