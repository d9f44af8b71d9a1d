"""The CPU time of text processing grows linearly with the text, whatever its shape.

The texts repeat the tokens of the formats, alone and joined, after an opening that puts them into a context. Their size
grows until the work takes long enough to be measured; STEPWELL_FAULTS=full compares 1 MB with 4 MB of every token.
"""

import csv
import os
import random
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import NamedTuple
from uuid import UUID

import made_files
import pytest
from harness import cpu_s
from lxml import etree

from app import logging_setup
from app.errors import UnreadableFile
from app.multihop import hop_terms
from app.parsing import author_and_time, completeness, encodings, formats, notebook, transcript
from app.parsing.html import html_text
from app.parsing.mail import mail
from app.parsing.office import rtf, word_and_slides
from app.parsing.rows import csv_rows, header_rows, json_list, sheets
from app.parsing.types import ExtractedDocument, InputFile
from app.search.steps import corrections, snippets
from app.search.steps.snippets import Sought
from app.text import chunking
from app.text.names import metadata_names, name_uses_in_queries, names, names_in_queries
from app.text.names.gazetteer import Gazetteer
from app.text.names.name_uses_in_queries import NameUse
from app.text.queries import identifiers, query_parsing
from app.text.structure import frontmatter, markups, sentences, structure
from app.text.words import cleaning, languages, tokens, tsvector_text, word_spans

FULL = os.environ.get("STEPWELL_FAULTS") == "full"
SIZE, LARGEST = (4_000_000, 4_000_000) if FULL else (12_000, 200_000)
"""Code points of the smallest text that is compared with a quarter of it, and those up to which it grows."""
MOST = 8.0
"""Largest ratio of CPU times of a text and one of a quarter of its size: 4 is linear, 16 quadratic."""
ENOUGH_S = 0.004
"""CPU time from which a ratio is no noise."""
SAMPLED = 12 if FULL else 3
"""Single tokens, and joined ones, that are drawn for each kind of work."""
SMALLER = {"HTML": 12}
"""Divisors of the sizes for work that takes long, and is limited by the time for which a file is parsed."""

MARKDOWN = (
    *("#", "# a\n", "## b\n### c\n", "> ", "- ", "* a\n", "1. a\n- b\n", "| a | b |\n", "|-", "| - ", "a\n---\n"),
    *("===\n", "`", "```\n", "~~~\n", "[", "[a](b", "](", " (a)", "![", "*a* _b_ ", "**", "_", "\\", "<"),
    *("\n", " ", "    a\n", "\t"),
)
MARKUP = (
    *("<!---->", "<!--", "-->", "<p>", "<div>a</div>", "<?xml ?>", "<?xml", "&amp;", "<a b=", "<b>", "</p>"),
    *("<li>a", "<td>a", "1<sup>1", "<a>a</a>"),
)
WORDS = (
    *("a", "A", "aB", "getUserNameHTTP", "Ana Silva of Porto met the Harbour Board. It rained? ", "U.S.A.B. "),
    *("1.1,234,", "a/b.c@d_e-", "well-\nknown A–B-", "A's l'", "[12:30] Ana: hello\n", 'NOT a AND "b" -c '),
    *('"', "!", ".", "é", "éa-", "漢字。", "a\u0301\u0301\u0328", "\u0301\u0328", "Ã©tÃ© é â€™", "ƒ", "Â\xad"),
    *("👩\u200d👩\u200b\u200d", "İ", "ﷺ", "\r", "\x0b"),
)
RICH = ("{", "}", "{a}", "\\b ", "\\u1234?", "\\'e9", "\\cell", "\\row", "\\intbl ", "\\par\n", "{\\*\\a b}", "\\bin9 ")
CUES = ("1\n", "00:01.000 --> 00:02.000\n", "00:00:01,0 --> ", "<v ", "<v a>", "<", ">", "{\\", "}", "&amp;", " ", "\n")
CELLS = ("![](data:", "![", "](", ")", "\\r", "\\u001b[0", "\\n", "```", "`", " ", "a")
MESSAGES = ("From a 12:30 2011\n", "From ", "\n", ">", "Subject: a\n", "a\n", "--b\n", "=?utf-8?q?a?= ")
ELEMENTS = ("<text:p>a</text:p>", "<text:list>a</text:list>", "<text:s/>", "<!---->", "a", "\n", "&amp;")
SOURCE = (
    "def a(b):\n", "  class A {\n", "a b(", "@a(\n", "# a\n", "(", "){\n", "}\n", "static a *", "<a", "a AS (\n",
    "  a\n", "const a = ", "(a) =>", "export ", "CREATE TABLE ", "a(b)\n{\n", "    ", "\n\n", "[a", ":a,",
    "func (a) ",
)  # fmt: skip
TOKENS = (*MARKDOWN, *MARKUP, *WORDS)
OPENINGS = ("", "a::\n\n", ".. code::\n", "```\n", "---\n", "|a|\n|", "# ", "- ", "> ", "a\n", "Ã", "<!--", ".")
ENDINGS = ("", "x", "\n   x\n", "`", "é", "|")


class Shape(NamedTuple):
    """A text: an opening, tokens again and again, an ending, and after it others again and again."""

    opening: str
    repeated: str
    ending: str = ""
    last: str = ""

    def text(self, size: int) -> str:
        end = self.ending + self.last * (size // max(1, len(self.last)))
        return self.opening + (self.repeated * (size // len(self.repeated) + 1))[:size] + end


ONCE_SLOW = {
    "HTML": (Shape("<p>a</p><form>", "<p><b>a"), 42_000),
    "text of a page": (Shape("a", "<sup></sup>"), 96_000),
    "transcript": (Shape("", "a\n"), 48_000),
    "CSV": (Shape("x", ",a", "\n", "1\n"), 8_000),
    "quotes in fields of CSV": (Shape("x\n", '""a\n'), 240_000),
    "columns": (Shape("", "a"), 12_000),
    "fields of a record": (Shape("", "a"), 12_000),
    "tables of a sheet": (Shape("", "a"), 200_000),
    "words left out": (Shape("", "abc"), 24_000),
    "words joined at line ends": (Shape("", "a"), 12_000),
    "format of a file": (Shape("", "<!---->", "x"), 4_000),
    "chunking": (Shape("|a|\n|", "-", "x"), 12_000),
    "structure": (Shape("", "`", "a`", "a"), 12_000),
    "index text": (Shape("", "aB", "ß"), 24_000),
    "index text with a label": (Shape("", "a"), 24_000),
    "cleaning": (Shape("Ã", "ƒ"), 16_000),
    "pages": (Shape("", f"{'a' * 299}-{' ' * 300}"), 2_400_000),
    "names of entities": (Shape("", f"{'é' * 30}1{' ' * 169}"), 4_000),
    "language of a query": (Shape("", "a"), 4_000),
    "frontmatter": (Shape("a: |\n", " #\n"), 48_000),
    "outputs of a notebook": (Shape("", "1, "), 24_000),
    "mailbox": (Shape("\n\nFrom ", "12:30 "), 24_000),
    "authors of a file": (Shape("Ana", " ", "Veit"), 16_000),
    "secrets of a line": (Shape("", "://a:"), 24_000),
}
"""Texts for which some work took longer than linear time, each with the size at which that shows."""


TOKENS_OF = {
    "HTML": MARKUP,
    "text of a page": MARKUP,
    "chunking of code": SOURCE,
    "RTF": RICH,
    "transcript": CUES,
    "notebook": CELLS,
    "outputs of a notebook": CELLS,
    "mailbox": MESSAGES,
    "OpenDocument": ELEMENTS,
}


def shapes(name: str) -> Iterator[Shape]:
    """The texts for some work: single tokens, and tokens that are joined at random."""
    chosen = random.Random(name)
    found = TOKENS_OF.get(name, TOKENS)
    yield from (Shape("", token) for token in chosen.sample(found, min(SAMPLED, len(found))))
    for _ in range(SAMPLED):
        joined = "".join(chosen.choices(found, k=chosen.choice((1, 2, 3))))
        yield Shape(chosen.choice(OPENINGS), joined, chosen.choice(ENDINGS))


KNOWN = ("a", "a a", "a a a a b", "Ana Silva", "Harbour Board", "aB", "U.S.", "12", "漢字", "漢" * 40)
GAZETTEER = Gazetteer.build((name, UUID(int=1)) for name in KNOWN)
SOUGHT = Sought(
    {"a": 1.0, "漢字": 1.0}, {"b": 1.0}, [[("a", frozenset("a")), ("of", frozenset()), ("b", frozenset("b"))]]
)


def reading(
    parser: ModuleType, before: str = "", after: str = "", pack: Callable[[str], bytes] = str.encode
) -> Callable[[str], object]:
    """Reading a file with some text in it by a parser of files."""

    def read(text: str) -> object:
        try:
            return list(parser.read(InputFile(pack(f"{before}{text}{after}"), "a")))
        except (UnreadableFile, RecursionError, csv.Error, etree.XMLSyntaxError):
            return None

    return read


def compare(stored: str, content: str) -> object:
    """The comparison of a stored text with the content of its file."""
    return list(completeness.check([ExtractedDocument(stored)], lambda _raw: [("", content)], b""))


def count_fields(count: int) -> None:
    """Counting the words of a record with so many fields."""
    fields = {str(number): "x" for number in range(count)}
    lines = "\n".join(f"{name}: x" for name in fields)
    completeness.Guard().add(ExtractedDocument(lines, metadata=fields, fragment="row=2", markdown=False))


def read_tables(count: int) -> None:
    """Reading a sheet with so many tables below each other, each below a merged title."""
    rows: list[list[object]] = [["Budget", None], ["Dept", "Q1"], ["Roads", 1], ["Parks", 3], [None, None]]
    merged = [((top, 0), (top, 1)) for top in range(0, len(rows) * count, len(rows))]
    sheet = SimpleNamespace(to_python=lambda **_: rows * count, merged_cell_ranges=merged)
    assert len(list(sheets._tables(sheet, sheets.SheetParts()))) == max(1, count)


def spelt_numbers(text: str) -> Iterator[str]:
    """A different word of letters for each three characters of a text."""
    return ("".join(chr(ord("a") + int(digit)) for digit in str(number)) for number in range(len(text) // 3))


WORK: dict[str, Callable[[str], object]] = {
    "cleaning": cleaning.clean,
    "pages": lambda text: cleaning.clean_pages(text, range(0, len(text), 300)),
    "bytes in another script": lambda text: encodings.decode(text.encode("latin-1", "replace") + b"\xe9" * len(text)),
    "HTML": reading(html_text),
    "text of a page": html_text.show,
    "CSV": reading(csv_rows),
    "quotes in fields of CSV": reading(csv_rows),
    "RTF": reading(rtf, "{\\rtf1 ", "}"),
    "words of RTF": lambda text: list(rtf.content(b"{\\rtf1 %s}" % text.encode("ascii", "replace"))),
    "transcript": reading(transcript, "WEBVTT\n\n00:01.000 --> 00:02.000\n"),
    "notebook": reading(notebook, '{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "', '"}]}'),
    "outputs of a notebook": reading(
        notebook, '{"cells": [{"cell_type": "code", "outputs": [{"output_type": "stream", "text": "', '"}]}]}'
    ),
    "authors of a file": author_and_time.author,
    "secrets of a line": logging_setup.mask,
    "chat": reading(json_list, '{"messages": [{"ts": "1700000000", "user": "a", "text": "', '"}]}'),
    "mailbox": reading(mail, "From a 12:30 2011\n"),
    "OpenDocument": reading(word_and_slides, "<office:text>", "</office:text>", made_files.opendocument),
    "columns": lambda text: header_rows.columns([str(number) for number in range(len(text))]),
    "fields of a record": lambda text: count_fields(len(text)),
    "tables of a sheet": lambda text: read_tables(len(text) // 100),
    "words left out": lambda text: compare("x", text),
    "words joined at line ends": lambda text: compare(
        "\n".join(f"{word}x" for word in spelt_numbers(text)), "\n".join(f"{word}-\nx" for word in spelt_numbers(text))
    ),
    "format of a file": lambda text: formats.sniff(text.encode("utf-8", "replace"), "a"),
    "structure": structure.blocks,
    "title": structure.title,
    "chunking": chunking.split,
    "chunking of plain text": lambda text: chunking.split(text, kind="plain"),
    "chunking of code": lambda text: chunking.split(text, kind="code"),
    "headings of AsciiDoc": lambda text: markups.blocks(text, "asciidoc"),
    "letters of LaTeX": markups.decode_latex,
    "lines of contacts": markups.decode_cards,
    "headings of LaTeX": lambda text: markups.blocks(text, "latex"),
    "headings of manual pages": lambda text: markups.blocks(markups.decode_roff(text), "manual"),
    "markup": lambda text: markups.find(text, ""),
    "frontmatter": lambda text: frontmatter.parse(f"---\n{text}\n---\n{text}"),
    "frontmatter that is not closed": lambda text: frontmatter.parse(f"---\n{text}"),
    "sentences": lambda text: list(sentences.spans(text, 0, len(text))),
    "index text": lambda text: tsvector_text.index_text(text, "english"),
    "index text with a label": lambda text: tsvector_text.index_text(f"vitamin A {text}", "english"),
    "index text with accents": lambda text: tsvector_text.index_text(text, "german"),
    "names": names.find,
    "places of words": names.word_offsets,
    "sections": lambda text: structure.sections(("a",), text),
    "name of a heading": names.section_name,
    "name of a title": names.title_name,
    "metadata": lambda text: metadata_names.from_metadata({"tags": [text, *text.split()]}, ["tags"]),
    "query": query_parsing.parse,
    "frames of a stack trace": query_parsing.without_frames,
    "body of a letter": query_parsing.body_of_letter,
    "end of a chat": query_parsing.end_of_chat,
    "addresses in a query": lambda text: query_parsing.without_addresses(text, query_parsing.hosts_of_addresses(text)),
    "courtesies of a question": query_parsing.without_courtesies,
    "words of a query": lambda text: (
        name_uses_in_queries.QueryText(text, query := names_in_queries.read(text)),
        names_in_queries.longest_names(query, {"a"}),
    ),
    "terms": lambda text: hop_terms.statistical([text], "a", chunks={}, total=10),
    "literal matches": lambda text: query_parsing.find_literal_matches(
        query_parsing.parse(text[:2_000]), [("a b", text)]
    ),
    "mentions": GAZETTEER.find,
    "names of entities": lambda text: Gazetteer.build(
        [(text[n : n + 200], UUID(int=1)) for n in range(0, len(text), 200)]
    ),
    "case of a name": lambda text: name_uses_in_queries.small_share([text], NameUse("word", ("a", "b"))),
    "language of a query": lambda text: languages.may_be_in(text, "english"),
    "identifiers": identifiers.find_identifiers,
    "pieces of identifiers": identifiers.find_pieces,
    "tokens": tokens.starts,
    "words": word_spans.of,
    "words that may be misspelt": corrections.may_be_misspelt,
    "snippets": lambda text: snippets.choose(text, SOUGHT, {"a": frozenset("a"), "b": frozenset("b")}),
}


@pytest.mark.filterwarnings("ignore::bs4.XMLParsedAsHTMLWarning")
@pytest.mark.parametrize("name", WORK)
def test_four_times_the_text_takes_about_four_times_as_long(name: str) -> None:
    work, divisor = WORK[name], SMALLER.get(name, 1)
    work("Warm up.")
    slow = {shape: grown for shape in shapes(name) if (grown := growth(work, shape, SIZE // divisor)) > MOST}
    assert not slow


@pytest.mark.parametrize("name", ONCE_SLOW)
def test_a_text_that_was_slow_takes_linear_time(name: str) -> None:
    shape, size = ONCE_SLOW[name]
    WORK[name]("Warm up.")
    assert ratio(WORK[name], shape, size) < MOST


@pytest.mark.parametrize("piece", ["(", ")", "title:", "(a OR ", "NOT ", "-(", "a* ", "\\", '"', "a(", "*", "AND ( "])
def test_reading_an_expression_takes_linear_time(piece: str) -> None:
    query_parsing.parse("Warm up.")
    assert ratio(query_parsing.parse, Shape("", piece), 4_000) < MOST


def growth(work: Callable[[str], object], shape: Shape, size: int) -> float:
    """The ratio of CPU times for a text that takes long enough, 0 if even the largest one does not."""
    while (took := cpu_s(work, shape.text(size))) < ENOUGH_S and size < LARGEST:
        size *= 4
    return 0.0 if took < ENOUGH_S else ratio(work, shape, size)


def ratio(work: Callable[[str], object], shape: Shape, size: int) -> float:
    """The ratio of the CPU times of a text and of one of a quarter of its size, the lowest of three if it is high."""
    ratios: list[float] = []
    while len(ratios) < 3 and (not ratios or ratios[-1] > MOST):
        ratios.append(cpu_s(work, shape.text(size)) / max(ENOUGH_S / 8, cpu_s(work, shape.text(size // 4))))
    return min(ratios)
