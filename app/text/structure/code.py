"""Finds the definitions in source code: classes, functions, types and statements that create something.

Words and brackets of the common languages at the beginning of a line mark a definition. Its indentation shows its
extent, because programmers indent code in every language. Takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.concurrency import offload
from app.text.structure import structure
from app.text.structure.structure import Block

MAX_LINE = 400
"""Most code points of a line with a definition. A longer line is data."""
MAX_DEPTH = 8
TAB = 8

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|unsafe|virtual|override|open"
    r"|sealed|data|inline|extern|cdef|const|declare|partial|suspend|local|pub(?:\([a-z]*+\))?)[ \t]++)*+"
)
_NAMED = re.compile(
    _MODIFIERS + r"(?:def|class|func|function\*?|fn|impl|struct|interface|trait|enum|type|module|object|record|protocol"
    r"|namespace|union|macro_rules!|sub|defmodule|defp|message|service)"
    r"(?:[ \t]++(?:class\b|struct\b|[A-Z][A-Z\d]*+_[A-Z\d_]*+(?=[ \t]++\w)))?[ \t]*+"
    r"(?:<[^<>]*+>[ \t]*+)?(?:\([^()]*+\)[ \t]*+)?(?<=[ \t)>])(?P<name>[^\W\d][\w$.]*+[?!]?)[ \t]*+"
    r"(?:[(<\[:{=;]|$|(?:extends|implements|for|where|struct|interface|is|as|with|returns|throws|from)\b|[A-Z_]++\()"
)
"""A word that introduces a definition, and its name; between them the type parameters or the receiver of a method.

The text after the name distinguishes code from the prose of a comment, such as "class of hits".
"""
_ASSIGNED = re.compile(
    r"(?:export[ \t]++(?:default[ \t]++)?)?(?:const|let|var|val)[ \t]++(?P<name>[A-Za-z_$][\w$]*+)[ \t]*+(?::[^=]*+)?"
    r"=[ \t]*+(?:async[ \t]*+)?(?:function\b|\([^()]*+\)[^=]*+=>|[A-Za-z_$][\w$]*+[ \t]*+=>)"
)
"""A function that is the value of a name, as in JavaScript."""
_CREATED = re.compile(
    r"CREATE[ \t]++(?:OR[ \t]++REPLACE[ \t]++)?(?:UNIQUE[ \t]++|TEMP(?:ORARY)?[ \t]++|MATERIALIZED[ \t]++)?"
    r"(?:TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|INDEX|TYPE|SCHEMA|POLICY|SEQUENCE)[ \t]++(?:IF[ \t]++NOT[ \t]++EXISTS"
    r"[ \t]++)?(?P<name>[\w.\"]++)",
    re.IGNORECASE,
)
"""A CREATE statement of SQL."""
_EXPRESSION = re.compile(
    r"(?:WITH[ \t]++)?(?P<name>\w++)[ \t]++AS[ \t]++(?:(?:NOT[ \t]++)?MATERIALIZED[ \t]++)?\($", re.IGNORECASE
)
"""The beginning of a common table expression."""
_CALLABLE = re.compile(
    r"(?:[A-Za-z_~][\w<>\[\]:.,?~]*+[ \t*&]++(?!\())*+[*&]*+(?!(?:for|foreach|function|requires|sub|while)\b)"
    r"(?P<name>#?[A-Za-z_~$][\w$:~]*+)[ \t]*+\((?:[^;{}=()]|\([^;{}=()]*+\))*+\)[^;={}()]*+(?P<open>\{)?$"
)
"""A function or method of a language with braces: what it returns, its name and parameters, and its brace."""
_NO_NAME = re.compile(
    r"#?(?:if|for|while|switch|return|else|do|catch|try|new|throw|case|await|yield|super|assert|elif|with|delete"
    r"|foreach|using|lock|match|select|and|or|not|in|unless|until|elsif|elseif|synchronized|when)\b"
)
_ABOVE = re.compile(
    r"@|#(?!!)|//|/\*|\*|--|\[[A-Z]|template\b|(?!(?:import|return|pass|else)\b)[A-Za-z_][\w:<>,*& \t]*$"
)
"""Lines above a definition that belong to it: comments, decorators, attributes, types of its result."""
_CLOSING = re.compile(r"[)\]}]|end\b|\{")


def blocks(text: str) -> list[Block]:
    """Returns the blocks of code: before each definition an empty heading with its name, and its lines as fences.

    A definition ends before a line that is not indented more than its first line; closing brackets do not count. The
    following text has the headings around it. Comments, decorators and attributes above a definition belong to it.
    """
    return list(_DefinitionScanner(text).run())


@dataclass(slots=True)
class _DefinitionScanner:
    """Scans line by line; `open` has the indentations of the definitions around the line.

    `lead` has the start and the indentation of the lines that may belong to the definition below them.
    """

    text: str
    open: list[int] = field(default_factory=list)
    lead: tuple[int, int] | None = None
    start: int = -1
    end: int = -1

    def run(self) -> Iterator[Block]:
        lines = [line.span() for line in structure.visible_lines(self.text)]
        for number, (start, end) in enumerate(lines):
            following = lines[number + 1] if number + 1 < len(lines) else (end, end)
            yield from self._line(start, end, self.text[following[0] : following[1]][:MAX_LINE].strip())
        yield from self._closed()

    def _line(self, start: int, end: int, following: str) -> Iterator[Block]:
        line = self.text[start : min(end, start + MAX_LINE)].expandtabs(TAB)
        words = line.strip()
        indent = len(line) - len(line.lstrip())
        around = [outer for outer in self.open if outer < indent]
        is_apart = start > self.end + 1
        is_outside = bool(self.open) and indent <= self.open[-1] and not _CLOSING.match(words)
        name = _name(words, following) if end - start <= MAX_LINE else None
        if name is not None and len(around) < MAX_DEPTH:
            begin = self.lead[0] if self.lead is not None and self.lead[1] == indent else start
            yield from self._closed(begin)
            self.open = [*around, indent]
            yield Block("heading", begin, begin, len(self.open), name)
            self.start = begin if begin < self.end else -1
            self.lead = None
        elif is_apart or is_outside:
            yield from self._closed()
            if is_outside and not _ABOVE.match(words):
                self.open = around
                yield Block("heading", start, start, len(around) + 1)
        self._follow(start, indent, words, is_apart)
        self.start, self.end = (start if self.start < 0 else self.start), end

    def _follow(self, start: int, indent: int, words: str, is_apart: bool) -> None:
        """Notes whether the line may belong to a definition below it."""
        if self.lead is not None and not is_apart and (indent > self.lead[1] or _CLOSING.match(words)):
            return
        if not _ABOVE.match(words):
            self.lead = None
        elif self.lead is None or is_apart or self.lead[1] != indent:
            self.lead = start, indent

    def _closed(self, before: int | None = None) -> Iterator[Block]:
        """The lines since the last block, up to an offset."""
        offload.check_stopped()
        end = self.end if before is None else min(self.end, before)
        if 0 <= self.start < end:
            yield Block("fence", self.start, end)
        self.start = -1


def _name(words: str, following: str) -> str | None:
    for pattern in (_NAMED, _ASSIGNED, _CREATED, _EXPRESSION):
        if match := pattern.match(words):
            return match["name"]
    if words[-1] not in "{)" or _NO_NAME.match(words):
        return None
    match = _CALLABLE.match(words)
    return match["name"] if match and (match["open"] or following == "{") else None
