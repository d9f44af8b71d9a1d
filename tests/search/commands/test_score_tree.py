"""Tests of the tree that `stepwell search --explain` draws."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from app.search.commands import hits

CONVEX = {
    "fusion": "convex",
    "k": 60,
    "legs": {
        "vector": {"rank": None, "score": None, "scaled": 0.0, "weight": 0.4, "rrf_share": 0.0, "share": 0.0},
        "text": {"rank": 3, "score": 4.5, "scaled": 0.5, "weight": 0.6, "rrf_share": 0.01, "share": 0.3},
    },
    "fused": 0.3,
}


def drawn(explain: dict[str, Any]) -> str:
    """The tree as text."""
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(hits.draw_score(explain))
    return capture.get().rstrip()


def test_the_steps_of_a_score_are_drawn_in_their_order_with_their_arithmetic() -> None:
    explain = {
        **CONVEX,
        "boost": {"factor": 1.5, "score_before": 0.3, "score": 0.45},
        "entity": {"weight": 0.5, "exponent": 1.0, "parent_score": 0.75, "score_before": 0.45, "score": 0.6},
        "kept": {"score_before": 0.6, "score": 0.7},
        "rerank": {
            "by": "cosine",
            "value": 0.9,
            "weight": 0.5,
            "limit": None,
            "place_before": 4,
            "score_before": 0.7,
            "score": 0.8,
        },
        "recency": {
            "age_days": 60.0,
            "decay": 0.25,
            "factor": 0.9,
            "place_before": 1,
            "score_before": 0.8,
            "score": 0.72,
        },
        "mmr": {"value": 0.5, "lambda": 0.7, "nearest": 0.2, "place_before": 2},
        "page": {"score_before": 0.72, "score": 0.7},
        "score": 0.7,
    }
    assert drawn(explain).splitlines() == [
        "score 0.7000",
        "├── convex fusion: 0.3000",
        "│   ├── vector: not found",
        "│   └── text: 0.3000 = 0.60 × 0.5000; BM25 4.5000, rank 3",
        "├── mentions: 0.4500 = 0.3000 × 1.5000",
        "├── entity: 0.6000 = 0.5000 × 0.4500 + 0.5000 × 0.7500",
        "├── kept in the first ten: 0.6000 becomes 0.7000",
        "├── rerank by cosine: 0.8000 = 0.50 × 0.9000 + 0.50 × 0.7000, from rank 4",
        "├── 60.0 days old: 0.7200 = 0.8000 × 0.9000, from rank 1",
        "├── MMR: 0.5000 = 0.70 × score − 0.30 × 0.2000, from rank 2",
        "└── limited by the page before: 0.7200 becomes 0.7000",
    ]
