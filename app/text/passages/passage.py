"""Defines a passage of a document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passage:
    """A slice of a cleaned text: `content == text[start:end]`, in code points.

    If it begins inside a table, `content` has the table's header rows before the slice. The passage of a document
    without text is its title, with the offsets 0 and 0.
    """

    content: str
    start: int
    end: int
    heading_path: tuple[str, ...] = ()
