"""Types of snippets: the best sentences of a passage and what matches in them."""

from __future__ import annotations

from dataclasses import dataclass

from app.shapes.kinds import MatchKind


@dataclass(frozen=True, slots=True)
class MatchedSpan:
    """What a query matches in a passage: `passage[start:end]`, in code points.

    `term`: a word of the query as written; `stem`: another form of it; `phrase`: a quoted phrase; `hop`: a word of the
    name by which a later hop reached the passage.
    """

    start: int
    end: int
    kind: MatchKind


@dataclass(frozen=True, slots=True)
class Snippet:
    """The best sentences of a passage: `text == passage[start:end]`, with the matches in it, without overlaps."""

    text: str
    start: int
    end: int
    matches: tuple[MatchedSpan, ...] = ()
