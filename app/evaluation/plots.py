"""Draws a reliability diagram as SVG: the observed share over the mean prediction of each bin."""

from __future__ import annotations

from app.evaluation.calibration import Calibration

SIZE, MARGIN = 320, 44
LARGEST_RADIUS, SMALLEST_RADIUS = 10.0, 2.5
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def reliability(calibration: Calibration, title: str) -> str:
    """Returns the diagram. The area of a point is proportional to the predictions in its bin, above a least radius."""
    width, height = SIZE + 2 * MARGIN, SIZE + 2 * MARGIN
    largest = max(each.count for each in calibration.bins)
    points = [
        f'<circle cx="{_x(each.mean):.1f}" cy="{_y(each.observed):.1f}" '
        f'r="{max(SMALLEST_RADIUS, LARGEST_RADIUS * (each.count / largest) ** 0.5):.1f}">'
        f"<title>{each.count}: {each.mean:.3f} predicted, {each.observed:.3f} observed</title></circle>"
        for each in calibration.bins
    ]
    line = " ".join(f"{_x(each.mean):.1f},{_y(each.observed):.1f}" for each in calibration.bins)
    figures = f"ECE {calibration.ece:.3f} · Brier {calibration.brier:.3f} (base rate {calibration.base_brier:.3f})"
    figures += "" if calibration.auroc is None else f" · AUROC {calibration.auroc:.3f}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="12" fill="#333">',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<text x="{width / 2}" y="16" text-anchor="middle" font-weight="bold">{_escaped(title)}</text>',
            f'<text x="{width / 2}" y="34" text-anchor="middle">{figures}</text>',
            *(line for tick in _TICKS for line in _grid(tick)),
            f'<path d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}" stroke="#999" stroke-dasharray="4 4"/>',
            f'<polyline points="{line}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>',
            f'<g fill="#1f6feb" fill-opacity="0.75">{"".join(points)}</g>',
            f'<text x="{width / 2}" y="{height - 6}" text-anchor="middle">predicted</text>',
            f'<text transform="translate(12 {height / 2}) rotate(-90)" text-anchor="middle">observed</text>',
            "</svg>",
            "",
        ]
    )


def _grid(tick: float) -> list[str]:
    return [
        f'<path d="M{_x(tick)} {_y(0)}V{_y(1)}M{_x(0)} {_y(tick)}H{_x(1)}" stroke="#eee"/>',
        f'<text x="{_x(tick)}" y="{_y(0) + 16}" text-anchor="middle">{tick:g}</text>',
        f'<text x="{_x(0) - 6}" y="{_y(tick) + 4}" text-anchor="end">{tick:g}</text>',
    ]


def _x(value: float) -> float:
    return MARGIN + SIZE * value


def _y(value: float) -> float:
    return MARGIN + SIZE * (1 - value)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
