"""Types of optical character recognition: a picture, and the lines of text that were recognised on it."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PIXELS = 16_000_000
"""Pixels of the largest picture that is recognised; larger ones are scaled down before."""
Corners = tuple[float, float, float, float, float, float, float, float]
"""x and y of the upper left, upper right, lower right and lower left corner, in pixels from the upper left."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in grey levels: a byte for each pixel, row by row from the top.

    `page` is the number of the page that it is, or is on, of the `pages` of its file; both are 0 in a file without any.
    """

    width: int
    height: int
    pixels: bytes
    page: int = 0
    pages: int = 0


@dataclass(frozen=True, slots=True)
class RecognisedLine:
    """A line of text, the probability that it is right, and its place."""

    text: str
    score: float
    corners: Corners
