"""HTML becomes the main text of the page as Markdown."""

from datetime import UTC, datetime

import pytest
from reading import Read, refusal

from app.parsing.html import html_text
from app.parsing.types import ExtractedDocument

PAGE = """<!doctype html><html lang="de"><head><title>Lime  mortar</title><meta name="author" content="Ana Veit">
<meta property="article:published_time" content="2024-03-01T10:00:00+01:00"><style>p {color: red}</style></head><body>
<nav><a href="/">Home</a> <a href="/shop">Shop</a></nav><main><h1>Lime</h1>
<p>Below the third landing we use lime mortar, never cement, because it is softer than the stone.</p>
<h2>Mix</h2><ul><li>one part lime</li><li>three parts sand</li></ul>
<table><tr><th>part</th><th>kg</th></tr><tr><td>lime</td><td>20</td></tr></table>
<script>alert("x")</script></main><footer>Copyright Masons Ltd</footer></body></html>"""


def _lines(document: ExtractedDocument) -> list[str]:
    """The lines of a page that are not blank."""
    return [line.strip() for line in document.text.splitlines() if line.strip()]


def test_navigation_scripts_and_footer_are_left_out_and_structure_is_kept(read: Read) -> None:
    (document,) = read(PAGE.encode(), "a.html")
    text = "Below the third landing we use lime mortar, never cement, because it is softer than the stone."
    table = ["| part | kg |", "| --- | --- |", "| lime | 20 |"]
    assert _lines(document) == ["# Lime", text, "## Mix", "- one part lime", "- three parts sand", *table]
    assert (document.title, document.language) == ("Lime mortar", "de")
    assert document.metadata == {"author": "Ana Veit"}
    assert document.created_at is not None
    assert document.created_at.date().isoformat() == "2024-03-01"


@pytest.mark.parametrize(
    "fragment",
    [
        "<p>Lime.</p>",
        "<table><tr><td>Lime.</td></tr></table>",
        "Lime.",
        "<main>Lime.</main>",
        "<my-page>Lime.</my-page>",
    ],
)
@pytest.mark.parametrize("page", ["<html><body>{}</body></html>", "<!doctype html><title>T</title>{}"])
def test_a_short_page_is_kept_whole_with_and_without_the_tags_of_its_parts(read, fragment, page) -> None:
    (document,) = read(page.format(fragment).encode(), "a.html")
    assert "Lime." in document.text
    assert "T" not in document.text


def test_the_content_of_a_component_is_shown_and_other_templates_are_not(read: Read) -> None:
    root = '<template shadowrootmode="open"><h2>Kiln</h2><template><p>no</p></template><slot></slot></template>'
    page = f"<html><body><x-card>{root}<p>Lime dries.</p></x-card><template><p>no</p></template></body></html>"
    (document,) = read(page.encode(), "a.html")
    assert (document.text.strip(), document.warnings) == ("## Kiln\n\nLime dries.", ())


def test_a_page_that_is_navigation_only_is_kept(read: Read) -> None:
    (document,) = read(b"<html><body><nav><ul><li>Lime</li><li>Clay</li></ul></nav></body></html>", "a.html")
    assert {"Lime", "Clay"} <= set(document.text.split())


@pytest.mark.parametrize("main", ["<p>Lime</p>", ""])
def test_words_of_navigation_of_which_a_part_is_emphasised_are_whole(read: Read, main: str) -> None:
    page = f"<html><body><nav><a>Kiln<b>works</b></a><ul><li>Home</ul></nav>{main}</body></html>"
    (document,) = read(page.encode(), "a.html")
    expected = ("Lime", ("Left out as navigation: 2 lines.",)) if main else ("Kilnworks\n\n- Home", ())
    assert (document.text.strip(), document.warnings) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1251", "shift_jis"])
def test_a_declared_encoding_is_used(read: Read, encoding: str) -> None:
    words = {"utf-8": "Mörtel für Wände", "windows-1251": "Известковый раствор", "shift_jis": "石灰モルタル"}[encoding]
    html = f'<html><head><meta charset="{encoding}"></head><body><p>{words}</p></body></html>'
    (document,) = read(html.encode(encoding), "a.html")
    assert document.text.strip() == words


def test_a_page_without_text_has_its_title_and_is_refused_without_one(read: Read) -> None:
    (document,) = read(b"<html><head><title>Lime</title></head><body><img src=a.png></body></html>", "a.html")
    assert (document.title, document.text.strip()) == ("Lime", "")
    assert refusal(read, b"<html><body><img src=a.png><script>x()</script></body></html>", "a.html") == "no_text"


def test_nothing_is_loaded_and_entities_are_not_expanded(read: Read) -> None:
    bomb = '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    (document,) = read(f"{bomb}<html><body><p>Lime &b; &f; mortar.</p></body></html>".encode(), "a.html")
    assert "root:" not in document.text
    assert "aaaaaaaaaaaaaaaaaaaa" not in document.text


HOURS = "The harbour office opens at nine and closes at five on every working day of the week, except on holidays. "


@pytest.mark.parametrize(
    "body",
    [
        f"<form id=f method=post><input type=hidden value=x><h1>Berths</h1><p>{HOURS * 3}</p></form>",
        f"<form><main><h1>Berths</h1><p>{HOURS}</p></main></form>",
        f"<h1>Berths</h1><p>{HOURS}</p>",
        f"<header><h1>Berths</h1></header><main><p>{HOURS * 40}</p></main>",
        f"<div><h1><a>Berths</a></h1></div><div>{f'<p>{HOURS * 4}</p>' * 9}</div><div>Cookies</div>",
    ],
    ids=["form", "main in a form", "short", "heading above the main text", "heading in a link"],
)
@pytest.mark.parametrize("title", ["", "<title>Port of Lindau</title>"])
def test_forms_and_short_pages_keep_their_text_and_the_heading_of_the_page(read: Read, body: str, title: str) -> None:
    (document,) = read(f"<html><head>{title}</head><body>{body}</body></html>".encode(), "a.html")
    assert document.text.strip().startswith("# Berths")
    assert HOURS.strip() in document.text


def test_values_of_fields_are_text_and_options_that_are_not_chosen_are_named(read: Read) -> None:
    page = """<html><body><form><label>Ship</label><input name=a value="Ferry 52"><input type=hidden value=x>
    <input type=submit value=Send><input type=checkbox checked>Insured
    <select><option>Bregenz<option selected>Lindau</select><textarea>At noon</textarea>
    <button>Book</button><button>Cancel</button></form></body></html>"""
    (document,) = read(page.encode(), "a.html")
    assert document.text.split() == ["Ship", "Ferry", "52", "[x]", "Insured", "Lindau", "At", "noon", "Book", "Cancel"]
    assert document.warnings == ("Left out as options that are not chosen: 1 line.",)


def test_the_date_is_that_of_the_data_for_search_engines_if_no_element_declares_it(read: Read) -> None:
    data = '{"@type": "NewsArticle", "datePublished": "2025-05-08T11:00:00+02:00"}'
    data = f'<script type="application/ld+json">{data}</script>'
    (document,) = read(f"<html><head>{data}</head><body><p>Lime</p></body></html>".encode(), "a.html")
    assert document.created_at == datetime(2025, 5, 8, 9, tzinfo=UTC)
    declared = data.replace("</script>", '</script><meta name="date" content="2024-01-31">')
    (document,) = read(f"<html><head>{declared}</head><body><p>Lime</p></body></html>".encode(), "a.html")
    assert document.created_at == datetime(2024, 1, 31, tzinfo=UTC)


def test_a_raised_number_is_no_part_of_the_number_or_word_before_it(read: Read) -> None:
    page = """<p>10<sup>6</sup> cells, 10<sup>-3</sup> m<sup>2</sup>, 1<sup>1</sup>/<sub>2</sub> tsp, 2<sup>nd</sup>,
    &pound;310,000<a href="#n"><sup>3</sup></a>, in 1998.<sup>4</sup>, CO<sub>2</sub>,
    the mill<sup>5</sup> was old.<a><sup>12</sup></a> s min<sup>-1</sup>, 4 x 10<sup>9</sup>/l</p>"""
    (document,) = read(page.encode(), "a.html")
    assert " ".join(document.text.split()) == (
        "10^6 cells, 10^-3 m2, 1 1/2 tsp, 2nd, £310,000^3, in 1998.^4, CO2, the mill^5 was old.^12 s min-1, 4 x 10^9/l"
    )
    assert document.warnings == ()


def test_the_number_of_a_printed_page_does_not_divide_a_word_and_is_named(read: Read) -> None:
    page = """<p>The town was foun<span class="x pagenum">[Pg 13]</span>ded in 1253 <span role=doc-pagebreak>14</span>
    by the king<a epub:type="pagebreak" id=p15>15</a>.</p><div class=pagenum>Kept.</div>"""
    (document,) = read(page.encode(), "a.html")
    assert " ".join(document.text.split()) == "The town was founded in 1253 by the king. Kept."
    assert document.warnings == ("Left out as page numbers: 3 lines.",)


CONSENT = "<div role=dialog><h2>We value your privacy</h2><p>We store cookies.</p><button>Accept</button></div>"


def test_dialogs_trails_and_the_contents_of_the_page_itself_are_left_out_and_links_are_kept_apart(read: Read) -> None:
    parts = "".join(f"<h2>{part}</h2><p>Below the third landing.</p>" for part in ("Lime", "Sand", "Trass"))
    page = f"""<html><body>{CONSENT}<ol id=breadcrumbs><li>Home</li></ol><h1>Mortar</h1>
    <ul><li><a>Lime</a></li><li><a>Sand</a></li><li><a>Trass</a></li></ul>{parts}<a>Quarry</a><a>Kiln</a></body></html>"""
    (document,) = read(page.encode(), "a.html")
    below = "Below the third landing."
    assert " ".join(document.text.split()) == f"# Mortar ## Lime {below} ## Sand {below} ## Trass {below} Quarry Kiln"
    assert document.warnings == (
        "Left out as navigation: 1 line.",
        "Left out as dialogs: 3 lines.",
        "Left out as the table of contents: 3 lines.",
    )
    (kept,) = read(b"<html><body><div role=dialog><h1>Lime</h1><p>Slake it.</p></div></body></html>", "a.html")
    assert kept.text.split() == ["#", "Lime", "Slake", "it."]


def test_a_page_that_scripts_write_is_its_title_with_a_warning_and_not_its_dialog(read: Read) -> None:
    page = f"<html><title>Lime</title><body>{CONSENT}<div id=root></div><script>render()</script></body></html>"
    (document,) = read(page.encode(), "a.html")
    assert (document.title, document.text) == ("Lime", "")
    assert document.warnings[0] == "Only its title is text. If scripts write the page, save it from a browser."


def test_descriptions_of_pictures_are_text_and_names_of_their_kind_are_not(read: Read) -> None:
    (document,) = read(b"<p>See <img alt='Tides  of 1912'> and <img alt='logo' src='l.png'>below.</p>", "a.html")
    assert (document.text.split(), document.warnings) == (["See", "Tides", "of", "1912", "and", "below."], ())


def test_words_are_neither_joined_nor_cut(read: Read) -> None:
    page = "<html><details><summary>Fees</summary>Per day</details><p><b>L</b>ime<em> </em>kiln <b>dry</b></p></html>"
    (document,) = read(page.encode(), "a.html")
    assert document.text.split() == ["Fees", "Per", "day", "Lime", "kiln", "**dry**"]
    (document,) = read(
        b"<html><p>See <span><b>lib</b></span><span><em>lime</em></span> <span><b>2</b></span></p>", "a.html"
    )
    assert document.text == "See liblime **2**"
    (document,) = read(b"<html><p>Fee: <del>ten</del><ins>twelve</ins> euros</p></html>", "a.html")
    assert (document.text, document.warnings) == ("Fee: ~~ten~~twelve euros", ())


def test_readings_stand_behind_their_word(read: Read) -> None:
    word = "<ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp>京<rp>(</rp><rt>きょう</rt><rp>)</rp></ruby>"
    page = f"<!doctype html><body><p><ruby>{word}</ruby>都の<ruby>港</ruby></p></body>"
    (document,) = read(page.encode(), "a.html")
    assert (document.text.strip(), document.warnings) == ("東京(とうきょう)都の港", ())


@pytest.mark.parametrize(
    ("title", "heading", "expected"),
    [
        ("Lime mortar – Masons Ltd", "Lime mortar", "Lime mortar"),
        ("Lime mortar | Masons", "lime  mortar", "lime mortar"),
        ("Lime mortar — Masons", "Lime mortar\uf0c1", "Lime mortar"),
        ("Lime mortar", "Lime", "Lime mortar"),
        ("Lime mortar - Masons", "Masons", "Lime mortar - Masons"),
    ],
)
def test_a_title_is_without_the_name_of_the_site_if_the_heading_is(read, title, heading, expected) -> None:
    page = f"<html><title>{title}</title><body><h1>{heading}</h1><p>{HOURS}</p></body></html>"
    assert read(page.encode(), "a.html")[0].title == expected


def test_marks_in_a_heading_and_links_to_places_themselves_are_no_second_heading(read: Read) -> None:
    page = f"""<html><title>dbm — Databases</title><body><main><h1><code>dbm</code> —<br>Databases<a href=#d>¶</a></h1>
    <dl><dt>dbm.open(file)<a href=#o>¶</a><dd>{HOURS}</dl></main><p>Printed in 1912</p></body></html>"""
    (document,) = read(page.encode(), "a.html")
    assert document.text.split()[:8] == ["#", "`dbm`", "—", "Databases", "dbm.open(file)", ":", *HOURS.split()[:2]]
    assert document.warnings == ("Left out as text outside of the element that marks the main text: 1 line.",)


def test_tables_that_place_others_on_the_page_are_blocks(read: Read) -> None:
    page = """<html><table><tr><td>Kilns<td><h2>Fees</h2><p>Per day</p>
    <table><tr><th>Ship<th>Fee<tr><td>Ferry<td>52</table></table><table><tr><td>Closed</table></html>"""
    (document,) = read(page.encode(), "a.html")
    table = ["| Ship | Fee |", "| --- | --- |", "| Ferry | 52 |"]
    assert _lines(document) == ["Kilns", "## Fees", "Per day", *table, "Closed"]


def test_the_main_text_of_a_page_without_marks_keeps_its_headings(read: Read) -> None:
    sections = "".join(f"<div><div><h2>{n}. Kiln {n}</h2></div><p>{n} {HOURS * 20}</p></div>" for n in range(2, 9))
    entries = "".join(f"<li>{n}. Kiln {n}" for n in range(2, 9))
    page = f"<html><body><div>Home Shop</div><h1>Kilns</h1><ul>{entries}</ul>{sections}<p>See all.</p></body></html>"
    page = page.replace("</h1>", "</h1><pre>#\nburn {\n}\n}\n}\n</pre>")
    (document,) = read(page.encode(), "a.html")
    assert "burn {\n}\n}\n}" in document.text
    assert [line for line in document.text.split("\n") if line.startswith(("# ", "##", "-"))] == [
        "# Kilns",
        *(f"## {n}. Kiln {n}" for n in range(2, 9)),
    ]


def test_roles_and_classes_mark_navigation_and_the_main_text_as_their_elements_do(read: Read) -> None:
    page = f"""<html><body><div role=navigation><ul><li>Kilns<li>Quarries</ul></div><div class="top navbar">Home</div>
    <div role=main><h1>Lime mortar</h1><p>{HOURS}</p></div><div role=contentinfo>Masons Ltd</div></body></html>"""
    (document,) = read(page.encode(), "a.html")
    assert document.text.split() == ["#", "Lime", "mortar", *HOURS.split()]
    assert document.warnings == ("Left out as navigation: 3 lines.", "Left out as footers: 1 line.")


def test_the_text_of_a_docbook_page_is_whole_and_without_the_links_around_it(read: Read) -> None:
    page = f"""<html><body><p id=title><a>Product Site</a></p><ul class="docnav top"><li><a>Next</a></ul>
    <div class=section><div class=titlepage><h2>Lime mortar</h2></div><div class=para>{HOURS}</div>
    <div class=sidebar><div class=titlepage><p>TIP Sand</p></div></div></div>
    <ul class=docnav><li>Clay</ul></body></html>"""
    (document,) = read(page.encode(), "a.html")
    assert document.text.split() == ["##", "Lime", "mortar", *HOURS.split(), "TIP", "Sand"]
    assert any(warning.startswith("Left out as navigation") for warning in document.warnings)


def test_the_links_between_the_pages_of_a_texinfo_manual_are_navigation(read: Read) -> None:
    links = "<div class=header><p>Next: <a rel=next>Clay</a> &nbsp; [<a rel=index>Index</a>]</p></div>"
    (document,) = read(f"<html><body>{links}<h2>Lime mortar</h2><p>{HOURS}</p></body></html>".encode(), "a.html")
    assert document.text.split() == ["##", "Lime", "mortar", *HOURS.split()]
    assert document.warnings == ("Left out as navigation: 1 line.",)


@pytest.mark.parametrize("level", ["h1", "h2"])
def test_the_name_of_the_site_above_the_main_text_is_not_its_heading(read: Read, level: str) -> None:
    page = f"""<html><title>Lime mortar - The Mason's Guide</title><body><h1>The Mason's Guide</h1>
    <main><{level}>Lime mortar</{level}><p>{HOURS}</p></main></body></html>"""
    (document,) = read(page.encode(), "a.html")
    assert (document.title, document.text.split()[1:3]) == ("Lime mortar", ["Lime", "mortar"])


def test_cells_over_several_rows_and_columns_are_in_each_of_them(read: Read) -> None:
    page = """<html><table><caption>Fees</caption><tr><th>Ship<th colspan=2>Fee<tr><td rowspan=2>Ferry<td>52<td>EUR
    <tr><td>63<td>EUR<tr><td colspan=3>Winter<tr><td>Barge<td rowspan=9>41<td rowspan=99999>EUR</table></html>"""
    (document,) = read(page.encode(), "a.html")
    assert _lines(document) == [
        "Fees",
        "| Ship | Fee | Fee |",
        "| --- | --- | --- |",
        "| Ferry | 52 | EUR |",
        "| Ferry | 63 | EUR |",
        "| Winter |  |  |",
        "| Barge | 41 | EUR |",
    ]
    page = """<!doctype html><table><thead><tr><th rowspan=2>Ship<th colspan=2>Fee</tr>
    <tr><th>2022<th>2023</tr>
    </thead>
    <tbody>
    <tr><th colspan=3>Ferries</tr>
    <tr><th>Ulm<td>5<td>6</table>"""
    (document,) = read(page.encode(), "a.html")
    head, _rule, *rows = document.text.splitlines()
    assert (head, rows) == ("| Ship | Fee 2022 | Fee 2023 |", ["| Ferries |  |  |", "| Ulm | 5 | 6 |"])


def test_columns_that_only_lay_out_a_financial_table_are_left_out_and_their_signs_join_the_numbers(read: Read) -> None:
    page = """<html><table><tr><td style="width:1%"><td><td><td><td><td><td><td><td>
    <tr><td colspan=2><td colspan=3>2024<td><td colspan=3>2023
    <tr><td colspan=2>Net sales<td>$<td>4,310<td><td><td>$<td>3,982<td>
    <tr><td colspan=2>Decrease in 2024<td colspan=2>(41<td>)<td><td>$<td>(12<td>)%
    <tr><td>Wages<td><td colspan=2>7<td><td><td colspan=2>—</table>
    <table><tr><td colspan=2>Rent<td>€<td>Note<tr><td>Hall<td>890<td>€<td>3</table></html>"""
    (document,) = read(page.encode(), "a.html")
    assert _lines(document) == [
        "|  | 2024 | 2023 |",
        "| --- | --- | --- |",
        "| Net sales | $4,310 | $3,982 |",
        "| Decrease in 2024 | (41) | $(12)% |",
        "| Wages | 7 | \N{EM DASH} |",
        "| Rent | Rent | € | Note |",
        "| --- | --- | --- | --- |",
        "| Hall | 890 | € | 3 |",
    ]


def test_hidden_data_of_inline_xbrl_is_no_text(read: Read) -> None:
    page = f"""<?xml version="1.0"?><html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><body>
    <div><ix:header><ix:hidden><ix:nonNumeric name="a">0001900042</ix:nonNumeric></ix:hidden></ix:header></div>
    <p>{HOURS} <ix:nonFraction name="b" scale="6">4,310</ix:nonFraction></p></body></html>"""
    (document,) = read(page.encode(), "a.htm")
    assert document.text.split() == [*HOURS.split(), "4,310"]
    assert document.warnings == ("Left out as hidden data of inline XBRL: 1 line.",)


def test_spans_without_end_are_bounded(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_text, "MOST_ADDED", 2_000)
    rows = "<tr><td colspan=99999 rowspan=99999>x" * 300
    assert len(read(f"<html><table>{rows}</table></html>".encode(), "a.html")[0].text) < 100_000


def test_a_saved_page_has_the_text_of_the_page_and_of_its_frames(read: Read) -> None:
    raw = f"""From: <Saved by Blink>
Subject: =?utf-8?Q?Caf=C3=A9?=
Content-Type: multipart/related; type="text/html"; boundary="b"

--b
Content-Type: text/html
Content-Transfer-Encoding: quoted-printable

<html><body><form><p>{HOURS}</p><p>caf=C3=A9</p></form><iframe src=3D"cid:1"></iframe></body></html>
--b
Content-Type: text/css

p {{ color: red }}
--b
Content-Type: text/html; charset=iso-8859-2
Content-Transfer-Encoding: 8bit
Content-Location: cid:1

<p>\xa3</p>
--b--
""".replace("\n", "\r\n").encode("latin-1")
    for name in ("page.mht", "saved"):
        (document,) = read(raw, name)
        assert document.title == "Café"
        assert document.text.split() == [*HOURS.split(), "café", "Ł"]


MATH = "<math><semantics><mrow><mi>x</mi><mo>=</mo><msup><mn>2</mn><mi>n</mi></msup></mrow>%s</semantics></math>"
TEX = '<annotation encoding="application/x-tex">%s</annotation>'


@pytest.mark.parametrize(
    "formula",
    [
        MATH % TEX % "x = 2^n",
        '<span class="katex"><span>' + MATH % TEX % "x = 2^n" + '</span><span class="katex-html">x=2n</span></span>',
        MATH % TEX % r"{\displaystyle x = 2^n}" + r'<img src="a.svg" alt="{\displaystyle x = 2^n}">',
    ],
    ids=["MathML", "KaTeX", "MediaWiki"],
)
def test_a_formula_is_written_once_in_tex(read: Read, formula: str) -> None:
    (document,) = read(f"<html><h1>Sizes</h1><p>Where {formula} holds, n is the size.</p></html>".encode(), "a.html")
    assert " ".join(document.text.split()) == "# Sizes Where $x = 2^n$ holds, n is the size."
    (plain,) = read(f"<html><p>Where {MATH % ''} holds.</p></html>".encode(), "a.html")
    assert plain.text.strip() == "Where x=2n holds."


def test_code_in_a_cdata_section_is_text(read: Read) -> None:
    script = "<script>//<![CDATA[\nvar hidden = 1;\n//]]></script>"
    raw = f"<html>{script}<h1>Drain</h1><p><![CDATA[drain <a> && b]]></p></html>"
    (document,) = read(raw.encode(), "a.html")
    assert document.text.split() == ["#", "Drain", "drain", "<a>", "&&", "b"]


def test_the_article_of_a_main_element_is_the_main_text_if_it_has_the_heading(read: Read) -> None:
    beside = "<section><h3>More</h3><ul><li>Port</li></ul></section>"
    body = "<h1>Unsealing</h1><p>" + "Two holders run the command. " * 3 + "</p>"
    (document,) = read(f"<html><main>{beside}<article>{body}</article></main></html>".encode(), "a.html")
    assert document.text.strip().startswith("# Unsealing")
    assert "Port" not in document.text
    (card,) = read(f"<html><main>{body}<article>A card.</article></main></html>".encode(), "a.html")
    assert "# Unsealing" in card.text
    assert "A card." in card.text


@pytest.mark.parametrize("html", ["", "<!-- only a comment -->", "<!-- without an end"])
def test_a_page_of_comments_shows_nothing(html) -> None:
    assert html_text.show(html) == ""


@pytest.mark.parametrize("section", ["{}", "<div class=WordSection1>{}</div>"], ids=["body", "section of Word"])
def test_a_page_without_layout_is_kept_to_its_end(read: Read, section: str) -> None:
    sentence = "Lime mortar is softer than the stone, so the wall moves and the joint gives way, never the stone. "
    text = "".join(f"<h2>Wall {number}</h2><p>{sentence * 4}</p>" for number in range(9))
    end = "<h2>Authors</h2><p>Ana Veit.</p><ul><li>masons.txt</li></ul>"
    note = '<div id="sdfootnote1"><p><a name="s1" href="#a1">1</a>In caves.</p></div>'
    page = f"<!doctype html><title>Walls</title><body>{section.format(text + end)}{note}</body>"
    (document,) = read(page.encode(), "a.html")
    assert _lines(document)[-4:] == ["## Authors", "Ana Veit.", "- masons.txt", "1 In caves."]
    assert document.left_out == ()


def test_a_box_of_docbook_at_the_end_of_a_section_is_kept(read: Read) -> None:
    sentence = "Lime mortar is softer than the stone, so the wall moves and the joint gives way, never the stone. "
    text = "".join(f'<div class="para">{number} {sentence * 4}</div>' for number in range(9))
    box = (
        '<div class="titlepage"><strong>TIP Damp walls</strong></div><div class="para">Set MORTARUSER in spring.</div>'
    )
    page = f'<div class="section"><h2>Walls</h2>{text}<div class="sidebar">{box}</div></div><div>Site index</div>'
    (document,) = read(f"<!doctype html><title>Walls</title><body>{page}</body>".encode(), "a.html")
    assert _lines(document)[-1] == "Set MORTARUSER in spring."


@pytest.mark.parametrize(
    ("list_", "labels"),
    [
        ('<ol type="A" start="26">', ["Z. lime", "AA. sand"]),
        ('<ol style="list-style-type: lower-roman" start="3">', ["iii. lime", "iv. sand"]),
        ('<ol type="1" start="9">', ["9. lime", "10. sand"]),
    ],
)
def test_items_have_the_letters_or_roman_numbers_of_their_list(read: Read, list_: str, labels: list[str]) -> None:
    (document,) = read(f"<!doctype html>{list_}<li>lime</li><li>sand</li></ol>".encode(), "a.html")
    assert _lines(document) == labels


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ('<a href="#a1">1</a>In caves.', "1 In caves."),
        ('<sup><a href="#a1">ii</a></sup>In caves.', "ii In caves."),
        ('<span><a href="#a1">*</a></span>In caves.', "* In caves."),
        ('<a href="#cave">Cave</a>s are damp.', "Caves are damp."),
        ('In caves<sup><a href="#n1">iv</a></sup>.', "In caves^iv."),
        ('In caves<a epub:type="noteref" href="n.xhtml#n1">4</a>.', "In caves^4."),
        ('In caves<a role="doc-noteref" href="#n1"><sup>4</sup></a>.', "In caves^4."),
    ],
)
def test_the_number_of_a_note_is_apart_from_words(read: Read, note: str, text: str) -> None:
    (document,) = read(f"<!doctype html><body><p>{note}</p></body>".encode(), "a.html")
    assert document.text.strip() == text


def test_the_groups_of_the_rows_of_a_table_have_no_rules_between_them(read: Read) -> None:
    groups = (["thead", "th", "Port", "Fee"], ["tbody", "th", "North", ""], ["tbody", "td", "Oslo", "5"])
    groups += (["tfoot", "td", "Sum", "5"],)
    rows = (f"<{group}><tr><{cell}>{name}<{cell}>{fee}</{group}>" for group, cell, name, fee in groups)
    (document,) = read(f"<!doctype html><table>{''.join(rows)}</table>".encode(), "a.html")
    assert _lines(document) == ["| Port | Fee |", "| --- | --- |", "| North |  |", "| Oslo | 5 |", "| Sum | 5 |"]


def test_a_table_with_widths_and_line_breaks_between_its_cells_has_one_line_a_row(read: Read) -> None:
    table = "<colgroup width=9></colgroup>\n<tr>\n<td colspan=2>T</td>\n<td>U</td>\n</tr>\n"
    rows = "".join(f"<tr>\n<td>a{row}</td>\n<td>b</td>\n<td>c</td>\n</tr>\n" for row in (1, 2))
    (document,) = read(f"<!doctype html><table>{table}{rows}</table>".encode(), "a.html")
    assert _lines(document) == ["| T | T | U |", "| --- | --- | --- |", "| a1 | b | c |", "| a2 | b | c |"]


def test_emphasis_of_a_part_of_a_number_does_not_cut_it_and_a_date_of_pandoc_is_read(read: Read) -> None:
    page = '<!doctype html><meta name="dcterms.date" content="2024-03-05"><p>1.0.<b>1</b>, <b>2</b>.0, <b>3</b></p>'
    (document,) = read(page.encode(), "a.html")
    assert document.text.strip() == "1.0.1, 2.0, **3**"
    assert document.created_at == datetime(2024, 3, 5, tzinfo=UTC)
