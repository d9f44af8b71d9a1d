"""Splits a document into passages.

It cuts at the largest structure that fits: sections, then blocks, then sentences or lines, then words, then anywhere. A
passage is a slice of the text, so its offsets are exact. Only a passage that begins inside a table has the caption and
the header rows of the table before its slice.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, get_args

from app.concurrency import offload
from app.text.structure import code, conversations, markups, sentences, structure
from app.text.words import tokens

MAX_CHARACTERS = 8_000
SLACK = 1.25  # a section up to this multiple of the target is not cut
EQUAL = 4  # the end of a section, up to this multiple of the target, is cut into equal passages
SHARE = 0.9  # the size of the passages before, in targets: about that of equal ones
TINY = 1 / 3  # a section smaller than this share of the target is joined with a neighbour
HEADER_SHARE = 0.5  # the largest share of the target that a table's header may take to be repeated
RULE = re.compile("(?<=---)-+")
"""What a rule, such as that below the names of a table, has too much: up to a token for each character."""
_OVERLAP_WINDOW = 800  # code points in which the sentences to repeat are searched

TextKind = Literal["markdown", "plain", "code"] | markups.Markup
"""The markup that shows the structure of a text."""
_BLOCKS: dict[TextKind, Callable[[str], list[structure.Block]]] = {
    "markdown": structure.blocks,
    "plain": partial(structure.blocks, markdown=False),
    "code": code.blocks,
    **{markup: partial(markups.blocks, markup=markup) for markup in get_args(markups.Markup)},
}
_Splitter = Callable[[str, int, int], Iterable[sentences.Span]]
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_DELIMITER = re.compile(r"[ \t|:]*+-[ \t|:-]*+$")
_RULES = re.compile(r"(?:[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*(?:\n|$))+")
_CAPTION = re.compile(r"(?:table|tabelle|tableau|tabla|tabella|tabela|tab\.)\s+\S|.*:\s*$", re.IGNORECASE)
MAX_CAPTION = 300
"""Largest length of a table's caption, in code points."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A slice of a cleaned text: `content == text[start:end]`, in code points.

    If it begins inside a table, `content` has the table's caption and header rows before the slice. The passage of a
    document without text is its title, with the offsets 0 and 0.
    """

    content: str
    start: int
    end: int
    heading_path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Limits:
    """Sizes in tokens. A piece up to `whole` is not cut."""

    target: int
    overlap: int
    maximum: int

    @property
    def whole(self) -> int:
        return min(self.maximum, int(self.target * SLACK))

    def under(self, path: tuple[str, ...]) -> _Limits:
        """Returns the limits for content that is embedded together with its heading path."""
        maximum = max(self.maximum // 2, self.maximum - sum(map(tokens.count, path)))
        return _Limits(min(self.target, maximum), min(self.overlap, maximum // 4), maximum)


@dataclass(frozen=True, slots=True)
class _PieceOffsets:
    """A text and the offsets of its tokens."""

    text: str
    starts: Sequence[int]

    def count(self, start: int, end: int) -> int:
        return bisect_left(self.starts, end) - bisect_left(self.starts, start)

    def fits(self, start: int, end: int, limit: int, header: sentences.Span | None = None) -> bool:
        above = header or (0, 0)
        length = end - start + above[1] - above[0]
        return length <= MAX_CHARACTERS and self.count(start, end) + self.count(*above) <= limit


@dataclass(slots=True)
class _Section:
    """A heading with its blocks and subsections; the root has none. `body` is the offset after the heading's line."""

    level: int
    path: tuple[str, ...]
    start: int
    body: int
    end: int
    blocks: list[structure.Block] = field(default_factory=list)
    children: list[_Section] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Unit:
    """A piece that packing does not cut.

    `whole` is set if the piece ends with a sentence, line or block, outside of tables and code. `header` is the caption
    and the header rows of the table around the piece. A passage that begins with the piece repeats them.
    """

    start: int
    end: int
    whole: bool
    header: sentences.Span | None = None


def split(
    text: str,
    *,
    kind: TextKind = "markdown",
    target_tokens: int = 160,
    overlap_tokens: int = 24,
    max_tokens: int = 230,
    starts: Callable[[str], Sequence[int]] = tokens.starts,
) -> list[Passage]:
    """Splits a cleaned text into passages, in reading order.

    Sections are cut to about `target_tokens`; a section of up to 1.25 times the target is not cut. Content and heading
    path together stay within `max_tokens`, but content may always have half of it. Content stays within 8,000 code
    points. If a section is cut, up to `overlap_tokens` of whole sentences are repeated, and each passage of a table
    begins with its caption and header rows. `heading_path` has the headings, or the definitions of source code. Very
    small sections are joined under their common ancestor and keep their heading lines. Every visible character is in a
    passage or a heading path, except a rule that is all the text between two headings. `starts` returns the offsets of
    tokens, ascending; by default they are estimated, as headings always are (see `tokens`). Takes linear time.

    Raises ValueError unless 1 ≤ target_tokens ≤ max_tokens and 0 ≤ overlap_tokens < target_tokens.
    """
    if not (1 <= target_tokens <= max_tokens and 0 <= overlap_tokens < target_tokens):
        raise ValueError("need 1 <= target_tokens <= max_tokens and 0 <= overlap_tokens < target_tokens")
    source = _PieceOffsets(text, starts(RULE.sub(lambda rule: " " * len(rule[0]), text)))
    root = _outline(text, _BLOCKS[kind](text))
    return list(_passages(source, root, _Limits(target_tokens, overlap_tokens, max_tokens)))


def _outline(text: str, blocks: Iterable[structure.Block]) -> _Section:
    """Returns the tree of sections. A section ends at the next heading of its level or above.

    A rule between a heading and the heading of its first subsection is not text of the section.
    """
    root = _Section(0, (), 0, 0, 0)
    open_sections = [root]
    for block in blocks:
        if block.kind == "heading":
            while open_sections[-1].level >= block.level:
                open_sections.pop()
            parent = open_sections[-1]
            if not parent.children and all(_RULES.fullmatch(text, one.start, one.end) for one in parent.blocks):
                parent.blocks.clear()
            path = (*parent.path, block.title) if block.title else parent.path
            section = _Section(block.level, path, block.start, block.end, block.end)
            parent.children.append(section)
            open_sections.append(section)
        else:
            open_sections[-1].blocks.append(block)
        for section in open_sections:
            section.end = block.end
    return root


def _passages(source: _PieceOffsets, section: _Section, limits: _Limits) -> Iterator[Passage]:
    """Yields the passages of a section and its subsections."""
    while not section.blocks and len(section.children) == 1 and section.children[0].body < section.children[0].end:
        section = section.children[0]  # it contains only one subsection, which has text
    inner = limits.under(section.path)
    if source.fits(section.body, section.end, inner.whole):
        yield from _passage(source.text, section.body, section.end, section.path)
        return
    for group in _groups(source, section, inner):
        first, last = group[0], group[-1]
        if len(group) > 1:
            yield from _passage(source.text, first.start, last.end, section.path)
        elif first is section:
            yield from _cut(source, section.blocks, section.path, inner)
        elif first.body == first.end:  # no text follows this heading, so no path would contain it
            heading = structure.Block("paragraph", first.start, first.end)
            yield from _cut(source, [heading], section.path, inner)
        else:
            yield from _passages(source, first, limits)


def _passage(
    text: str, start: int, end: int, path: tuple[str, ...], header: sentences.Span | None = None
) -> Iterator[Passage]:
    offload.check_stopped()
    above = text[header[0] : header[1]] + "\n" if header else ""
    for begin, finish in sentences.trim(text, start, end):
        yield Passage(above + text[begin:finish], begin, finish, path)


def _groups(source: _PieceOffsets, section: _Section, limits: _Limits) -> Iterator[list[_Section]]:
    """Yields a section's own text (as the section itself) and its children. Tiny ones are joined with a neighbour."""
    group: list[_Section] = []
    group_size = 0
    for part in [section, *section.children] if section.blocks else section.children:
        start, end = (section.blocks[0].start, section.blocks[-1].end) if part is section else (part.start, part.end)
        size = source.count(start, end)
        heading = group[0].start if group else start  # a joined passage begins with it
        begin = section.blocks[0].start if group and group[0] is section else heading
        joins = min(group_size, size) < int(limits.target * TINY) and source.fits(begin, end, limits.target)
        joins = joins and source.fits(heading, end, limits.maximum)
        if group and not joins:
            yield group
            group, group_size = [], 0
        group.append(part)
        group_size += size
    if group:
        yield group


def _cut(
    source: _PieceOffsets, blocks: Iterable[structure.Block], path: tuple[str, ...], limits: _Limits
) -> Iterator[Passage]:
    """Yields blocks as passages of about equal size. Each starts with the overlap of the previous passage."""
    pairs = itertools.pairwise(itertools.chain([None], blocks))
    units = list(itertools.chain.from_iterable(_units(source, above, block, limits) for above, block in pairs if block))
    stop = units[-1].end
    start = fresh = units[0].start
    header = units[0].header
    aim = _share(source.count(fresh, stop), limits)
    for previous, unit in itertools.pairwise(units):
        fits = source.fits(start, unit.end, limits.whole, header)
        over, under = source.count(fresh, unit.end) - aim, aim - source.count(fresh, previous.end)
        if not fits or over > under:
            yield from _passage(source.text, start, previous.end, path, header)
            header = unit.header
            start, fresh = _overlapping(source, start, previous, unit, limits), unit.start
            aim = _share(source.count(fresh, stop), limits)
    yield from _passage(source.text, start, stop, path, header)


def _share(left: int, limits: _Limits) -> float:
    """Returns the size of the next passage: SHARE of the target, or an equal part of the last EQUAL targets.

    Text after these targets does not count, so only the last passages change when a text grows.
    """
    if left <= limits.whole:
        return left
    return SHARE * limits.target if left > EQUAL * limits.target else left / math.ceil(left / limits.target)


def _overlapping(source: _PieceOffsets, start: int, previous: _Unit, unit: _Unit, limits: _Limits) -> int:
    """Returns where the passage of `unit` starts: before it, by the whole sentences of the overlap."""
    if not (previous.whole and unit.whole and limits.overlap):
        return unit.start
    window = max(start + 1, previous.start, previous.end - _OVERLAP_WINDOW)
    is_conversation = conversations.is_conversation(source.text[window : previous.end])
    found = (sentences.lines if is_conversation else sentences.spans)(source.text, window, previous.end)
    for begin, _ in found:
        at_boundary = begin > window or window == previous.start
        if at_boundary and source.count(begin, previous.end) <= limits.overlap:
            return begin if source.fits(begin, unit.end, limits.whole) else unit.start
    return unit.start


def _units(
    source: _PieceOffsets, above: structure.Block | None, block: structure.Block, limits: _Limits
) -> Iterator[_Unit]:
    """Yields a block as one unit if it fits, else as the largest pieces that fit. Tables and code may fill a passage.

    `above` is the previous block. It may be the caption of a table.
    """
    rigid = block.kind in ("table", "fence")
    caption = _caption(source.text, above) if block.kind == "table" else None
    if source.fits(block.start, block.end, limits.whole if rigid else limits.target, caption):
        yield _Unit(block.start, block.end, not rigid, caption)
        return
    rows = _header(source, block, limits) if block.kind == "table" else None
    if rows:
        yield from _table_units(source, rows, caption, block.end, limits)
        return
    splitters: tuple[_Splitter, ...] = (_BY_LINE.get(block.kind, sentences.lines), sentences.lines, sentences.spans)
    if block.kind == "paragraph" and not conversations.is_conversation(
        source.text[block.start : min(block.end, block.start + 2_000)]
    ):
        splitters = (sentences.spans, sentences.lines)
    for unit in _pieces(source, block.start, block.end, splitters, limits.target):
        yield _Unit(unit.start, unit.end, unit.whole and not rigid)


def _table_units(
    source: _PieceOffsets, header: sentences.Span, caption: sentences.Span | None, end: int, limits: _Limits
) -> Iterator[_Unit]:
    """Yields the rows of a table. The first unit includes the header rows if they fit.

    The caption and the header rows are repeated if both are small enough.
    """
    whole = ((caption or header)[0], header[1])
    if source.count(*whole) > HEADER_SHARE * limits.target:
        caption, whole = None, header
    rows = list(sentences.lines(source.text, header[1], end))
    joined = bool(rows) and source.fits(header[0], rows[0][1], limits.target, caption)
    yield _Unit(header[0], rows[0][1] if joined else header[1], False, caption)
    limit = limits.target - source.count(*whole)
    for begin, finish in rows[joined:]:
        for unit in _pieces(source, begin, finish, (sentences.lines, sentences.spans), limit):
            yield _Unit(unit.start, unit.end, False, whole)


def _caption(text: str, above: structure.Block | None) -> sentences.Span | None:
    """Returns the last line above a table if it is a caption: if it begins with "Table" or ends with a colon."""
    if above is None or above.kind != "paragraph":
        return None
    start = text.rfind("\n", above.start, above.end) + 1 or above.start
    is_caption = above.end - start <= MAX_CAPTION and _CAPTION.match(text, start, above.end)
    return (start, above.end) if is_caption else None


def _header(source: _PieceOffsets, block: structure.Block, limits: _Limits) -> sentences.Span | None:
    """Returns the header row of a table with its delimiter; None without a delimiter, or if too large to repeat."""
    rows = list(itertools.islice(sentences.lines(source.text, block.start, block.end), 2))
    if len(rows) < 2 or not _DELIMITER.match(source.text, *rows[1]):
        return None
    header = rows[0][0], rows[1][1]
    small = source.count(*header) <= HEADER_SHARE * limits.target and header[1] - header[0] <= MAX_CHARACTERS // 2
    return header if small else None


def _pieces(
    source: _PieceOffsets, start: int, end: int, splitters: tuple[_Splitter, ...], limit: int
) -> Iterator[_Unit]:
    if not splitters:
        yield from _words(source, start, end, limit)
        return
    for begin, finish in splitters[0](source.text, start, end):
        if source.fits(begin, finish, limit):
            yield _Unit(begin, finish, True)
        else:
            yield from _pieces(source, begin, finish, splitters[1:], limit)


def _words(source: _PieceOffsets, start: int, end: int, limit: int) -> Iterator[_Unit]:
    """Cuts between words, or inside a word that is too long by itself, also if it has no tokens."""
    starts, text = source.starts, source.text
    first, stop = bisect_left(starts, start), bisect_left(starts, end)
    while start < end:
        farthest = start + MAX_CHARACTERS - tokens.MAX_PIECE_LENGTH
        reach = bisect_right(starts, farthest, min(first + 1, stop), min(first + limit, stop))
        if reach < stop:
            spaced = (index for index in range(reach, first, -1) if text[starts[index] - 1].isspace())
            reach = next(spaced, reach)
        finish = starts[reach] if reach < stop else end
        if finish - start > MAX_CHARACTERS:  # characters that are no tokens, or white space
            finish = start + MAX_CHARACTERS
            reach = bisect_left(starts, finish, first, reach)
        yield from (_Unit(*span, False) for span in sentences.trim(text, start, finish))
        start, first = finish, reach


def _items(text: str, start: int, end: int) -> Iterator[sentences.Span]:
    """Yields list items with their continuation lines."""
    item: sentences.Span | None = None
    for begin, finish in sentences.lines(text, start, end):
        if item and _ITEM.match(text, begin, finish):
            yield item
            item = None
        item = (item[0] if item else begin, finish)
    if item:
        yield item


_BY_LINE: dict[structure.Kind, _Splitter] = {"paragraph": conversations.turns, "list": _items}
"""By kind of block, the function that joins its lines to larger pieces."""
