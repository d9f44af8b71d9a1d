"""Headings, fences, tables, lists and sentences are found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text import chunking
from app.text.structure import markups, sentences, structure
from app.text.words import tokens


def kinds(text: str, *, markdown: bool = True) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in structure.blocks(text, markdown=markdown)]


def test_each_kind_of_block_is_recognised():
    text = "# Head\npara\nmore\n\n- a\n- b\n\n  still b\n| x | y |\n|---|---|\n\n```\n# code\n\n```\nlast"
    assert kinds(text) == [
        ("heading", "# Head"),
        ("paragraph", "para\nmore"),
        ("list", "- a\n- b\n\n  still b"),
        ("table", "| x | y |\n|---|---|"),
        ("fence", "```\n# code\n\n```"),
        ("paragraph", "last"),
    ]


@pytest.mark.parametrize("line", ["#hashtag", "####### seven", "#", "# #", "    # code", "# " + "x" * 400])
def test_what_only_looks_like_a_heading_is_text(line):
    assert all(kind != "heading" for kind, _ in kinds(line))


def test_an_underlined_line_is_a_heading_and_a_rule_under_a_paragraph_is_not():
    assert [(block.level, block.title) for block in structure.blocks("Title\n---\nx") if block.kind == "heading"] == [
        (2, "Title")
    ]
    assert all(kind != "heading" for kind, _ in kinds("one\ntwo\n---\nx"))
    assert all(kind != "heading" for kind, _ in kinds("- item\n---\nx"))


def test_a_heading_in_html_is_one_in_markdown_if_it_has_words() -> None:
    text = (
        '<div>\n<h1 align="center">\n  <a href="x"><img alt="Quarry" src="y.png"></a>\n  <br>guide\n</h1>\nSlate.\n\n'
        '<H2>Blocks</H2>\n<h2><img src="z.png"></h2>\nSlate splits.'
    )
    found = [(block.level, block.title) for block in structure.blocks(text) if block.kind == "heading"]
    assert found == [(1, "Quarry guide"), (2, "Blocks")]
    assert structure.title(text) == "Quarry guide"
    assert structure.sections(("Stone",), text) == [
        ("Stone",),
        ("Stone", "Quarry guide"),
        ("Stone", "Quarry guide", "Blocks"),
    ]
    assert kinds(text)[-1] == ("paragraph", '<h2><img src="z.png"></h2>\nSlate splits.')
    assert [kind for kind, _ in kinds("<h1>never closed\n\nText</h1>")] == ["paragraph", "paragraph"]
    assert kinds("<h1>never closed\n<h1>Lime</h1>")[-1] == ("heading", "<h1>Lime</h1>")


@given(st.text(alphabet=" \n\t#-=|`~ab1.*>", max_size=300), st.booleans())
def test_blocks_tile_every_visible_character_in_order(text, markdown):
    blocks = structure.blocks(text, markdown=markdown)
    left = list(text)
    end = 0
    for block in blocks:
        assert end <= block.start < block.end
        end = block.end
        left[block.start : block.end] = [" "] * (block.end - block.start)
    assert "".join(left).strip() == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two there! Three?", ["One here.", "Two there!", "Three?"]),
        ("Dr. Silva met J. R. Ewing in the U.S. embassy. Then left.", None),
        ("He said “stop.” Then ran.", ["He said “stop.”", "Then ran."]),
        ("version 2.0 is out. see notes", ["version 2.0 is out. see notes"]),
        ("a wing in a slipstream . the next one .", ["a wing in a slipstream .", "the next one ."]),
        ("これは文。次の文！終わり", ["これは文。", "次の文！", "終わり"]),
        ("वह आया। फिर गया॥", ["वह आया।", "फिर गया॥"]),
        ("وہ آیا۔ کب؟ کل", ["وہ آیا۔", "کب؟", "کل"]),
        ("wait... What", ["wait...", "What"]),
        (
            "i. Granite is hard.\n  ii. Slate splits. It\nis mild. Hot",
            ["i. Granite is hard.", "ii. Slate splits.", "It\nis mild.", "Hot"],
        ),
        (
            "See:\n2.1. Granite. Hard\n 12. Slate is the 2. Next",
            ["See:\n2.1. Granite.", "Hard\n 12. Slate is the 2.", "Next"],
        ),
    ],
)
def test_sentences_end_where_a_reader_pauses(text, expected):
    expected = expected or ["Dr. Silva met J. R. Ewing in the U.S. embassy.", "Then left."]
    assert [text[start:end] for start, end in sentences.spans(text, 0, len(text))] == expected


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("", 0), ("hello world", 2), ("don't stop.", 5), ("日本語", 3), ("20240513", 3), ("internationalisation", 4)],
)
def test_word_pieces_are_estimated_from_the_shape_of_words(text, pieces):
    assert tokens.count(text) == pieces


MANUAL = """GREP(1)                     User Commands                    GREP(1)

NAME
       grep, egrep - print lines that match patterns

SYNOPSIS
       grep [OPTION...] PATTERNS [FILE...]

DESCRIPTION
       grep searches for PATTERNS in each FILE.  PATTERNS is one or
       more patterns separated by newline characters.

   Matching Control
       -e PATTERNS, --regexp=PATTERNS

EXIT STATUS
       Normally the exit status is 0 if a line is selected.
"""
NOTES = """Harbour notes
=============

Berths are let by the week.

Fees
----
A ferry pays 52 EUR.

OPENING HOURS
Monday to Friday, 8 to 16.
"""


def headings(text: str) -> list[tuple[int, str]]:
    return [(one.level, one.title) for one in structure.find_plain_headings(text)]


CHANGELOG = (
    "lime (2.1-3) stable; urgency=low\n\n  * Burn.\n\n -- Ana  Mon, 1 Jan\n\nlime (2.1-2) stable\n\n  * Slake.\n"
)


def test_lines_above_indented_text_are_headings_but_no_title() -> None:
    found = [text for kind, text in kinds(CHANGELOG, markdown=False) if kind == "heading"]
    assert found == ["lime (2.1-3) stable; urgency=low", "lime (2.1-2) stable"]
    assert structure.plain_title(CHANGELOG) == ""


@pytest.mark.parametrize("text", [f"{CHANGELOG}\nOne more line.\n", CHANGELOG.partition("lime (2.1-2)")[0]])
def test_one_line_above_indented_text_or_with_other_lines_is_no_heading(text: str) -> None:
    assert {kind for kind, _ in kinds(text, markdown=False)} == {"paragraph"}


def test_lines_in_capitals_of_a_manual_page_are_headings_and_its_name_is_the_title() -> None:
    assert headings(MANUAL) == [(2, "NAME"), (2, "SYNOPSIS"), (2, "DESCRIPTION"), (2, "EXIT STATUS")]
    assert structure.plain_title(MANUAL) == "grep, egrep - print lines that match patterns"
    passages = chunking.split(MANUAL, kind="plain", target_tokens=12, max_tokens=60, overlap_tokens=0)
    paths = {passage.content.split()[0]: passage.heading_path for passage in passages}
    assert paths["Normally"] == ("EXIT STATUS",)


def test_underlined_lines_of_notes_are_headings_and_the_first_is_the_title() -> None:
    assert headings(NOTES) == [(1, "Harbour notes"), (2, "Fees"), (2, "OPENING HOURS")]
    assert structure.plain_title(NOTES) == "Harbour notes"
    columns = "Test        Result   Unit\n-------------------------\nSodium      138      mmol/l\n"
    assert (headings(columns), structure.plain_title(f"{columns}\n\n{NOTES}")) == ([], "Harbour notes")
    assert structure.plain_title("a line of a log\n" * 20 + f"\n{NOTES}") == ""


def test_the_number_of_a_chapter_and_the_title_below_it_are_one_heading() -> None:
    contents = "CONTENTS\n\n CHAPTER I. The Ledger\n CHAPTER II. A Smell of Tar\n\n"
    chapters = (
        "CHAPTER I.\nThe Ledger\n\nIt rained.\n\nCHAPTER II.\nA SMELL OF TAR\n\nThe tar came.\n\nPart 3\n===\n\nEnd."
    )
    assert headings(contents + chapters) == [
        (2, "CONTENTS"),
        (2, "CHAPTER I. The Ledger"),
        (2, "CHAPTER II. A SMELL OF TAR"),
        (3, "Part 3"),
    ]
    assert headings("Section 4\nis void.\nSo is the rest.\n\nSection 5 is not.\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "ALL OF IT IS IN CAPITALS\n\nAS IN AN OLD TELEX\n\nSTOP",
        "Dear Ana,\n\nACME HARBOUR LTD\n12 SOUTH PIER\n\nplease call us back\nas soon as you can.",
        "a line\n\nSKU-AB/1204-X9\n\nanother line\n\nand one more\n\nand one more",
        "a sentence\n\nTHIS IS A SENTENCE IN CAPITALS.\n\nanother line\n\nand one more\n\nmore",
        "a line\n\nID    NAME   PRICE\n1     bolt   3\n\nmore text\n\nand more",
        "Name   Price\n-----  -----\nbolt   3",
        "A short line\n----------------------------------------\nthe rest",
        "one line\nWARNING\nthe next line\n\nmore\n\nmore",
        '{\n  "KEY": 1\n}',
        "手引き\n\nノートPCは普通のPCです。ですから、USB\nキーボードも動きます。\n\n次の章\n\n終わり",
        "",
    ],
)
def test_other_lines_are_no_headings(text: str) -> None:
    assert headings(text) == []
    assert structure.plain_title(text) == ""


NUMBERED = """A guide to slate

1. Quarries
  1.1. In the north
  1.2. In the south

1. Quarries

Slate is cut in two places.

  1.1.\xa0In the north

Below the lake:

1.2. In the south

By the sea.

2. Roofs

End.
"""


def test_numbered_lines_with_text_below_them_are_headings_and_items_of_a_list_are_none() -> None:
    expected = [(2, "1. Quarries"), (3, "1.1.\xa0In the north"), (3, "1.2. In the south"), (2, "2. Roofs")]
    assert headings(NUMBERED) == expected
    assert headings("To do\n\n1. Cut slate\n\n2. Split it\n\n3. Carry it\n\n4. Lay it\n\nThen rest.\n") == []
    assert headings("To do\n\n  1. Cut slate by hand: x\n\nSlowly.\n\n  2. Split it: y\n\nQuickly.\n") == []
    assert headings("To do\n\n1. Cut slate.\n\nSlowly.\n\n2. Split it.\n\nQuickly.\n") == []


def test_lines_that_name_the_parts_of_a_law_are_headings() -> None:
    text = (
        "PART I\n\nGeneral.\n\nArticle 1 Purpose\n\nLime.\n\nArticle 2a: Scope\n\nSand.\n\nArticle 3 applies.\n\n"
        "Parti\n\nOf both.\n\nA. Voting\n\nBy hand.\n\n  A.1. Quorum\n\nFive.\n\n§ 4\n\nLast."
    )
    expected = ["PART I", "Article 1 Purpose", "Article 2a: Scope", "A. Voting", "A.1. Quorum", "§ 4"]
    assert [title for _, title in headings(text)] == expected


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "          Harbour Act\n        Version 2, June 1991\n\n  Berths are let.",
            "Harbour Act Version 2, June 1991",
        ),
        ("       Harbour lists\n       =============\n\nBerths are let.", "Harbour lists"),
        ("    let berths = 2;\n    berths;\n\n    let fees = 3;", ""),
        ("          Harbour Act", ""),
        ("          Harbour Act\nof the town\n\nBerths are let.", ""),
    ],
)
def test_centred_lines_at_the_beginning_are_the_title(text: str, title: str) -> None:
    assert structure.plain_title(text) == title


@pytest.mark.parametrize("first", ["BEGIN:VCALENDAR", "TY  - JOUR"])
def test_a_field_in_capitals_is_no_heading(first: str) -> None:
    text = f"{first}\nTitle of the article, by Ana\n"
    assert structure.plain_title(text) == ""
    assert structure.plain_title(f"HARBOUR: TIDES\n\n{text}") == "HARBOUR: TIDES"


def test_the_levels_of_underlined_lines_follow_from_the_order_of_their_styles() -> None:
    text = (
        "====\nLime\n====\n\nMix it::\n\n   # three parts\n\nMixing\n======\n\na\n\nSand\n~~~~\n\nb\n\nWater\n^^^^^\n\n"
        "c\n\nDrying\n======\n\nSlowly."
    )
    assert kinds(text, markdown=False)[-1] == ("paragraph", "Slowly.")
    assert structure.plain_title(text) == "Lime"
    assert headings(text) == [(1, "Lime"), (2, "Mixing"), (3, "Sand"), (4, "Water"), (2, "Drying")]
    assert headings(f"Lime\n{'=' * 60}\n\nMix it.") == [(1, "Lime")]


ASCIIDOC = """// a comment
:icons: font
= Quarry guide

Slate splits.

== Blocks ==

[source]
----
= not a heading
----

=== Second cut

It is cut slowly, with a wedge of iron and a wooden mallet.
"""
ORG = """#+TITLE: Quarry guide

* TODO Blocks :stone:
#+BEGIN_SRC org
* not a heading
#+END_SRC
** Second cut
- slowly, with a wedge of iron and a wooden mallet
"""
LATEX = r"""\documentclass{article}
\title{The \emph{quarry} guide\\of \LaTeX{}}
\section[Short]{Blocks \& \texttt{slate}}\label{sec:blocks}
Text.
\subsection*{Second
  cut} It is cut slowly, with a wedge of iron and a wooden mallet.
"""
MAN = r"""'\" t
.\" A comment.
.de Sp \\" A macro of its own.
level \\n[indent]
..
.TH QUARRY 1
.SH NAME
.B quarry
.SH "EXIT STATUS"
Zero.
.SS Second cut
It is cut slowly, with a wedge of iron and a wooden mallet.
"""


@pytest.mark.parametrize(
    ("text", "suffix", "title", "expected"),
    [
        (ASCIIDOC, "adoc", "Quarry guide", [(1, "Quarry guide"), (2, "Blocks"), (3, "Second cut")]),
        (ORG, "org", "Quarry guide", [(1, "TODO Blocks :stone:"), (2, "Second cut")]),
        (LATEX, "tex", "The quarry guide of LaTeX", [(3, "Blocks & slate"), (4, "Second cut")]),
        (MAN, "1", "quarry", [(1, "NAME"), (1, "EXIT STATUS"), (2, "Second cut")]),
    ],
)
def test_headings_and_title_of_other_markup_are_found(text, suffix, title, expected) -> None:
    markup = markups.find(text, suffix)
    assert markups.title(text, suffix) == title
    assert [(one.level, one.title) for one in markups.blocks(text, markup) if one.kind == "heading"] == expected
    assert (
        chunking.split(text, kind=markup, target_tokens=12, max_tokens=60, overlap_tokens=0)[-1].heading_path[-1]
        == "Second cut"
    )


def test_an_asciidoc_text_with_underlined_titles_is_cut_at_them() -> None:
    blocks = markups.blocks("Quarry\n======\n\nSlate\n-----\n\nSplits.", "asciidoc")
    assert [(one.level, one.title) for one in blocks if one.kind == "heading"] == [(1, "Quarry"), (2, "Slate")]
    assert markups.find("a line of a log\n.TH 1", "1") is None
