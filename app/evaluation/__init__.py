"""Measures the quality of searches on judged questions, and fits the relevance of hits to judgements."""

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
