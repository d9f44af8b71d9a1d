"""RTF becomes Markdown with its properties."""

from datetime import UTC, datetime

import pytest
from reading import Read, refusal

HEAD = rb"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss Arial;}{\f1\fcharset204 Arial Cyr;}{\f2\fcharset128 MS;}}
{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 Titel;}{\s2 heading 2;}}{\*\generator Writer;}
{\info{\title Mortar {\b notes}}{\author Ana M\'fcller}{\creatim\yr2021\mo5\dy6\hr7\min8}}"""


def _text(read: Read, body: bytes) -> str:
    return read(HEAD + body + b"}", "a.rtf")[0].text


def test_a_document_has_headings_paragraphs_items_and_properties(read: Read) -> None:
    body = rb"""{\headerl{\b Stepwell} yard\par}\pard\s1 Lime\par\pard Lime dries \b slowly\b0 .\par# and cracks\par
{\listtext\'b7\tab}first\par{\pard{\pntext\'b7\tab}second\par}\pard\s2 Clay\par\pard Pipes{\footnote  Of clay.}."""
    (document,) = read(HEAD + body + b"}", "a.txt")
    assert document.text == (
        "Stepwell yard\n\n# Lime\n\nLime dries slowly.\n\n\\# and cracks\n\n- first\n- second\n\nClay\n\n"
        "Pipes (Of clay.)."
    )
    assert (document.title, document.metadata) == ("Mortar notes", {"author": "Ana Müller"})
    assert document.created_at == datetime(2021, 5, 6, 7, 8, tzinfo=UTC)


def test_a_table_has_its_rows(read: Read) -> None:
    body = rb"""\trowd\pard\intbl port\cell high\cell\row\trowd\pard\intbl Lin\par dau\cell 3.5\cell\row\pard After."""
    assert _text(read, body) == "| port | high |\n| --- | --- |\n| Lin dau | 3.5 |\n\nAfter."


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (rb"caf\'e9 {\f1\'cf\'f0\'e8} {\f2\'93\'fa\'96\'7b}", "café При 日本"),
        (rb"\uc1\u26085?\u26412 ? \uc2\u233\'c3\'a9!", "日本 é!"),
        (rb"\u-10179?\u-8704?", "😀"),
        (rb"a\~b \{c\}\emdash d\line e", "a b {c}—d\ne"),
        (rb'{\field{\*\fldinst HYPERLINK "http://a"}{\fldrslt a link}}', "a link"),
        (rb"{\pict\pngblip 8950}{\*\shppict{\pict 89}}{\shp{\*\shpinst\x1{\sp{\sn a}{\sv 3}}{\shptxt box}}}", "box"),
        (b"a{\\pict\\bin5 {{{{{}b", "ab"),
        (rb"\intbl no cell", "no cell"),
        (rb"l\rquote usine", "l’usine"),
        (rb"4 x 10{\super 9}/l, 10{\b -}{1\super\b1 2}", "4 x 10^9/l, 10-1^2"),
        (rb"{\*\pgdsctbl{\pgdsc0{\footer{{\field{\*\fldinst PAGE}{\fldrslt 5}}}\par}\pgdscnxt0 Default Style;}}a", "a"),
        (
            rb"wet{\*\atnid A}{\*\atnauthor Ana}{\*\annotation{\*\atndate 1}\pard{Why?}} walls",
            "wet (Comment: Why?) walls",
        ),
        (rb"{\f0\fs22 10}{\f0\super\lang9 -3}{\f0  m}{\super 2}, 1{\super 1}/{\sub 2}", "10^-3 m2, 1 1/2"),
    ],
    ids=[
        "bytes",
        "unicode",
        "pair",
        "symbols",
        "link",
        "picture",
        "binary",
        "open row",
        "quote",
        "raised",
        "style",
        "comment",
        "runs",
    ],
)
def test_characters_and_what_is_no_text(read: Read, body: bytes, text: str) -> None:
    assert _text(read, body) == text


def test_a_hyphen_that_keeps_a_line_together_is_no_part_of_its_words(read: Read) -> None:
    (document,) = read(HEAD + rb"HP\_4417}", "a.rtf")
    assert (document.text, document.warnings) == ("HP-4417", ())


def test_text_that_a_tracked_change_has_removed_is_left_out_and_named(read: Read) -> None:
    body = rb"dry {\rtlch\fcs1 \af0 \deleted\revauthdel1 \loch\nslowly }{\revised soon}{\deleted0 , or} \{\deleted a\}"
    (document,) = read(HEAD + body + b"}", "a.rtf")
    assert document.text == "dry soon, or {a}"
    assert document.warnings == ("Left out as deleted text of tracked changes: 1.",)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (HEAD + b"Lime.", "damaged"),
        (b"{\\rtf1 " + b"{" * 100_000, "damaged"),
        (b"{\\rtf1 \\bin999999999 a}", "no_text"),
        (HEAD + rb"{\pict 89}}", "no_text"),
    ],
    ids=["truncated", "nested", "too long", "picture"],
)
def test_a_damaged_or_empty_document_is_refused(read: Read, raw: bytes, code: str) -> None:
    assert refusal(read, raw, "a.rtf") == code
