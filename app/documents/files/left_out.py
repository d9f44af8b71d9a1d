"""Counts the files of a folder that are left out, by reason with examples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from app.kinds import LeftOutReason, values

REASONS: tuple[LeftOutReason, ...] = values(LeftOutReason)
EXAMPLES = 3
"""Paths that are kept for each reason."""


@dataclass(slots=True)
class LeftOutCounts:
    """The numbers of files and folders that are left out, and the first paths, by reason; a folder counts once."""

    counts: Counter[LeftOutReason] = field(default_factory=Counter)
    examples: dict[LeftOutReason, list[str]] = field(default_factory=dict)

    def add(self, reason: LeftOutReason, path: str) -> None:
        """Count a path; that of a folder ends with a slash."""
        self.counts[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(path)

    @property
    def total(self) -> int:
        """The number of paths."""
        return self.counts.total()

    def as_json(self) -> dict[str, Any]:
        """The count and the examples by reason, in the order of the reasons."""
        return {
            reason: {"count": self.counts[reason], "examples": self.examples[reason]}
            for reason in REASONS
            if self.counts[reason]
        }
