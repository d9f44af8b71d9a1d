"""Estimates the number of word pieces in a text.

One regular expression approximates WordPiece with BERT's uncased vocabulary on English: each match counts as one piece.
It measures chunks if the tokenizer of the embedding model is not in this process.
"""

from __future__ import annotations

import re
from array import array

MAX_PIECE_LENGTH = 32  # code points in a piece; the tokens of embedding models are counted so that none has more
_PIECE = re.compile(
    r"(?<![A-Za-z])[A-Za-z]{1,8}"  # most short words are in the vocabulary
    r"|[A-Za-z]{1,4}"  # the rest of a longer word is split into pieces
    r"|\d{1,3}"
    r"|[\u00c0-\u024f]{1,2}"
    r"|[^\s]"
)


def count(text: str) -> int:
    """Returns the estimated number of word pieces in `text`, without special tokens."""
    return len(_PIECE.findall(text))


def starts(text: str) -> array[int]:
    """Returns the offset of each estimated piece, ascending."""
    return array("i", (match.start() for match in _PIECE.finditer(text)))
