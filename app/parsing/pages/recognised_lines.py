"""Turns the lines that were recognised on a picture into text runs, upright and of even sizes, for the page layout."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from app.parsing.pages.page_layout import TextRun
from app.parsing.picture_lines import RecognisedLine

LEAST_SKEW = math.radians(0.1)
LONG = 4.0
"""Width of a line, as a multiple of its height, from which it shows the skew of the page."""
SAME_SIZE = 0.3
"""Share by which heights of lines of one font size differ from their median, since letters have different heights."""


def runs(lines: Iterable[RecognisedLine], scale: float = 1.0, height: float = 0.0) -> list[TextRun]:
    """The lines as runs in units of `scale` pixels, with y upwards from the bottom of a picture of this height.

    A page that is skewed is turned upright about its upper left corner.
    """
    every = [line for line in lines if line.text.strip()]
    if not every:
        return []
    skew = _skew(every)
    sizes = [_size(line) for line in every]
    typical = statistics.median(sizes)
    found = []
    for line, size in zip(every, sizes, strict=True):
        x, y = _turn(line, skew)
        width = _width(line)
        size = typical if abs(size - typical) <= SAME_SIZE * typical else size
        left, middle = (x - width / 2) / scale, height - y / scale
        found.append(
            TextRun(line.text.strip(), left, middle - size / scale / 2, left + width / scale, middle + size / scale / 2)
        )
    return found


def _skew(lines: Sequence[RecognisedLine]) -> float:
    """The angle of the page in radians: the median of its long lines."""
    angles = [
        math.atan2(c[3] - c[1], c[2] - c[0])
        for line in lines
        if _width(line) >= LONG * _size(line)
        for c in [line.corners]
    ]
    skew = statistics.median(angles) if angles else 0.0
    return skew if LEAST_SKEW <= abs(skew) <= math.pi / 8 else 0.0


def _turn(line: RecognisedLine, skew: float) -> tuple[float, float]:
    """The middle of a line on the upright page."""
    x, y = sum(line.corners[::2]) / 4, sum(line.corners[1::2]) / 4
    return x * math.cos(skew) + y * math.sin(skew), y * math.cos(skew) - x * math.sin(skew)


def _width(line: RecognisedLine) -> float:
    x0, y0, x1, y1, x2, y2, x3, y3 = line.corners
    return (math.hypot(x1 - x0, y1 - y0) + math.hypot(x2 - x3, y2 - y3)) / 2


def _size(line: RecognisedLine) -> float:
    x0, y0, x1, y1, x2, y2, x3, y3 = line.corners
    return (math.hypot(x3 - x0, y3 - y0) + math.hypot(x2 - x1, y2 - y1)) / 2
