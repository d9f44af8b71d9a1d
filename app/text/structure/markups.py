"""Finds the headings and the title of texts in other markup than Markdown, and decodes escapes.

Everything but headings is paragraphs. The escapes of JSON, XML, LaTeX, roff, calendars and contacts are decoded,
because they hide words from a search. Layout and markup stay.
"""

from __future__ import annotations

import html
import json
import quopri
import re
import unicodedata
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
_SUFFIXES: dict[str, Markup] = dict(adoc="asciidoc", asciidoc="asciidoc", org="org", tex="latex", bib="latex")
_MANUAL = re.compile(r"(?=\n*['.])(?:.*\n){0,300}?\.(?:TH|Dd) ")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?(?=\{[^}])|[\\{}$]")
_IN_JSON = re.compile(r"(?P<codes>(?:\\u[0-9a-fA-F]{4})+)|\\(?P<character>.)", re.DOTALL)
_CHARACTERS = {"n": "\n", "t": "\t", "r": "", "b": " ", "f": " ", "/": "/"}
_IN_XML = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_IN_ROFF = re.compile(
    r"\\(?:[fs](?:\[[^\]\n]{0,20}\]|\(..|[-+]?.)|\*?(?:\((?P<two>\S\S)|\[(?P<name>[^\]\s]{1,20})\])"
    r"|(?P<one>[^\n\w*\"]|e|0))"
)
"""Fonts and sizes, which have no text; characters and strings by name; characters of one letter."""
_NAMED = (
    "hy- mi− en– em— aq' Aq' dq\" lq“ rq” oq‘ cq’ bu• co© rs\\ ti~ ha^ ga` at@ sh# Do$ <=≤ >=≥ ->→ <-← mu× de° Fo« Fc» "
    'L"“ R"” C`" C\'" --– ssß la⟨ ra⟩ Bq„ bq‚ aeæ AEÆ oeœ OEŒ oaå oAÅ /oø /OØ vsš vSŠ vzž vZŽ'
)
_ROFF: dict[str, str] = {
    **{pair[:2]: pair[2:] for pair in _NAMED.split()},
    **dict(zip("-e'`. 0~&|^%:/,)", ("-", "\\", "'", "`", ".", *"   ", *[""] * 8), strict=True)),
}
_LATEX_MARKS = "\u0301\u0300\u0302\u0303\u0308\u0307\u0304\u0306\u030c\u0327\u030b\u0328\u030a"
_LATEX_ACCENTS = dict(zip("'`^~\".=uvcHkr", _LATEX_MARKS, strict=True))
_LATEX_LETTERS = dict(ss="ß", ae="æ", AE="Æ", oe="œ", OE="Œ", aa="å", AA="Å", o="ø", O="Ø", l="ł", L="Ł", i="ı", j="ȷ")
_IN_LATEX = re.compile(
    r"(?P<open>\{)?(?<!\\)\\(?:(?P<accent>['`^~=.]|\"(?=[ \t]*[AEIOUYaeiouy{\\])|[uvcHkr](?=[ \t{]))[ \t]*"
    r"(?:\{\\?(?P<braced>[A-Za-z])\}|\\(?P<dotless>[ij])(?![A-Za-z])(?:\{\}|[ \t])?|(?P<letter>[A-Za-z]))"
    r"|(?P<name>-|(?:ss|ae|AE|oe|OE|aa|AA|[oOlLij])(?![A-Za-z(_^]))(?:\{\}|[ \t])?)(?(open)\})"
)
_LISTING = re.compile(r"(\\(?:begin|end)\{(?:[vV]erbatim|lstlisting|minted|tabbing)\*?\})")
"""The beginning or end of code, and of lines with tabs, in which the commands of accents have other meanings."""
_QUOTED = re.compile(r"^([^:\n]{0,300};ENCODING=QUOTED-PRINTABLE[^:\n]{0,300}:)((?:.*=\r?\n)*.*)", re.M | re.I)
_HIDDEN_IN_ROFF = re.compile(
    r"^(?:['.][ \t]*\\\".*|\.IX\b.*|\.[ \t]*de[1i]?[ \t](?:.*\n){1,60}?\.\.[ \t]*)(?:\n|$)", re.M
)
"""Comments, entries of an index and definitions of macros, which no reader of the page sees."""
_ROFF_PARAGRAPH = re.compile(r"(?<=[^\n]\n)(?=\.[ \t]*(?:[LPT]?P|[IH]P|TQ|Pp|It|nf|EX|[Ss]p|Vb)\b)")

_REQUEST = re.compile(r"^\.[ \t]*([A-Z]{1,2}|[a-z]{2}|\\\})(?:[ \t]+(.*))?(?:\n|\Z)", re.M)
_MDOC_LINE = re.compile(r"^\.[ \t]*(?!Sh|Ss|Dd|Dt|Nd)([A-Z][a-z])\b[ \t]*(.*)(?:\n|\Z)", re.M)
_MDOC_LAYOUT = re.compile(r"B[dkl]|E[dkl]|[LP]p|R[es]|Os")
_MDOC_MACRO = re.compile(
    r"(?<!\S)(?:A[dnoprqt]|B[ox]|C[dm]|D[cqvo]|E[mrv]|F[aln]|I[ct]|Li|N[mo]|O[cop]|P[afqoc]|Q[lqoc]|S[qxyoc]|Tn|V[at])"
    r"(?!\S) ?"
)
_ARGUMENT = re.compile(r'"([^"\n]*)"?|(\S+)')
_LAYOUT = r"TP TQ PP LP P HP RS RE EX EE PD UE ME sp br nf fi ad na nh hy ne in ti ta ft ps nr it ds Sp Vb Ve \}"
_SHOWN: dict[str, tuple[str, int | None]] = {
    **dict.fromkeys(("B", "I", "SM", "SB", "UR", "MT"), (" ", None)),
    **dict.fromkeys(("BR", "BI", "IB", "IR", "RB", "RI"), ("", None)),
    **dict.fromkeys(_LAYOUT.split(), ("", 0)),
    "IP": ("", 1),
}
"""How the arguments of requests for fonts and layout are joined, and how many of them are text."""


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


def decode_roff(text: str) -> str:
    """Replaces the escapes in the source of a manual page by characters, and layout by blank lines before paragraphs.

    Keeps other requests, such as headings. Removes comments, which are mostly licences in English above a text in any
    language, and definitions of macros.
    """
    shown = _HIDDEN_IN_ROFF.sub("", text)
    decoded = _IN_ROFF.sub(lambda one: _ROFF.get(one[one.lastgroup], one[0]) if one.lastgroup else "", shown)
    shown = _REQUEST.sub(_show_request, _ROFF_PARAGRAPH.sub("\n", decoded))
    if not re.search(r"^\.Dd ", shown, re.M):
        return shown
    name = re.search(r"^\.Nm[ \t]+(\S+)", shown, re.M)
    words = _MDOC_LINE.sub(lambda line: _show_mdoc(line, name[1] if name else ""), shown)
    return re.sub(r"\n\.Nd[ \t]+", " - ", words)


def _show_mdoc(line: re.Match[str], name: str) -> str:
    """The words of a line of mdoc(7), in which macros call one another; `Nm` alone is the name of the page."""
    if _MDOC_LAYOUT.fullmatch(line[1]):
        return ""
    marked = f"{line[1]} {line[2] or (name if line[1] == 'Nm' else '')}"
    marked = re.sub(r" Ns (?:[A-Z][a-z] (?=\S))?", "", re.sub(r"\bXr (\S+) (\d\w*)", r"\1(\2)", marked))
    marked = re.sub(r"\bFl (?=[\w-])", "-", marked)
    return f"{_MDOC_MACRO.sub('', marked).strip()}\n"


def _show_request(request: re.Match[str]) -> str:
    """The arguments that are text. Of a condition, the line that opens or closes a block has none."""
    if request[1] in ("if", "ie", "el") and (request[2] or "").endswith(("\\{\\", "\\{")):
        return ""
    if request[1] not in _SHOWN:
        return request[0]
    separator, count = _SHOWN[request[1]]
    words = [quoted or word for quoted, word in _ARGUMENT.findall(request[2] or "")]
    text = separator.join(words[:count])
    return f"{text}\n" if text else ""


def decode_latex(text: str) -> str:
    """Replaces letters that a LaTeX file writes as commands, and removes possible hyphens, except in listings."""
    parts = ["", *_LISTING.split(text)]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return "".join(
        mark + (part if mark.startswith("\\begin") else _IN_LATEX.sub(_latex_letter, part)) for mark, part in pairs
    )


def _latex_letter(command: re.Match[str]) -> str:
    accent, letter = command["accent"], command[command.lastgroup or 0]
    if not accent:
        return _LATEX_LETTERS.get(letter, "")  # a possible hyphen has none
    composed = unicodedata.normalize("NFC", letter + _LATEX_ACCENTS[accent])
    return composed if len(composed) == 1 else command[0]


def decode_cards(text: str) -> str:
    """Joins folded lines and decodes escapes of calendars (RFC 5545) and contacts (RFC 6350; quoted-printable of 2.1).

    A blank line stands before each entry.
    """
    text = _QUOTED.sub(_decode_quoted, text)
    text = re.sub(r"^(?=BEGIN:)", "\n", re.sub(r"\r?\n[ \t]", "", text), flags=re.M)
    return re.sub(r"\\([,;nN\\])", lambda escape: escape[1] if escape[1] in ",;\\" else "\n", text)


def _decode_quoted(line: re.Match[str]) -> str:
    """A line of a contact in quoted-printable, in UTF-8 or else in the encoding of Windows, as Outlook writes it."""
    raw = quopri.decodestring(line[2].encode())
    try:
        return line[1] + raw.decode()
    except UnicodeDecodeError:
        return line[1] + raw.decode("cp1252", "replace")


def decode_json(text: str) -> str:
    """Replaces the escapes in the text of a JSON file by characters. Quotes and backslashes stay escaped."""
    return _IN_JSON.sub(_json_character, text)


def decode_xml(text: str) -> str:
    """Replaces the references in the text of an XML file by characters. Angle brackets stay references."""
    return _IN_XML.sub(_xml_character, text)


def _json_character(escape: re.Match[str]) -> str:
    if codes := escape["codes"]:
        return json.dumps(json.loads(f'"{codes}"'), ensure_ascii=False)[1:-1]
    return _CHARACTERS.get(escape["character"], escape[0])


def _xml_character(reference: re.Match[str]) -> str:
    character = html.unescape(reference[0])
    return reference[0] if character in "<>" else character
