"""Finds the headings and the title of texts in other markup than Markdown. Everything else is paragraphs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from app.text.structure import structure

Markup = Literal["asciidoc", "latex", "org", "manual"]


@dataclass(frozen=True, slots=True)
class _Rules:
    """Patterns of headings and of the title of a document, marks by level, and fences around text without headings."""

    headings: str
    title: str
    marks: tuple[str, ...] = ()  # empty: the length of a mark is the level
    fences: str = r"(?P<fence>(?!))"


_SECTIONS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph", "frametitle")
_BRACED = r"[ \t]*(?:\[[^\]\n]{0,300}\])?[ \t]*\{(?P<title>(?:[^{}]|\{[^{}]{0,100}\}){1,300})\}"
_STARTED = r"[ \t]+(?P<title>\S.{0,300})$"
_RULES: dict[Markup, _Rules] = {
    "asciidoc": _Rules(
        rf"^(?P<mark>={{1,6}}){_STARTED}",
        r"\A(?:(?:(?://|:).*)?\n)*=[ \t]+(?P<title>\S.{0,300})",
        fences=r"^(?P<fence>(?:-{4,}|\.{4,}|\+{4,}|/{4,})(?=[ \t]*$)|`{3,})",
    ),
    "latex": _Rules(rf"^[ \t]*\\(?P<mark>{'|'.join(_SECTIONS)})\*?{_BRACED}", rf"^[ \t]*\\title{_BRACED}", _SECTIONS),
    "org": _Rules(
        rf"^(?P<mark>\*{{1,9}}){_STARTED}",
        rf"^#\+title:{_STARTED}",
        fences=r"^[ \t]*#\+(?:begin|end)_(?P<fence>\w+)",
    ),
    "manual": _Rules(
        r"^\.[ \t]*(?P<mark>SH|SS)[ \t]+\"?(?P<title>[^\"\n]{1,300})\"?$",
        r"^\.[ \t]*SH[ \t].{1,80}\n+(?:\.[A-Z]{1,2}\b[ \t]*\n*)*(?P<title>.{1,300})",
        ("sh", "ss"),
    ),
}
_MARKS = {markup: re.compile(f"{rules.headings}|{rules.fences}", re.M | re.I) for markup, rules in _RULES.items()}
_TITLES = {markup: re.compile(rules.title, re.M | re.I) for markup, rules in _RULES.items()}
_SUFFIXES: dict[str, Markup] = {"adoc": "asciidoc", "asciidoc": "asciidoc", "org": "org", "tex": "latex"}
_MANUAL = re.compile(r"(?=\n*['.])(?:.*\n){0,300}?\.(?:TH|Dd) ")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?(?=\{[^}])|[\\{}$]")


def find(text: str, suffix: str) -> Markup | None:
    """Returns the markup of a text from a file with this suffix; None for other texts."""
    return _SUFFIXES.get(suffix) or ("manual" if _MANUAL.match(text) else None)


def blocks(text: str, markup: Markup) -> list[structure.Block]:
    """Returns the headings and paragraphs of a text. Without headings of the markup, finds those of plain text."""
    marks = _RULES[markup].marks
    found: list[structure.Block] = []
    fence = ""
    for match in _MARKS[markup].finditer(text):
        if line := (match["fence"] or "").lower():
            fence = "" if line == fence else fence or line
            continue
        mark = match["mark"].lower()
        title = _words(match["title"], markup).removesuffix(f" {mark}")
        if title and not fence:
            level = marks.index(mark) + 1 if marks else len(mark)
            found.append(structure.Block("heading", match.start(), match.end(), level, title))
    return structure.fill(text, found) if found else structure.blocks(text, markdown=False)


def title(text: str, suffix: str) -> str:
    """Returns the title of a text from a file with this suffix, or else its first heading, like `plain_title`."""
    markup = find(text, suffix)
    match = _TITLES[markup].search(text) if markup else None
    return _words(match["title"], markup) if match and markup else structure.plain_title(text)


def _words(marked: str, markup: Markup) -> str:
    words = _COMMAND.sub("", marked.replace("\\\\", " ")).replace("~", " ") if markup == "latex" else marked
    return " ".join(words.split())
