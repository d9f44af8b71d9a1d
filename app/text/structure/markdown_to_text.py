"""Shows a part of a text as plain text: without marks of headings, lists, tables, emphasis, code and links.

Lines that were broken for their length are joined. Offsets in the text can be mapped to offsets in the plain text.
Takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.text.structure import structure

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+")
_CLOSING = re.compile(r"[ \t]+#+[ \t]*$")
_FENCE_LINE = re.compile(r" {0,3}(?:`{3,}|~{3,})[^\n]*\n?")
_LAST_FENCE = re.compile(r"\n {0,3}(?:`{3,}|~{3,})[ \t]*$")
_UNDERLINE = re.compile(r"\n {0,3}(?:=+|-+)[ \t]*$")
_RULE_ROW = re.compile(r"^[ \t]*+\|?[ \t]*+:?-[-:| \t]*+(?:\n|$)", re.MULTILINE)
_EDGE = re.compile(r"^[ \t]*+\|[ \t|]*+|(?<![\\ \t|])(?:[ \t]*+\|)++[ \t]*+$", re.MULTILINE)
_CELLS = re.compile(r"(?<![\\ \t|])(?:[ \t]*+\|)++[ \t]*+")
_LINE_MARK = re.compile(
    r"^(?:[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\[[ xX]\][ \t]++)?"
    r"| {0,3}>(?:[ \t]?>)*+[ \t]?(?:\[![A-Za-z]++\][+-]?[ \t]*+)?)++",
    re.MULTILINE,
)
_INLINE = re.compile(
    r"\\[!-/:-@\[-`{-~]|(?P<code>`+)|(?P<link>!?\[)(?:(?P<label>[^\[\]]*)\]\([^()\n]*\)"
    r"|(?<!\w\[)\[(?:[^\[\]|\n]*\|)?(?P<wiki>[^\[\]|\n]*)\]\](?!\())|\*{1,3}|_{1,3}|~~|=="
)
_WRAPS = {
    "paragraph": re.compile(r"(?<=[^\n]{50})(?<! {2})\n(?=(?:>[> ]*+)?[^\W_])"),
    "list": re.compile(r"\n[ \t]*+(?![-*+][ \t]|\d{1,9}[.)][ \t]|\|)(?=\S)"),
}
"""The breaks of long lines in a paragraph, and all within an item of a list."""

Mark = tuple[int, int, str]
"""The offsets of a mark, and the text in its place."""


@dataclass(frozen=True, slots=True)
class PlainPart:
    """A part of a text without marks. `offsets` has where each kept piece begins in text and part, and its length."""

    text: str
    offsets: Sequence[tuple[int, int, int]]

    def place(self, offset: int) -> int:
        """Maps an offset in the text to an offset in the part. An offset in a mark maps to the place of the mark."""
        begin, at, length = self.offsets[max(0, bisect_right(self.offsets, offset, key=lambda one: one[0]) - 1)]
        return at + min(max(0, offset - begin), length)


def part(text: str, marks: Sequence[Mark], start: int, end: int) -> PlainPart:
    """Returns `text[start:end]` without its marks. If it has only marks, they are kept."""
    pieces: list[str] = []
    offsets: list[tuple[int, int, int]] = []
    position, length = start, 0
    inside = ((max(one[0], start), min(one[1], end), one[2]) for one in marks if one[0] < end and one[1] > start)
    for begin, finish, shown in (*inside, (end, end, "")):
        pieces += (text[position:begin], shown)
        offsets.append((position, length, begin - position))
        length += begin - position + len(shown)
        position = finish
    plain = "".join(pieces)
    return PlainPart(plain, offsets) if plain.strip() else PlainPart(text[start:end], [(start, 0, end - start)])


def marks(text: str, *, markdown: bool) -> list[Mark]:
    """Returns the line breaks within sentences and, with `markdown`, the marks of a text, in order without overlaps."""
    found: list[Mark] = []
    for block in structure.blocks(text):
        wrapped = _WRAPS[block.kind].finditer(text, block.start, block.end) if block.kind in _WRAPS else ()
        wraps = [(one.start(), one.end(), " ") for one in wrapped]
        outer = list(_of_block(text, block)) if markdown else []
        inner = _of_inline(text, block.start, block.end) if markdown and block.kind != "fence" else []
        found += _join(_join(outer, inner), wraps)
    return found


def _of_block(text: str, block: structure.Block) -> Iterator[Mark]:
    """The marks of a block by its kind."""
    whole = block.start, block.end
    if block.kind == "heading":
        opening = _HEADING.match(text, *whole)
        found = [opening, _CLOSING.search(text, *whole)] if opening else [_UNDERLINE.search(text, *whole)]
    elif block.kind == "fence":
        opening = _FENCE_LINE.match(text, *whole)
        found = [opening, _LAST_FENCE.search(text, opening.end() - 1 if opening else block.start, block.end)]
    elif block.kind == "table":  # a rule below the header, bars at the ends of rows, and bars between cells
        rules, edges, cells = (
            [(one.start(), one.end(), shown) for one in pattern.finditer(text, *whole)]
            for pattern, shown in ((_RULE_ROW, ""), (_EDGE, ""), (_CELLS, ", "))
        )
        yield from _join(rules, _join(edges, cells))
        return
    else:
        found = [*_LINE_MARK.finditer(text, *whole)]
    yield from ((one.start(), one.end(), "") for one in found if one)


def _of_inline(text: str, start: int, end: int) -> list[Mark]:
    """The marks of emphasis, code, links and escapes, in order."""
    found: list[Mark] = []
    runs = Counter(one["code"] for one in _INLINE.finditer(text, start, end) if one["code"])
    code: tuple[str, int] | None = None
    emphasis: dict[str, int] = {}
    for one in _INLINE.finditer(text, start, end):
        run = one[0]
        if one["code"]:
            runs[run] -= 1
            if code and run == code[0]:
                found += [(code[1], code[1] + len(run), ""), (one.start(), one.end(), "")]
                code = None
            elif code is None and runs[run]:
                code = run, one.start()
        elif code:
            continue
        elif one["link"]:
            label = one.span("label" if one["wiki"] is None else "wiki")
            found += [(one.start(), label[0], ""), *_of_inline(text, *label), (label[1], one.end(), "")]
        elif run[0] == "\\":
            found.append((one.start(), one.start() + 1, ""))
        else:
            found += _of_emphasis(text, one, emphasis)
    return sorted(found)


def _of_emphasis(text: str, one: re.Match[str], opened: dict[str, int]) -> list[Mark]:
    """The marks that a run closes, with their opening marks. Notes the run if it may open something."""
    run = one[0]
    before, after = text[one.start() - 1 : one.start()] or " ", text[one.end() : one.end() + 1] or " "
    if not before.isspace() and not (after.isalnum() or after == "_"):
        for closed in ((run,), (run[:2], run[:1]) if len(run) == 3 else ()):
            if closed and all(each in opened for each in closed):
                begins = [(opened.pop(each), len(each)) for each in closed]
                if run == "__" and text[begins[0][0] + 2 : one.start()].isidentifier():  # such as __init__
                    return []
                return [*((begin, begin + length, "") for begin, length in begins), (one.start(), one.end(), "")]
    if not after.isspace() and not (before.isalnum() or before == "_"):
        opened[run] = one.start()
    return []


def _join(first: Sequence[Mark], second: Sequence[Mark]) -> list[Mark]:
    """Joins both in order, without marks that overlap an earlier one. At the same offset, `first` comes first."""
    taken = sorted([(one, 0) for one in first] + [(one, 1) for one in second], key=lambda each: (each[0][0], each[1]))
    kept: list[Mark] = []
    for mark, _rank in taken:
        if not kept or mark[0] >= kept[-1][1]:
            kept.append(mark)
    return kept
