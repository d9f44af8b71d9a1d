"""Types of snippets: the best sentences of a passage and what matches in them."""

from __future__ import annotations

from dataclasses import dataclass

from app.kinds import MatchKind


@dataclass(frozen=True, slots=True)
class MatchedSpan:
    """What a query matches in a passage: `passage[start:end]`, shown as `snippet[text_start:text_end]`, in code points.

    `term`: a word of the query as written; `stem`: another form of it; `phrase`: a quoted phrase; `hop`: a word of the
    name by which a later hop reached the passage.
    """

    start: int
    end: int
    kind: MatchKind
    text_start: int
    text_end: int


@dataclass(frozen=True, slots=True)
class Snippet:
    """The best sentences of a passage, `passage[start:end]`, with the matches in them, without overlaps.

    `text` is plain: it has no marks of Markdown.
    """

    text: str
    start: int
    end: int
    matches: tuple[MatchedSpan, ...] = ()
