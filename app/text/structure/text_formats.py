"""Reads text formats that hide words from a search: reStructuredText becomes Markdown, escapes become characters.

Of reStructuredText, headings, literal blocks and the field list at the top are converted. Of JSON and XML the escapes
are decoded. Everything else is kept as it is written, so that no text is lost.
"""

from __future__ import annotations

import html
import json
import re
import string
from dataclasses import dataclass, field

from app.concurrency import interruption

_FIELD = re.compile(r":([A-Za-z][\w -]{0,40}):[ \t]+(.+)$")
_CODE = re.compile(r"\.\. (?:code-block|code|sourcecode|parsed-literal|literalinclude|doctest)::")
_OPTION = re.compile(r":[\w-]+:")
_TOP = 60  # lines in which the field list ends
MAX_LEVEL = 6
_IN_JSON = re.compile(r"(?P<codes>(?:\\u[0-9a-fA-F]{4})+)|\\(?P<character>.)", re.DOTALL)
_CHARACTERS = {"n": "\n", "t": "\t", "r": "", "b": " ", "f": " ", "/": "/"}
_IN_XML = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKUP = frozenset("<>")


@dataclass(slots=True)
class _Converter:
    """Converts line by line; levels of headings follow from the order in which their underlines first occur."""

    lines: list[str]
    at: int = 0
    out: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)

    def run(self) -> str:
        while self.at < len(self.lines):
            interruption.point()
            if not (self._heading() or self._literal()):
                self.out.append(_escape(self.lines[self.at]))
                self.at += 1
        return "\n".join(self.out)

    def _heading(self) -> bool:
        """Convert a heading with an underline, and maybe a line above it, if one begins here."""
        line = self.lines[self.at]
        over = _is_rule(line) and self._is_underlined(self.at + 1, line.strip())
        if not over and not self._is_underlined(self.at, ""):
            return False
        title, rule = self.lines[self.at + over].strip(), self.lines[self.at + over + 1].strip()
        style = rule[0] * (1 + over)
        if style not in self.styles:
            self.styles.append(style)
        level = min(MAX_LEVEL, self.styles.index(style) + 1)
        self.out += ["", f"{'#' * level} {title}", ""]
        self.at += 2 + over
        return True

    def _is_underlined(self, at: int, over: str) -> bool:
        """Whether a line is a title: text, then a line of one punctuation character as long as it."""
        if at + 1 >= len(self.lines):
            return False
        title, rule = self.lines[at].rstrip(), self.lines[at + 1].rstrip()
        if not title.strip() or (title[0].isspace() and not over) or _is_rule(title) or not _is_rule(rule):
            return False
        return len(rule) >= max(2, len(title.strip())) and over in ("", rule) and (bool(over) or self._is_apart(at))

    def _is_apart(self, at: int) -> bool:
        return at == 0 or not self.lines[at - 1].strip()

    def _literal(self) -> bool:
        """Convert an indented block after `::` or a code directive to a fenced one, if one begins here."""
        line = self.lines[self.at]
        text = line.strip()
        is_code = bool(_CODE.match(text))
        if not is_code and (text.startswith(".. ") or not text.endswith("::")):
            return False
        end = self._end_of_block(self.at + 1, len(line) - len(line.lstrip()))
        block = self._content(self.at + 1, end, is_code=is_code)
        if block is None:
            return False
        fence = "`" * (3 + max((len(run) for text in block for run in re.findall("`{3,}", text)), default=0))
        indent = min((len(text) - len(text.lstrip()) for text in block if text.strip()), default=0)
        self.out += [_escape(line), "", fence, *(text[indent:] for text in block), fence, ""]
        self.at = end
        return True

    def _content(self, first: int, end: int, *, is_code: bool) -> list[str] | None:
        """Return the lines of a block without blank ones around it and without its options, None if all are blank."""
        while end > first and not self.lines[end - 1].strip():
            end -= 1
        if end == first:
            return None
        while first < end and self._precedes_content(self.lines[first], is_code=is_code):
            first += 1
        return self.lines[first:end]

    @staticmethod
    def _precedes_content(line: str, *, is_code: bool) -> bool:
        text = line.lstrip()
        return not text or (is_code and _OPTION.match(text) is not None)

    def _end_of_block(self, at: int, indent: int) -> int:
        while at < len(self.lines):
            line = self.lines[at]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            at += 1
        return at


def rst_to_markdown(text: str) -> tuple[str, dict[str, str]]:
    """Returns the Markdown of a text with line feeds, and the fields of the list after its title. Takes linear time."""
    lines = text.split("\n")
    return _Converter(lines).run().strip("\n"), _fields(lines)


def _fields(lines: list[str]) -> dict[str, str]:
    """Returns the field list that begins the text or that is the first block after the title."""
    found: dict[str, str] = {}
    above = ""
    for line in lines[:_TOP]:
        match = _FIELD.match(line)
        if match and (found or not above or _is_rule(above)):
            found[match[1].lower()] = match[2].strip()
        elif found:
            break
        above = line.strip() or above
    return found


def _is_rule(line: str) -> bool:
    """Returns whether a line is one punctuation character again and again."""
    bare = line.rstrip(" \t")
    return bool(bare) and bare[0] in string.punctuation and not bare.strip(bare[0])


def _escape(line: str) -> str:
    """Returns a line that Markdown would read as a heading or a fence with a backslash before it."""
    return re.sub(r"^( {0,3})(?=#{1,6}\s|```|~~~)", r"\1\\", line)


def decode_json(text: str) -> str:
    """The text of a JSON file with its characters instead of their codes; quotes and backslashes stay escaped."""
    return _IN_JSON.sub(_json_character, text)


def decode_xml(text: str) -> str:
    """The text of an XML file with characters instead of references to them; angle brackets stay references."""
    return _IN_XML.sub(_xml_character, text)


def _json_character(escape: re.Match[str]) -> str:
    if codes := escape["codes"]:
        return json.dumps(json.loads(f'"{codes}"'), ensure_ascii=False)[1:-1]
    return _CHARACTERS.get(escape["character"], escape[0])


def _xml_character(reference: re.Match[str]) -> str:
    character = html.unescape(reference[0])
    return reference[0] if character in _MARKUP else character
