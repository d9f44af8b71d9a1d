"""Estimates how many word pieces a model reads in a text.

A stand-in for WordPiece with BERT's uncased vocabulary: no vocabulary, one regular expression, each match one piece.
"""

from __future__ import annotations

import re
from array import array

MAX_PIECE_LENGTH = 8  # code points in one piece
_PIECE = re.compile(
    r"(?<![A-Za-z])[A-Za-z]{1,8}"  # most short words are in the vocabulary
    r"|[A-Za-z]{1,4}"  # what follows is spelled in pieces
    r"|\d{1,3}"
    r"|[\u00c0-\u024f]{1,2}"
    r"|[^\s]"
)


def count(text: str) -> int:
    """Estimate the word pieces of `text`, special tokens not counted."""
    return len(_PIECE.findall(text))


def starts(text: str) -> array[int]:
    """The offset of each estimated piece, ascending."""
    return array("q", [match.start() for match in _PIECE.finditer(text)])
