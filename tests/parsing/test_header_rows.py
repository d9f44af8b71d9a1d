"""The names of columns are found below titles and comments and on two rows, and what stands above them is kept."""

import base64
import io
import zlib

import made_files
import pytest
import xlsxwriter
from reading import Read

from app.parsing.rows import header_rows, sheets

N = None


@pytest.mark.parametrize(
    ("rows", "names", "above"),
    [
        ([["name", "price"], ["bolt", 3]], ["name", "price"], ""),
        ([["", "price"], ["a", 3], ["b", 4]], ["1", "price"], ""),
        ([["2", "", "2"], ["a", "b", 4], ["c", "d", 5]], ["2", "2 2", "2 3"], ""),
        ([["name", "city"], ["Ana", "Rome"], ["Bo", "Oslo"]], ["name", "city"], ""),
        ([["id", "name", "note"], [1, "a", N], [2, N, N], [3, N, N]], ["id", "name", "note"], ""),
        ([["Report", N, N], ["Port", 2024, 2025], ["Delft", 1, 2]], ["Port", "2024", "2025"], "Report"),
        ([["Report", "Report", "Report"], ["Port", "a", "b"], ["Delft", 1, 2]], ["Port", "a", "b"], "Report"),
        (
            [["By", "Ana", N, N], ["On", "5 May", N, N], ["a", "b", "c", "d"], [1, 2, 3, 4]],
            [*"abcd"],
            "By Ana\nOn 5 May",
        ),
        ([["## x", "", ""], ["#CHROM", "POS", "REF"], ["1", "2", "A"]], ["#CHROM", "POS", "REF"], "## x"),
        ([[N, "Fees", N], ["Port", "Small", "Large"], ["Delft", 1, 2]], ["Port", "Fees Small", "Fees Large"], ""),
        ([["Port", "Fees", N], [N, "Small", "Large"], ["Delft", 1, 2]], ["Port", "Fees Small", "Fees Large"], ""),
        (
            [["Name", "Ana", N], ["On", "5 May", N], [N, N, N], [*"abcd"], [1, "x", 3]],
            [*"abcd"],
            "Name Ana\nOn 5 May",
        ),
        ([["name", "city"], ["Ana", "Rome"], [N, N], ["Bo", "Oslo", "x"], ["Eva", "Ulm", 3]], ["name", "city"], ""),
        ([["X", "Q1", N, "Q2", N], [N, *"abab"], ["x", 1, 2, 3, 4]], ["X", "Q1 a", "Q1 b", "Q2 a", "Q2 b"], ""),
    ],
)
def test_names_are_found_below_titles_and_comments_and_on_two_rows(rows, names, above) -> None:
    table = header_rows.find(enumerate(rows, 1))
    assert (table.names, table.above) == (names, above)
    assert list(table.rows)[-1] == (len(rows), rows[-1])


MERGED = {
    "merged downwards": (
        [["Drug", "Day", "Day"], ["Drug", "A", "B"], ["C", "no", "yes"]],
        {1},
        ["Drug", "Day A", "Day B"],
        "",
    ),
    "below a title and its source": (
        [["Fees", "Fees", "Fees"], ["Source: x", N, N], ["Port", "CO2", "CO2"], ["Port", "a", "b"], ["Ulm", 1, 2]],
        {3},
        ["Port", "CO2 a", "CO2 b"],
        "Fees\nSource: x",
    ),
    "apart": ([["", "Q", "Q"], ["Who", "1st", "2nd"], ["Ana", "no", "yes"]], {1}, ["Who", "Q 1st", "Q 2nd"], ""),
    "blank below": ([["Drug", "Day", "Day"], ["", "A", "B"], ["C", "no", "yes"]], {1}, ["Drug", "Day A", "Day B"], ""),
    "one row": (
        [["Who", "Call", "Call"], ["Ana", "no", "yes"], ["Eva", "no", "yes"]],
        {1},
        ["Who", "Call", "Call 3"],
        "",
    ),
    "years": ([["", "P/E", "P/E"], ["Who", 2024, "2025e"], ["Ana", 9, 8]], {1}, ["Who", "P/E 2024", "P/E 2025e"], ""),
    "numbers": ([["", "P/E", "P/E"], ["Ana", 9, 2025], ["Eva", 9, 8]], {1}, ["1", "P/E", "P/E 3"], ""),
    "years as values": ([["Who", "Led", "Led"], ["Ana", 2019, 2025], ["Eva", 2, 8]], {1}, ["Who", "Led", "Led 3"], ""),
    "three rows": (
        [["", "2024", "2024"], ["", "Q1", "Q1"], ["Who", "Plan", "Real"], ["Ana", 3, 4], ["Eva", 5, 6]],
        {1, 2},
        ["Who", "2024 Q1 Plan", "2024 Q1 Real"],
        "",
    ),
    "title": ([["All", "All", ""], ["Who", "No", "On"], ["Ana", "5", "yes"]], {1}, ["Who", "No", "On"], "All"),
}


@pytest.mark.parametrize(("rows", "spanned", "names", "above"), MERGED.values(), ids=MERGED)
def test_the_names_below_merged_cells_of_words_are_found(rows, spanned, names, above) -> None:
    table = header_rows.find(enumerate(rows, 1), spanned)
    assert (table.names, table.above) == (names, above)


STACKED = {
    "other names": ([["Sea", "Ebb"], ["North", 12], [N], ["Who", "Since", "Pay"], ["Ana", "May", 5]], [0, 3]),
    "a title": ([["Sum", "Q"], ["Road", 1], [N], ["2025"], ["Sum", "Q"], ["Road", 2]], [0, 3]),
    "a row after a gap": ([["Name", "Qty"], ["A", 1], [N], ["B", "none"], ["C", 3]], [0]),
    "a note": ([["Name", "Qty"], ["A", 1], [N], ["As of May"], ["Draft"]], [0]),
    "a form": ([["Date", "1.5."], ["For", "Ana"], [N], ["No", "Part", "Price"], ["x", "Sand", 3]], [0]),
}


@pytest.mark.parametrize(("rows", "firsts"), STACKED.values(), ids=STACKED)
def test_tables_below_each_other_have_their_own_names(rows, firsts) -> None:
    assert list(header_rows.split(rows)) == list(zip(firsts, [*firsts[1:], len(rows)], strict=True))


def test_the_rows_of_the_second_table_of_a_sheet_have_its_names_and_title(read: Read) -> None:
    names, rows = ["Dept", "Q1"], [["Roads", 1], ["Parks", 3]]
    sheet = [["Budget 2024", N], names, *rows, [N, N], ["Budget 2025", N], names, *rows]
    documents = read(made_files.sheets({"A": sheet}), "a.xlsx")
    texts = [f"Dept: {dept}\nQ1: {sum}\ntable: Budget {year}" for year in (2024, 2025) for dept, sum in rows]
    assert [document.text for document in documents] == texts
    assert [document.fragment for document in documents] == [f"row={row}&sheet=A" for row in (3, 4, 8, 9)]
    form = [["Invoice", N, "No.", "2024-0815"], ["For", "Hofer", N, N], [N] * 4]
    above, item = read(made_files.sheets({"A": [*form, ["Pos", "Item", "Qty", "Price"], [1, "Sand", 2, 3]]}), "a.xlsx")
    assert (above.text, item.text.count("\n")) == ("Invoice No. 2024-0815\nFor Hofer", 5)


def test_a_title_is_metadata_of_each_row_and_a_long_text_is_a_document(read: Read) -> None:
    (document,) = read(b"Prices of 2026\nname;price\nbolt;3\n", "a.csv")
    text = "name: bolt\nprice: 3\ntable: Prices of 2026"
    assert (document.text, document.metadata) == (text, {"table": "Prices of 2026", "price": "3"})
    assert (document.fragment, document.warnings) == ("row=3", ())
    above, document = read(b"Offer 7,,\nTo,Ana,\nOn,5 May,\n,,\npart,kg,price,sum\nbolt,3,4,12\n", "a.csv")
    assert (above.text, document.metadata["table"]) == ("Offer 7\nTo Ana\nOn 5 May",) * 2
    assert document.text == f"part: bolt\nkg: 3\nprice: 4\nsum: 12\ntable: {above.text}"
    above, document = read(b"# " + b"word " * 60 + b"\nname;price\nbolt;3\n", "a.csv")
    assert document.metadata == {"price": "3"}
    assert (above.text.count("word"), above.fragment, document.fragment) == (60, "row=1", "row=3")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('"Price, EUR";"Size, cm";Name\n1;2;bolt\n', "Price, EUR: 1\nSize, cm: 2\nName: bolt"),
        ('a, b, c\nx, 3, "Rome, Italy"\n', "a: x\nb: 3\nc: Rome, Italy"),
        ("sep=;\na;b\nx, y;3\n", "a: x, y\nb: 3"),
        ("a;b;c\n1,5;2,5;3,5\n", "a: 1,5\nb: 2,5\nc: 3,5"),
        ("a,b\n01234,1.10\n", "a: 01234\nb: 1.10"),
        ('a,b\n"x" ,"y, z"\n', "a: x\nb: y, z"),
    ],
    ids=["names with commas", "space before a quote", "sep=", "decimal commas", "zeros", "space behind a quote"],
)
def test_the_delimiter_is_the_one_that_gives_regular_rows(read: Read, raw: str, text: str) -> None:
    (document,) = read(raw.encode(), "a.csv")
    assert "\n".join(line.strip() for line in document.text.split("\n")) == text


@pytest.mark.parametrize(
    ("raw", "values", "line"),
    [
        ('a,b\nx,"open\ny,2\nz,3\n', ['"open', "2", "3"], 2),
        ('a,b\nx,"open\ny,"2"\nz,"3, 4"\n', ['"open', "2", "3, 4"], 2),
        ('a\tb\nx\t1\ny\t"6 inch\nz\t7" valve\n', ["1", '"6 inch', '7" valve'], 3),
    ],
)
def test_a_quote_that_is_not_closed_swallows_no_rows(read: Read, raw: str, values: list[str], line: int) -> None:
    documents = read(raw.encode(), "a.csv")
    assert [document.metadata["b"] for document in documents] == values
    warning = f"Quotes that are not closed were read as text, in lines such as {line}."
    assert [document.warnings for document in documents] == [(), (), (warning,)]


def test_a_column_without_a_name_has_its_number_in_metadata_only(read: Read) -> None:
    first, _second = read(b",price\nbolt,3\nnut,4\n", "a.csv")
    assert (first.text, first.metadata) == ("bolt\nprice: 3", {"1": "bolt", "price": "3"})


def test_a_row_whose_text_is_blank_keeps_its_other_values(read: Read) -> None:
    first, second = read(b"text,price\nLime.,3\n,4\n", "a.csv")
    assert (first.text, second.text) == ("Lime.", "price: 4")


def workbook() -> bytes:
    target = io.BytesIO()
    with xlsxwriter.Workbook(target) as book:
        sheet = book.add_worksheet("Prices")
        sheet.merge_range("A1:E1", "Prices of 2026")
        sheet.write_row("A3", ["Region", "Town", "Rate", "Code", "Price"])
        sheet.merge_range("A4:A5", "North")
        formats = [book.add_format({"num_format": code}) for code in ("0.0%", "00000", '#,##0.00 "EUR"')]
        for row, town in enumerate(("Oslo", "Voss"), 3):
            sheet.write(row, 1, town)
            for column, (value, shown) in enumerate(zip((0.125, 1234, 1234.5), formats, strict=True), 2):
                sheet.write(row, column, value, shown)
        sheet.write_comment("B4", "Ask the harbour office")
        sheet.insert_textbox("H20", "Ask before Monday")
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=Prices!$E$4:$E$5"})
        chart.set_title({"name": "Prices in a chart"})
        sheet.insert_chart("H1", chart)
        book.add_worksheet("Notes").write("A1", "Only this")
        hidden = book.add_worksheet("Hidden")
        hidden.write("A1", "secret")
        hidden.hide()
    return target.getvalue()


def test_merged_cells_in_the_last_column_are_in_each_row_and_blank_ones_below_the_table_do_no_harm(read: Read) -> None:
    target = io.BytesIO()
    with xlsxwriter.Workbook(target) as book:
        sheet = book.add_worksheet()
        sheet.write_row("A1", ["Flat", "Growth", "Status"])
        for row, value in enumerate((0.034, -0.034, 0), 1):
            sheet.write(row, 0, f"{row}A")
            sheet.write(row, 1, value, book.add_format({"num_format": "+0.0%;-0.0%;0.0%"}))
        sheet.merge_range("C2:C4", "open")
        sheet.merge_range("A9:B9", "")
    texts = [document.text for document in read(target.getvalue(), "a.xlsx")]
    growth = ("+3.4%", "-3.4%", "0.0%")
    assert texts == [f"Flat: {n}A\nGrowth: {one}\nStatus: open" for n, one in enumerate(growth, 1)]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("\N{BLACK UP-POINTING TRIANGLE}0.0%;[Red]\N{BLACK DOWN-POINTING TRIANGLE}0.0%",
         ["\N{BLACK UP-POINTING TRIANGLE}12.0%", "-\N{BLACK DOWN-POINTING TRIANGLE}12.0%"]),
        ('#,##0.0" CR";#,##0.0" DR"', ["0.1 CR", "-0.1 DR"]),
        ('_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_)', ["$0.12", "-$0.12"]),
        ("0.00;[Red]0.00", ["0.12", "-0.12"]),
        ("(0.00)", ["(0.12)", "-0.12"]),
        ('0.00" (e)"', ["0.12 (e)", "-0.12 (e)"]),
    ],
)  # fmt: skip
def test_a_negative_number_has_a_minus_and_the_words_of_its_section_of_a_format(code: str, shown: list[str]) -> None:
    assert [sheets.show_number(value, code) for value in (0.12, -0.12)] == shown


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (98765432, "000-00-0000", "098-76-5432"),
        (98765432, '"No. "(00)\\.00', "No. (987654).32"),
        (9876.5, "# ##0.0##", "9 876.5"),
        (12, "#,##0.###", "12"),
        (12.5, '0.00"%"', "12.50%"),
        (98765432, "[<=9999999]###-####;(###) ###-####", ""),
        (5.5, "# ?/8", ""),
        (0.125, "%0", ""),
    ],
)
def test_digits_are_written_between_the_other_characters_of_a_format(value: float, code: str, shown: str) -> None:
    assert sheets.show_number(value, code) == shown


def test_a_sheet_keeps_merged_cells_and_shows_numbers_as_it_does_and_names_the_rest(read: Read) -> None:
    oslo, voss, notes = read(workbook(), "a.xlsx")
    row = "Region: North\nTown: Oslo\nRate: 12.5%\nCode: 01234\nPrice: 1,234.50 EUR"
    assert oslo.text == f"{row}\nsheet: Prices\ntable: Prices of 2026"
    assert voss.text.startswith("Region: North\nTown: Voss\n")
    numbers = {"Rate": 0.125, "Code": 1234, "Price": 1234.5}
    title = {"sheet": "Prices", "table": "Prices of 2026"}
    assert voss.metadata == {**title, "Region": "North", "Town": "Voss", **numbers}
    assert (notes.text, notes.fragment) == ("Only this", "row=1&sheet=Notes")
    assert notes.warnings == (
        "Left out as charts: 2 lines, Prices in a chart.",
        "Left out as text boxes: 1 line.",
        "Left out as comments of cells: 1 line, Prices B4.",
        "Left out as hidden sheets: Hidden.",
    )


def test_a_cell_over_several_columns_is_repeated_only_where_they_have_names_of_their_own(read: Read) -> None:
    target = io.BytesIO()
    with xlsxwriter.Workbook(target) as book:
        sheet = book.add_worksheet("Prices")
        sheet.write_row("A1", ["Port", "Q1", "Q2"])
        sheet.merge_range("D1:F1", "Note")
        sheet.merge_range("B2:C2", "3 EUR")
        sheet.merge_range("D2:F2", "Ask the office")
        sheet.write_row("A3", ["Voss", "4 EUR", "5 EUR", "none", "yet"])
        sheet.write("A2", "Oslo")
        sheet.merge_range("A4:F4", "All prices are without tax")
    oslo, voss, banner = read(target.getvalue(), "a.xlsx")
    assert banner.text == "Port: All prices are without tax"
    assert oslo.text == "Port: Oslo\nQ1: 3 EUR\nQ2: 3 EUR\nNote: Ask the office"
    assert voss.text == "Port: Voss\nQ1: 4 EUR\nQ2: 5 EUR\nNote: none\nNote 5: yet"


def test_formulas_without_a_result_and_with_an_error_are_named(read: Read) -> None:
    sheet = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'
        '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><f>A2*2</f></c><c r="C2"><f>A2*3</f><v></v></c>'
        '<c r="D2" t="str"><f>IF(A2,"","b")</f><v></v></c><c r="E2" s="1" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
        "</sheetData></worksheet>"
    )
    raw = made_files.replace_entry(made_files.sheets({"S": [["a"]]}), "xl/worksheets/sheet1.xml", sheet)
    (document,) = read(raw, "a.xlsx")
    assert document.warnings == (
        "Left out as formulas without a result in the file: S B2, S C2.",
        "Left out as cells with an error: S E2.",
        "Left out as columns without a value: S b.",
    )


def test_hours_are_shown_as_in_the_sheet_and_printed_headers_are_named(read: Read) -> None:
    target = io.BytesIO()
    with xlsxwriter.Workbook(target) as book:
        sheet = book.add_worksheet("May")
        sheet.set_header('&LRef: &"Arial,Bold"TC-4410 && more&RPage &P')
        sheet.set_footer("Page &P of &N")
        sheet.write_row("A1", ["who", "hours"])
        sheet.write("A2", "Ana")
        sheet.write("B2", 1.5625, book.add_format({"num_format": "[h]:mm"}))
    (document,) = read(target.getvalue(), "a.xlsx")
    assert document.text == "who: Ana\nhours: 37:30"
    assert document.warnings == ("Left out as printed headers and footers: 1 line, May.",)


def test_the_cells_of_an_ods_are_shown_and_merged_as_in_the_sheet(read: Read) -> None:
    def cell(text: str, kind: str = "string", more: str = "") -> str:
        return f'<table:table-cell office:value-type="{kind}" {more}><text:p>{text}</text:p></table:table-cell>'

    rows = [
        cell("Region") + cell("Town") + cell("Rate"),
        cell("North", more='table:number-rows-spanned="2"')
        + cell("Oslo")
        + cell("12,5 %", "percentage", 'office:value="0.125"'),
        "<table:covered-table-cell/>" + cell("Voss") + cell("(1,10)", "float", 'office:value="-1.1"'),
        cell("South") + cell("Bath") + cell("-", "float", 'office:value="0"'),
    ]
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    box = "<table:shapes><draw:frame><draw:text-box><text:p>Ask</text:p></draw:text-box></draw:frame></table:shapes>"
    table = f'<office:spreadsheet><table:table table:name="S">{box}{body}</table:table></office:spreadsheet>'
    oslo, voss, bath = read(made_files.opendocument(table, kind="spreadsheet"), "a.ods")
    assert (oslo.text, oslo.metadata["Rate"]) == ("Region: North\nTown: Oslo\nRate: 12,5 %", 0.125)
    assert (voss.text, voss.metadata["Rate"]) == ("Region: North\nTown: Voss\nRate: -1,10", -1.1)
    assert (bath.text, bath.warnings) == ("Region: South\nTown: Bath\nRate: 0", ("Left out as text boxes: 1 line.",))


XLS = (
    "c-rk)O=uHA6#iy+)BM<<q-}&&2%*rbwMfK^mv(JId$OdxC?aU8IY_0Ikb??hwbq*;cv8F+s^X>U#UHAoHxEKZ4}u`HiYHHkf`>Nidv9mkq(*4K7OV"
    "S(c{B6o&CZ+o-po$+^-OGb;(qfSmZ1wK3QibRMLI<(>{X(mcE{nOmxm}hKGqe&AtJIWfa#i7LFSP8o`ZpV)(eurM@olq5`81X+2k6cM|{XA_MuZ*6"
    "nh44P^v|f_*F0RsK^G9cg6OJ$lap3EV7eqXVpQ>*nRE0bQ~WrTBNO(q{2h#^IkMN5XVc7<8xP(Ya2j!?s(?J|J#tTsxb+Qj^6BWHplfaZo&dm+f%I"
    "xD}q~Oi4-GY1#z3#F_oG{BL&kWzB@_an|EqFPx|_`)hm$xN2xye8-0j)EvF9?#pU!7BD<V^LmB;5gCb@W&Jo31Zk(PuZMk9A&6TrNZlz})EgVjg$R"
    "M4`<tZD;<g*l&rzoW<^+)(sBu7`Y<mjrA4P8z080w@PlWiTPxy|4C`exr?+CD6rQF&dtFSS<o4Gzw859(YiT1#3@lI_xCo5&0D)J;-u7THL?Qr?!1"
    ">%!hKvAHO%Z8XkK!CQNCQF#lM$G`MHN{oN9w^DhkckWE%)H{2E<{u{SmHfugp*qy{YmCRXmn(hzeGu97%TX9IqA~*$j(&63VS(6EvK|b#W>8IOd!v"
    "l~()yVOAC(4;tNFCKkGZVRQ))M<PXjIy88KnRK$lUE2mBB^mY1;F3_>#qv0aZ0y1th(!idSbyER@NtB7&WKB?JIGP?vkHq;{5#xmYm7bnlzGO}oCN"
    "@>aR8O_raOW?DPA=AAuGRr8(vJW3VeE9I;<1d5K7bH_(mje147S!K$7AO_`&m{jW1~5XuJpEbQgJH^ZI9*ZvY(zkL&r&Pw<9#n=?5ELl7{Z|VF;sE"
    "<(#2I3&u7IQqknD-RXTp55<gdY{GZVb9li"
)
"""A compressed workbook: numbers with formats from B2 on; a hidden row, for which a merged cell below makes up."""


def test_the_numbers_of_an_xls_are_shown_as_in_the_sheet_if_no_row_is_hidden(read: Read) -> None:
    documents = read(zlib.decompress(base64.b85decode(XLS)), "a.xls")
    texts = ["Part: x\nRate: 12.5%", "Part: 00417\nRate: 1", "P: 7\nQ: 1", "P: 8\nQ: 2"]
    assert [document.text.partition("\nsheet: ")[0] for document in documents] == texts
    assert documents[1].metadata == {"sheet": "A", "Part": 417, "Rate": 1}


def test_repeated_cells_of_an_ods_are_all_shown_as_in_the_sheet(read: Read) -> None:
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    value = '<table:table-cell office:value-type="percentage" office:value="0.2" table:number-columns-repeated="2">'
    rows = (
        f"<table:table-row>{cell.format('Lime')}{cell.format('Clay')}</table:table-row>"
        f'<table:table-row table:number-rows-repeated="2">{value}<text:p>20 %</text:p></table:table-cell>'
        "</table:table-row>"
    )
    table = f'<office:spreadsheet><table:table table:name="S">{rows}</table:table></office:spreadsheet>'
    documents = read(made_files.opendocument(table, kind="spreadsheet"), "a.ods")
    assert [one.text for one in documents] == ["Lime: 20 %\nClay: 20 %"] * 2


def test_a_time_of_more_than_a_day_in_an_ods_is_hours_and_minutes(read: Read) -> None:
    cell = "<table:table-row><table:table-cell {}><text:p>{}</text:p></table:table-cell></table:table-row>"
    time = 'office:value-type="time" office:time-value="{}"'
    found = [("PT25H05M00S", "25:05:00"), ("-PT104H30M07S", "-104:30:07"), ("PT08H30M00S", "08:30")]
    rows = "".join(cell.format(time.format(value), shown) for value, shown in found)
    names = cell.format('office:value-type="string"', "worked")
    table = f'<office:spreadsheet><table:table table:name="S">{names}{rows}</table:table></office:spreadsheet>'
    documents = read(made_files.opendocument(table, kind="spreadsheet"), "a.ods")
    assert [one.text for one in documents] == ["worked: 25:05", "worked: -104:30:07", "worked: 08:30"]


def test_a_column_without_any_value_is_named(read: Read) -> None:
    (*_, last) = read(b"name;note;size\nbolt;;3\nnut; ;\n", "a.csv")
    assert last.warnings == ("Left out as columns without a value: note.",)


def test_columns_of_a_sheet_without_any_value_are_named_unless_the_sheet_has_names_alone(read: Read) -> None:
    stock, names = [["name", "note", "note", "size"], ["bolt", None, None, 3]], [["town", "fee"], [None, None]]
    (*_, last) = read(made_files.sheets({"Stock": stock, "Plan": names}), "a.xlsx")
    assert last.text == "town\nfee"
    assert last.warnings == ("Left out as columns without a value: Stock note.",)
