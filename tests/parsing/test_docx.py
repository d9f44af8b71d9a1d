"""DOCX becomes Markdown: headings, paragraphs, lists and tables in their order."""

import io
import zipfile
from typing import Any

import docx
import made_files
import pytest
from docx.oxml import parse_xml
from PIL import Image
from reading import Read, refusal

from app.errors import UnreadableFile


def test_structure_and_properties_are_kept_and_a_document_without_text_is_refused(read: Read) -> None:
    raw = made_files.word(
        "####### Mortar",
        "# Lime",
        "Below the third landing we use lime_mortar, 2 * 3 times.",
        "## Mix",
        "- one part lime",
        "- three parts sand",
        table=[["part", "kg"], ["lime", "20"]],
        title="Masonry",
        author="Ana Veit",
    )
    (document,) = read(raw, "a.docx")
    assert document.text == (
        "# Mortar\n\n# Lime\n\nBelow the third landing we use lime_mortar, 2 * 3 times.\n\n## Mix\n\n"
        "- one part lime\n- three parts sand\n\n| part | kg |\n| --- | --- |\n| lime | 20 |"
    )
    assert (document.title, document.metadata) == ("Masonry", {"author": "Ana Veit"})
    assert document.created_at is not None
    assert refusal(read, made_files.word(), "a.docx") == "no_text"


W = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)
FIELD = (
    '<w:r><w:fldChar w:fldCharType="begin"><w:ffData>%s</w:ffData></w:fldChar><w:fldChar w:fldCharType="end"/></w:r>'
)
BOX = FIELD % "<w:checkBox>%s</w:checkBox>"
ENTRIES = '<w:listEntry w:val="weekly"/><w:listEntry w:val="monthly"/>'
SHAPE = "http://schemas.microsoft.com/office/word/2010/wordprocessingShape"


PARAGRAPHS = {
    "simple field": ('<w:fldSimple w:instr="MERGEFIELD Name"><w:r><w:t>Ana</w:t></w:r></w:fldSimple>', "Ana"),
    "field": (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>SEQ</w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>7</w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
        "7",
    ),
    "checked": (BOX % '<w:default w:val="0"/><w:checked/>', "☒"),
    "unchecked": (BOX % '<w:default w:val="1"/><w:checked w:val="0"/>', "☐"),
    "default": (BOX % '<w:default w:val="1"/>' + BOX % "", "☒☐"),
    "chosen": (FIELD % f'<w:ddList><w:result w:val="1"/>{ENTRIES}</w:ddList>', "monthly"),
    "first entry": (FIELD % f"<w:ddList>{ENTRIES}</w:ddList>", "weekly"),
    "box of a font": ('<w:r><w:sym w:font="Wingdings" w:char="F0FE"/><w:t> paid</w:t></w:r>', "☒ paid"),
    "greek": ('<w:r><w:t>5 </w:t><w:sym w:font="Symbol" w:char="F06D"/><w:t>g</w:t></w:r>', "5 μg"),
    "hyphen": ("<w:r><w:t>EV</w:t><w:noBreakHyphen/><w:t>7741</w:t></w:r>", "EV-7741"),
    "tab": ("<w:r><w:t>Page</w:t><w:ptab/><w:t>Draft</w:t></w:r>", "Page Draft"),
    "formula": ("<m:oMath><m:r><m:t>x=12</m:t></m:r></m:oMath>", "$x=12$"),
    "formula with upright operators": (
        "<m:oMath><m:r><m:t>u</m:t></m:r><m:r><m:rPr><m:sty m:val='p'/></m:rPr><m:t>=</m:t></m:r><m:sSup><m:e><m:r>"
        "<m:t>2</m:t></m:r></m:e><m:sup><m:r><m:rPr><m:sty m:val='p'/></m:rPr><m:t>\u2212</m:t></m:r><m:r>"
        "<m:t>53</m:t></m:r></m:sup></m:sSup><m:r><m:rPr><m:sty m:val='p'/></m:rPr><m:t>\u2264</m:t></m:r>"
        "<m:r><m:rPr><m:sty m:val='p'/></m:rPr><m:t>fl</m:t></m:r><m:d><m:e><m:r><m:t>a</m:t></m:r></m:e></m:d>"
        "</m:oMath>",
        r"$u = 2^{ - 53} \le \mathrm{fl}\left(a\right)$",
    ),
    "text box": (
        f'<w:r><w:drawing><wp:inline><a:graphic><a:graphicData uri="{SHAPE}"><wps:wsp><wps:txbx>'
        "<w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></wps:txbx></wps:wsp>"
        "</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>",
        "boxed",
    ),
    "insertion": ('<w:ins w:id="1" w:author="a"><w:r><w:t>added</w:t></w:r></w:ins>', "added"),
    "move": (
        '<w:moveFrom w:id="1" w:author="a"><w:r><w:t>kiln</w:t></w:r></w:moveFrom><w:r><w:t>here</w:t></w:r>',
        "here",
    ),
    "crossed out": (
        "<w:r><w:rPr><w:strike/></w:rPr><w:t>33 N·m </w:t></w:r><w:r><w:rPr><w:b/><w:strike/></w:rPr>"
        '<w:t>dry</w:t></w:r><w:r><w:t xml:space="preserve"> 45 N·m</w:t></w:r>',
        "~~33 N·m dry~~ 45 N·m",
    ),
    "reading": (
        "<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>かんじ</w:t></w:r></w:rt>"
        "<w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby></w:r>",
        "漢字(かんじ)",
    ),
}


@pytest.mark.parametrize(("xml", "text"), PARAGRAPHS.values(), ids=PARAGRAPHS)
def test_fields_formulas_text_boxes_and_insertions_are_text(read: Read, xml: str, text: str) -> None:
    document = docx.Document()
    document.add_paragraph()._p.addnext(parse_xml(f"<w:p {W}>{xml}</w:p>"))
    (found,) = read(made_files.saved(document), "a.docx")
    assert (found.text, found.warnings) == (text, ())


def test_symbols_of_a_font_that_is_not_known_are_named(read: Read) -> None:
    document = docx.Document()
    symbols = '<w:sym w:font="Webdings" w:char="F0AB"/>' * 2
    document.add_paragraph()._p.addnext(parse_xml(f"<w:p {W}><w:r><w:t>5</w:t>{symbols}</w:r></w:p>"))
    (found,) = read(made_files.saved(document), "a.docx")
    assert (found.text, found.warnings) == ("5", ("Left out as symbols of fonts: Webdings.",))


def test_a_raised_number_is_no_digit_of_the_number_before_it(read: Read) -> None:
    document = docx.Document()
    line = document.add_paragraph()
    for number, text in enumerate(("About 10", "6", " cells of 5 m", "2", ", 1", "1", "/2 tsp")):
        line.add_run(text).font.superscript = number % 2 == 1
    (found,) = read(made_files.saved(document), "a.docx")
    assert (found.text, found.warnings) == ("About 10^6 cells of 5 m2, 1 1/2 tsp", ())


def test_a_table_of_contents_is_left_out_and_a_list_of_numbers_is_not(read: Read) -> None:
    names = ["Lime", "Clay", "Sand", "Pipes", "Tides"]
    entries = [
        f"{place + 1}. {name} ..... {page}"
        for place, (name, page) in enumerate(zip(names, (1, 1, 2, 5, 9), strict=True))
    ]
    amounts = [f"{name} {amount}" for name, amount in zip(names, (9, 12, 4, 5, 6), strict=True)]
    headings = [f"# {name}" for name in names]
    (found,) = read(made_files.word("Contents", *entries, "Below.", *headings), "a.docx")
    assert found.text.split("\n\n") == ["Contents", "Below.", *headings]
    assert found.warnings == ("Left out as the table of contents: 5 lines.",)
    (found,) = read(made_files.word(*amounts, *headings), "a.docx")
    assert found.text.split("\n\n") == [*amounts, *headings]


def test_a_merged_cell_is_repeated_so_that_no_row_is_shifted(read: Read) -> None:
    document = docx.Document()
    table = _table(document, ("Tides", "", ""), ("Lindau", "am", "3.5"), ("", "pm", "3.25"))
    table.cell(0, 0).merge(table.cell(0, 2))
    table.cell(1, 0).merge(table.cell(2, 0))
    (found,) = read(made_files.saved(document), "a.docx")
    assert found.text == "| Tides |  |  |\n| --- | --- | --- |\n| Lindau | am | 3.5 |\n| Lindau | pm | 3.25 |"


def test_paragraphs_with_a_blank_for_a_bullet_are_paragraphs(read: Read) -> None:
    source = zipfile.ZipFile(io.BytesIO(made_files.word("- lime", "- sand")))
    parts = {name: source.read(name) for name in source.namelist()}
    for mark, text in (("•", "- lime\n- sand"), (" ", "lime\n\nsand")):
        level = f'<w:lvl w:ilvl="0"><w:numFmt w:val="bullet" /><w:lvlText w:val="{mark}" /></w:lvl>'
        lists = f'<w:abstractNum w:abstractNumId="1">{level}</w:abstractNum>'
        numbers = "".join(f'<w:num w:numId="{n}"><w:abstractNumId w:val="1"/></w:num>' for n in range(1, 20))
        numbering = f"<w:numbering {W}>{lists}{numbers}</w:numbering>".encode()
        (found,) = read(made_files.archive(parts | {"word/numbering.xml": numbering}), "a.docx")
        assert found.text == text


def test_a_column_that_only_differing_borders_make_is_no_column(read: Read) -> None:
    document = docx.Document()
    long = "Lime dries slowly. " * 20
    table = _table(
        document, ("part", "", "kg", ""), ("lime", "20", "", ""), ("note", long, "", ""), ("sum", "60", "", "")
    )
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(0, 2).merge(table.cell(0, 3))
    for row in (1, 2, 3):
        table.cell(row, 1).merge(table.cell(row, 3))
    (found,) = read(made_files.saved(document), "a.docx")
    assert found.text.split("\n") == [
        "| part | kg |",
        "| --- | --- |",
        "| lime | 20 |",
        f"| note | {long.strip()} |",
        "| sum | 60 |",
    ]


def test_names_of_columns_on_two_rows_are_one_name(read: Read) -> None:
    document = docx.Document()
    table = _table(document, ("Plant", "Output", ""), ("", "2022", "2023"), ("Ulm", "5", "6"))
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 1).merge(table.cell(0, 2))
    (found,) = read(made_files.saved(document), "a.docx")
    assert found.text == "| Plant | Output 2022 | Output 2023 |\n| --- | --- | --- |\n| Ulm | 5 | 6 |"


def _table(document: Any, *rows: tuple[str, ...]) -> Any:
    table = document.add_table(rows=len(rows), cols=len(rows[0]))
    for number, row in enumerate(rows):
        for column, value in enumerate(row):
            table.cell(number, column).text = value
    return table


def test_a_row_in_content_controls_is_a_row(read: Read) -> None:
    document = docx.Document()
    table = _table(document, ("part", "kg"), ("lime", "20"), ("sand", "60"))._tbl
    content = "<w:sdt><w:sdtContent><w:sdt><w:sdtContent/></w:sdt></w:sdtContent></w:sdt>".replace(
        "sdt>", f"sdt {W}>", 1
    )
    control = parse_xml(content)
    control[0][0][0].append(table[-1])
    table.append(control)
    (found,) = read(made_files.saved(document), "a.docx")
    assert found.text.endswith("| lime | 20 |\n| sand | 60 |")


def test_titles_stand_above_the_names_of_columns_and_blank_rows_are_no_rows(read: Read) -> None:
    document = docx.Document()
    table = _table(document, ("Tides", "", ""), ("", "", ""), ("port", "am", "pm"), ("Lindau", "3.5", "-"))
    for row in (0, 1):
        table.cell(row, 0).merge(table.cell(row, 2))
    table.cell(2, 1).paragraphs[0].style = "Heading 2"
    (found,) = read(made_files.saved(document), "a.docx")
    assert found.text == "Tides:\n\n| port | am | pm |\n| --- | --- | --- |\n| Lindau | 3.5 | - |"


def test_a_table_that_frames_others_is_no_table_and_a_small_one_in_a_cell_stands_on_one_line(read: Read) -> None:
    document = docx.Document()
    frame = document.add_table(rows=1, cols=2)
    _table(frame.cell(0, 0), ("port", "am"), ("Lindau", "3.5"))
    _table(document, ("Below.",), ("It dries.",))
    outer = _table(document, ("port", "when"), ("Lindau", "daily"), ("Rorschach", ""))
    _table(outer.cell(2, 1), ("am", "3.5"), ("pm", "4"))
    (found,) = read(made_files.saved(document), "a.docx")
    assert found.text == (
        "| port | am |\n| --- | --- |\n| Lindau | 3.5 |\n\nBelow.\n\nIt dries.\n\n"
        "| port | when |\n| --- | --- |\n| Lindau | daily |\n| Rorschach | am 3.5; pm 4 |"
    )


def test_the_main_part_may_have_a_number(read: Read) -> None:
    source = zipfile.ZipFile(io.BytesIO(made_files.word("Lime dries slowly.")))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in source.namelist():
            content = source.read(name).replace(b"word/document.xml", b"word/document2.xml")
            archive.writestr(name.replace("document.xml", "document2.xml"), content)
    assert read(target.getvalue(), "a.docx")[0].text == "Lime dries slowly."


@pytest.mark.parametrize("text", ["Lime", ""])
def test_files_that_word_imports_are_named(read: Read, text: str) -> None:
    """Some programs convert HTML by a document that only imports it."""
    names = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    raw = made_files.word(text)
    for part, end, added in (
        ("word/document.xml", "<w:sectPr", f'<w:altChunk xmlns:r="{names}" r:id="x"/>'),
        (
            "word/_rels/document.xml.rels",
            "</Relationships>",
            f'<Relationship Id="x" Type="{names}/aFChunk" Target="a.mht"/>',
        ),
    ):
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            before, mark, after = archive.read(part).decode().rpartition(end)
        raw = made_files.replace_entry(raw, part, f"{before}{added}{mark}{after}")
    if text:
        assert read(raw, "a.docx")[0].warnings == ("Left out as imported files: word/a.mht.",)
    else:
        with pytest.raises(UnreadableFile, match="open and save it with Word"):
            read(raw, "a.docx")


def test_headers_footers_and_comments_follow_the_text_once_each_without_page_numbers(read: Read) -> None:
    document = docx.Document()
    run = document.add_paragraph().add_run("Lime dries slowly.")
    document.add_comment(run, text="How slowly?", author="Bo")
    for section in (document.sections[0], document.add_section()):
        section.header.is_linked_to_previous = False
        section.header.paragraphs[0].text = "Contract 4711"
        section.footer.paragraphs[0].text = f"Stepwell yard\t- {len(document.sections)} -"
    (found,) = read(made_files.saved(document), "a.docx")
    assert found.text.split("\n\n") == ["Lime dries slowly.", "Comment: How slowly?", "Contract 4711", "Stepwell yard"]
    assert found.warnings == ()


def test_deleted_text_and_large_pictures_without_ocr_are_named(read: Read) -> None:
    document = docx.Document()
    deleted = '<w:del w:id="1" w:author="a"><w:r><w:delText>not this</w:delText></w:r></w:del>'
    document.add_paragraph("Lime.")._p.append(parse_xml(deleted.replace(" w:id", f" {W} w:id", 1)))
    for side in (200, 20):
        picture = io.BytesIO()
        Image.new("L", (side, side)).save(picture, "PNG")
        document.add_picture(picture)._inline.docPr.set("descr", "A slaked pit" if side == 20 else "logo")
        document.add_picture(picture)._inline.docPr.set("descr", r"C:\Ana Veit\pit 1.jpg")
    (found,) = read(made_files.saved(document), "a.docx")
    assert found.text == "Lime.\n\nA slaked pit"
    assert found.warnings == (
        "Left out as deleted text of tracked changes: 1 line.",
        "Left out as pictures, whose text is read by OCR only: 2.",
    )
