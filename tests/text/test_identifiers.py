"""Pieces of identifiers, paths and tags are told from words."""

from __future__ import annotations

import pytest

from app.text import identifiers


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("ERR_STREAM was raised", "err stream"),
        ("see app/stream.py, or getUserName()", "app stream py get user name"),
        ("tagged #howto by @ana", "howto ana"),
        ("the stream of ERR_STREAM", "err"),
        ("A well-known end. New York, U-turn and McDonald", ""),
        ("", ""),
    ],
)
def test_only_words_that_are_nothing_else_are_pieces(text: str, pieces: str) -> None:
    assert set(identifiers.pieces(text).split()) == set(pieces.split())
