"""Measures retrieval quality on judged query sets through the pipelines."""

from __future__ import annotations

from app.capability import Capability, Command

EVALUATION = Capability(
    commands={
        "eval": Command("manage", "evaluation.commands:evaluate", "Measure retrieval quality on an evaluation set."),
        "calibrate": Command(
            "manage",
            "evaluation.commands:calibrate",
            "Fit the relevance of hits to judged questions on your own documents.",
        ),
    },
)
