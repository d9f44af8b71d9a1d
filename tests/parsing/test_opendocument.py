"""ODT and ODP become Markdown with their properties."""

import io
import zipfile
from datetime import UTC, datetime

import made_files
import pytest
from lxml import etree
from reading import Read, refusal

TEXT = """<office:text><text:tracked-changes><text:p>Deleted.</text:p></text:tracked-changes>
<text:h text:outline-level="2">Lime</text:h><text:p>Lime<text:s text:c="9"/>dries<text:line-break/>slowly
<office:annotation><text:p>Why?</text:p></office:annotation><text:note text:note-class="footnote">
<text:note-citation>1</text:note-citation><text:note-body><text:p>In caves.</text:p></text:note-body></text:note>.
</text:p><text:p><draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame></text:p>
<text:list><text:list-item><text:p>pipes</text:p><text:list><text:list-item>
<text:p><text:span>clay</text:span> ones</text:p></text:list-item></text:list></text:list-item></text:list>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>port</text:p></table:table-cell>
<table:table-cell><text:p>high</text:p></table:table-cell><table:table-cell><text:p>low</text:p></table:table-cell>
</table:table-row></table:table-header-rows><table:table-row>
<table:table-cell table:number-rows-spanned="2"><text:p>Lindau</text:p><text:p>east</text:p></table:table-cell>
<table:table-cell><text:p>3.5</text:p></table:table-cell><table:table-cell><text:p>1</text:p></table:table-cell>
</table:table-row><table:table-row><table:covered-table-cell/><table:table-cell><text:p>3.25</text:p></table:table-cell>
<table:table-cell/></table:table-row></table:table></office:text>"""
SLIDES = """<office:presentation><draw:page><draw:frame><draw:text-box><text:p>Twice a day</text:p></draw:text-box>
</draw:frame><draw:frame presentation:class="title"><draw:text-box><text:p>Tides</text:p></draw:text-box></draw:frame>
<presentation:notes><draw:frame><draw:text-box><text:p>Ask.</text:p></draw:text-box></draw:frame></presentation:notes>
</draw:page><draw:page><draw:frame><draw:text-box><text:p>Ports</text:p></draw:text-box></draw:frame></draw:page>
</office:presentation>"""


def test_a_text_has_headings_paragraphs_lists_tables_notes_and_comments(read: Read) -> None:
    (document,) = read(made_files.opendocument(TEXT), "a.odt")
    assert document.text == (
        "## Lime\n\nLime dries\nslowly (In caves.).\n\nboxed\n\n- pipes\n  - clay ones\n\n"
        "| port | high | low |\n| --- | --- | --- |\n| Lindau east | 3.5 | 1 |\n| Lindau east | 3.25 |  |\n\n"
        "Comment: Why?"
    )
    assert document.warnings == ("Left out as deleted text of tracked changes: 1 line.",)
    assert (document.title, document.metadata, document.language) == ("Mortar", {"author": "Ana Veit"}, "de")
    assert document.created_at == datetime(2021, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert document.page_starts == ()


@pytest.mark.parametrize("within", ["{}", "<text:section>{}</text:section>"], ids=["page", "section"])
def test_a_text_box_beside_the_paragraphs_is_text(read: Read, within: str) -> None:
    box = "<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame>"
    (document,) = read(
        made_files.opendocument(f"<office:text><text:p>Lime</text:p>{within.format(box)}</office:text>"), "a.odt"
    )
    assert (document.text, document.warnings) == ("Lime\n\nboxed", ())


def test_the_controls_of_a_form_are_text_at_their_places(read: Read) -> None:
    fields = (
        '<form:checkbox form:id="a" form:label="owner" form:current-state="checked"/>'
        '<form:radio form:id="b" form:label="tenant" form:current-selected="false" form:selected="true"/>'
        '<form:text form:id="c" form:current-value="Ana Veit"/><form:listbox form:id="d">'
        '<form:option form:label="weekly"/><form:option form:label="monthly" form:current-selected="true"/>'
        "</form:listbox>"
    )
    places = "".join(f'<draw:control draw:control="{id}"/>, ' for id in "abcx")
    body = (
        f"<office:text><office:forms><form:form>{fields}</form:form></office:forms><text:p>You: {places}end</text:p>"
        '<draw:control draw:control="d"/></office:text>'
    )
    (document,) = read(made_files.opendocument(body), "a.odt")
    assert (document.text, document.warnings) == ("You: ☒ owner, ☐ tenant, Ana Veit, , end\n\nmonthly", ())


def test_ids_may_have_any_form(read: Read) -> None:
    raw = made_files.opendocument('<office:text><text:p xml:id="a#1">Lime dries.</text:p></office:text>')
    assert read(raw, "a.odt")[0].text == "Lime dries."


def test_numbers_are_written_once_and_numbered_paragraphs_are_text(read: Read) -> None:
    item = "<text:list-item><text:number>1.</text:number><text:p>clay</text:p></text:list-item>"
    body = f"""<office:text><text:h text:outline-level="2"><text:number>1.</text:number>Lime</text:h><text:list>{item}
</text:list><text:numbered-paragraph><text:number>#</text:number><text:p>sand</text:p></text:numbered-paragraph>
</office:text>"""
    assert read(made_files.opendocument(body), "a.odt")[0].text == "## Lime\n\n- clay\n\nsand"


def test_a_chart_has_its_titles_and_the_rows_of_its_table(read: Read) -> None:
    rows = "".join(
        f"<t:table-row><t:table-cell>{name}</t:table-cell><t:table-cell><x:p>{value}</x:p></t:table-cell></t:table-row>"
        for name, value in (("", "High"), ("<x:p>Lindau</x:p>", "3.5"), ("<x:p>Husum</x:p>", "3.5"))
    )
    chart = f'<c:chart xmlns:c="c" xmlns:t="t" xmlns:x="x"><c:title><x:p>Tides</x:p></c:title>{rows}</c:chart>'
    raw = io.BytesIO(made_files.opendocument("<office:text><text:p>Lime</text:p></office:text>"))
    with zipfile.ZipFile(raw, "a") as archive:
        archive.writestr("Object 1/content.xml", chart)
    text = read(raw.getvalue(), "a.odt")[0].text
    assert text.split("\n\n") == ["Lime", "Tides", "High", "Lindau, 3.5", "Husum, 3.5"]


def test_each_slide_is_a_page_with_its_title_first(read: Read) -> None:
    (document,) = read(made_files.opendocument(SLIDES, kind="presentation"), "a.odp")
    assert document.text == "## Tides\n\nTwice a day\n\nAsk.\n\nPorts"
    assert document.page_starts == (0, document.text.index("Ports"))


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (made_files.opendocument(TEXT, encrypted=True), "encrypted"),
        (made_files.opendocument("<office:text><draw:frame/></office:text>"), "no_text"),
        (made_files.opendocument(TEXT)[:-30], "damaged"),
    ],
    ids=["encrypted", "picture", "truncated"],
)
def test_a_document_that_cannot_be_read_is_refused(read: Read, raw: bytes, code: str) -> None:
    assert refusal(read, raw, "a.odt") == code


def test_cells_that_are_repeated_more_often_than_any_table_has_are_refused(read: Read) -> None:
    cell = '<table:table-cell table:number-columns-repeated="999999999"><text:p>high</text:p></table:table-cell>'
    raw = made_files.opendocument(
        f"<office:text><table:table><table:table-row>{cell}</table:table-row></table:table></office:text>"
    )
    assert refusal(read, raw, "a.odt") == "parse_limit"


def test_elements_within_each_other_are_not_followed(read: Read) -> None:
    nested = made_files.opendocument("<text:list>" * 5_000 + "</text:list>" * 5_000)
    with pytest.raises(etree.XMLSyntaxError, match="depth"):
        read(nested, "a.odt")


def test_a_paragraph_in_the_style_for_titles_is_the_title_and_a_formula_is_written_once(read: Read) -> None:
    math = """<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><mi>high</mi><mo>=</mo><mn>35</mn></mrow>
</semantics></math>"""
    formula = (
        '<draw:frame><draw:object xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="./Object 1"/></draw:frame>'
    )
    for style in ("Title", "P1"):
        body = f"""<office:text><text:p text:style-name="{style}">Lime mortar</text:p>
<text:p>Where {formula} holds.</text:p>
<text:h text:outline-level="1">Mix</text:h></office:text>"""
        styles = '<style:style style:name="P1" style:parent-style-name="Title"/>'
        raw = made_files.opendocument(body, styles=styles, parts={"Object 1/content.xml": math})
        (document,) = read(raw, "a.odt")
        first, formula_line, last = document.text.split("\n\n")
        assert (first, last) == ("# Lime mortar", "# Mix")
        assert formula_line.count("35") == 1


def test_a_raised_number_is_no_digit_of_the_number_before_it(read: Read) -> None:
    style = '<style:style style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>'
    raised = '<text:span text:style-name="T1">%s</text:span>'
    line = f"About 10{raised % 6} cells of 5 m{raised % 2}, 1{raised % 1}/2 tsp, 4<text:span>th</text:span>"
    found = made_files.opendocument(f"<office:text><text:p>{line}</text:p></office:text>", styles=style)
    (document,) = read(found, "a.odt")
    assert (document.text, document.warnings) == ("About 10^6 cells of 5 m2, 1 1/2 tsp, 4th", ())
    cells = "".join(
        f"<table:table-cell office:value-type='string'><text:p>{text}</text:p></table:table-cell>"
        for text in ("unit", line)
    )
    rows = cells.replace("</table:table-cell>", "</table:table-cell></table:table-row><table:table-row>", 1)
    sheet = f"<table:table table:name='S'><table:table-row>{rows}</table:table-row></table:table>"
    found = made_files.opendocument(
        f"<office:spreadsheet>{sheet}</office:spreadsheet>", kind="spreadsheet", styles=style
    )
    assert read(found, "a.ods")[0].text == "unit: About 10^6 cells of 5 m2, 1 1/2 tsp, 4th"


def test_a_title_takes_no_number_of_the_headings_and_items_have_their_letters(read: Read) -> None:
    level = '<text:outline-level-style text:level="1" style:num-format="1" style:num-suffix="."/>'
    letters = '<text:list-level-style-number text:level="1" style:num-format="A" style:num-suffix="."/>'
    styles = f'<text:list-style style:name="L1">{letters}</text:list-style>'
    items = "".join(f"<text:list-item><text:p>{name}</text:p></text:list-item>" for name in ("lime", "sand"))
    body = f"""<office:text><text:p text:style-name="Title">Mortar</text:p><text:h text:outline-level="1">Mix</text:h>
<text:list text:style-name="L1">{items}</text:list></office:text>"""
    outline = f'<text:outline-style style:name="Outline">{level}</text:outline-style>'
    names = 'xmlns:{0}="urn:oasis:names:tc:opendocument:xmlns:{0}:1.0"'
    namespaces = " ".join(map(names.format, ("office", "style", "text")))
    parts = {
        "styles.xml": f"<office:document-styles {namespaces}><office:styles>{outline}</office:styles>"
        "</office:document-styles>"
    }
    (document,) = read(made_files.opendocument(body, styles=styles, parts=parts), "a.odt")
    assert document.text == "# Mortar\n\n# 1. Mix\n\nA. lime\nB. sand"


def test_shapes_and_pictures_in_a_paragraph_are_apart_from_its_words(read: Read) -> None:
    shape = "<draw:custom-shape><text:p>{}</text:p></draw:custom-shape>"
    group = f"<draw:g>{shape.format('low water')}{shape.format('ebb')}</draw:g>"
    picture = (
        "<draw:frame><draw:image/><svg:title>Pier at noon</svg:title><svg:desc>seen from sea</svg:desc></draw:frame>"
    )
    ruby = "<text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とうきょう</text:ruby-text></text:ruby>"
    first = f"Tide{shape.format('high water')} table{group} end"
    body = "".join(f"<text:p>{text}</text:p>" for text in (first, ruby, picture))
    (document,) = read(made_files.opendocument(f"<office:text>{body}</office:text>"), "a.odt")
    parts = "Tide table end", "high water", "low water", "ebb", "東京(とうきょう)", "Pier at noon seen from sea"
    assert document.text.split("\n\n") == [*parts]


def test_a_list_in_an_item_without_text_is_only_indented_and_the_picture_of_a_table_is_not_text(read: Read) -> None:
    item = "<text:list-item>{}</text:list-item>"
    inner = f"<text:list>{item.format('<text:p>clay</text:p>')}</text:list>"
    cells = "".join(f"<table:table-cell><text:p>{name}</text:p></table:table-cell>" for name in ("port", "high"))
    table = f"<table:table><table:table-row>{cells}</table:table-row></table:table><draw:image/>"
    body = f"""<office:presentation><draw:page><draw:frame><draw:text-box><text:list>{item.format(inner)}</text:list>
</draw:text-box></draw:frame><draw:frame>{table}</draw:frame></draw:page></office:presentation>"""
    (document,) = read(made_files.opendocument(body, kind="presentation"), "a.odp")
    assert (document.text, document.left_out) == ("  - clay\n\n| port | high |\n| --- | --- |", ())
