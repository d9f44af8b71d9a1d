"""Decodes the escapes of JSON, XML and roff, because they hide words from a search. Layout and markup stay."""

from __future__ import annotations

import html
import json
import re

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
    "L\"“ R\"” C`\" C'\" --– :aä :oö :uü :AÄ :OÖ :UÜ ssß 'aá 'eé 'ií 'oó 'uú"
)
_ROFF = {
    **{pair[:2]: pair[2:] for pair in _NAMED.split()},
    **dict(zip("-e'`. 0~&|^%:/,)", ("-", "\\", "'", "`", ".", *"   ", *[""] * 8), strict=True)),
}
_HIDDEN_IN_ROFF = re.compile(
    r"^(?:['.][ \t]*\\\".*|\.IX\b.*|\.[ \t]*de[1i]?[ \t](?:.*\n){1,60}?\.\.[ \t]*)(?:\n|$)", re.M
)
"""Comments, entries of an index and definitions of macros, which no reader of the page sees."""
_ROFF_PARAGRAPH = re.compile(r"(?<=[^\n]\n)(?=\.[ \t]*(?:[LPT]?P|[IH]P|TQ|Pp|It|nf|EX)\b)")


def decode_roff(text: str) -> str:
    """Replaces the escapes in the source of a manual page by characters, and adds blank lines before paragraphs.

    Removes comments, which are mostly licences in English above a text in any language, and definitions of macros.
    """
    shown = _HIDDEN_IN_ROFF.sub("", text)
    decoded = _IN_ROFF.sub(lambda one: _ROFF.get(one[one.lastgroup], one[0]) if one.lastgroup else "", shown)
    return _ROFF_PARAGRAPH.sub("\n", decoded)


def decode_json(text: str) -> str:
    """Replaces the codes in the text of a JSON file by characters. Quotes and backslashes stay escaped."""
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
