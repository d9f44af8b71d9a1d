"""Escapes of JSON, XML and roff become characters."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.text.structure import markups


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        (r'{"\u540d": "\u6570\u636e"}', '{"名": "数据"}'),
        (r'{ "price" : 1.10,  "n": -40, "e": 1e3 }', '{ "price" : 1.10,  "n": -40, "e": 1e3 }'),
        (r'["caf\u00e9 \ud83d\ude00", "a\\u00e9", "a\"b", "x\u0022\u005cy"]',
         r'["café 😀", "a\\u00e9", "a\"b", "x\"\\y"]'),
        (r'"one\nline\ttwo\/three"', '"one\nline\ttwo/three"'),
        (r'"\u12 \q', r'"\u12 \q'),
    ],
)  # fmt: skip
def test_codes_in_json_become_characters_and_all_else_stays_as_written(text: str, decoded: str) -> None:
    assert markups.decode_json(text) == decoded


VALUE = st.text(st.characters(exclude_characters="\r\b\f"))


@settings(max_examples=30)
@given(st.recursive(VALUE | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(VALUE, inner)))
def test_decoded_json_is_the_same_value(value: object) -> None:
    assert json.loads(markups.decode_json(json.dumps(value)), strict=False) == value


def test_references_in_xml_become_characters_without_new_markup() -> None:
    text = "<a b='R&amp;D'>caf&#233; &#xE9; &eacute; &lt;b&gt; &#60; &amp;lt; &unknown; AT&T;</a>"
    assert markups.decode_xml(text) == "<a b='R&D'>café é é &lt;b&gt; &#60; &lt; &unknown; AT&T;</a>"


def test_fonts_and_escapes_of_a_manual_page_do_not_hide_words() -> None:
    text = r"\fB\-\-all\fR=\f(CWx\fP \(bu \*(lqq\*(rq C:\ea\&b \s-1POSIX\s0 \n(.g \[zz]"
    assert markups.decode_roff(text) == r"--all=x • “q” C:\ab POSIX \n(.g \[zz]"


def test_lines_of_calendars_and_contacts_are_joined_and_decoded() -> None:
    name = "FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:"
    card = f"BEGIN:VCARD\r\n{name}Gr=C3=B6=\r\n=C3=9Fe\r\nNOTE:Lime mor\r\n tar\\, dry\\nslowly"
    assert markups.decode_cards(card) == f"\nBEGIN:VCARD\r\n{name}Größe\r\nNOTE:Lime mortar, dry\nslowly"
    outlook = "LABEL;WORK;ENCODING=QUOTED-PRINTABLE:"
    assert markups.decode_cards(f"{outlook}Stra=DFe") == f"{outlook}Straße"


def test_letters_that_latex_writes_as_commands_are_characters() -> None:
    text = r"caf\'e Schr{\"o}dinger M\"{u}nchen Stra\ss e na\"\i ve \o re \v{C}apek gar\c con \L\'od\'z foot\-ball"
    shown = "café Schrödinger München Straße naïve øre Čapek garçon Łódź football"
    assert markups.decode_latex(text) == shown
    kept = r"\omega \leq \O(n) \d x \ref{x} a\\-b printf(\"hello\") \'{} \label"
    assert markups.decode_latex(kept) == kept
    code = r"\begin{lstlisting}[language=C] {\"id\": a\.com} \end{lstlisting}"
    assert markups.decode_latex(rf"\'e {code} \'e") == f"é {code} é"


def test_the_layout_of_a_manual_page_is_blank_lines_and_its_fonts_are_text() -> None:
    text = (
        '.SH OPTIONS\n.TP\n.BR -e ", " --env =ENV\nNever \n.B "on prod" .\n.sp\n.if n \\{\\\n.RS 4\n.\\}\n.IP -f 4\nall'
    )
    shown = ".SH OPTIONS\n\n-e, --env=ENV\nNever \non prod .\n\n\n-f\nall"
    assert markups.decode_roff(text) == shown
    assert markups.decode_roff(".Nm ls\n.gitignore\n.Bogus") == ".Nm ls\n.gitignore\n.Bogus"


def test_the_macros_of_a_page_of_bsd_are_no_words() -> None:
    page = (
        ".Dd May 1\n.Dt LIME 1\n.Os\n.Sh NAME\n.Nm lime\n.Nd slake lime\n.Sh OPTIONS\n.Nm\n.Op Fl d Ar pit\n.Bl -tag\n"
    )
    shown = markups.decode_roff(f"{page}.It Fl q , Fl -quiet\nSee\n.Xr clay 8 ,\n.Dq Li p Ns Ar it\n.El\n")
    head = ".Dd May 1\n.Dt LIME 1\n.Sh NAME\nlime - slake lime\n.Sh OPTIONS\nlime\n-d pit\n"
    assert shown == f"{head}\n-q , --quiet\nSee\nclay(8) ,\npit\n"
    assert markups.title(shown, "") == "lime - slake lime"


def test_comments_macros_and_the_index_of_a_manual_page_are_no_text() -> None:
    text = '.\\" A licence.\n\'\\" t\n.de Sp\n.if t .sp\n..\n.TH ls 1\n.SH NAME\n.IX Header "NAME"\nls\n.if n .ad\n..\n'
    assert markups.decode_roff(text) == ".TH ls 1\n.SH NAME\nls\n.if n .ad\n..\n"
