"""Makes notes with authors, teams and projects, so that storing them links names as real notes do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.documents.types import Upload
from benchmarks.speed import texts

AUTHORS, TEAMS, PROJECTS = 60, 12, 40
_SEED = 5


def notes(count: int) -> Sequence[Upload]:
    """`count` notes of one to two chunks; equal in every process."""
    rng = np.random.default_rng(_SEED)
    mentioned = texts.draw_names(count, AUTHORS, rng)
    contents = texts.chunks(count, rng)
    return [
        Upload(
            texts.insert_names(content, numbers, rng),
            title=f"Note {place}",
            uri=f"notes/{place}",
            metadata={
                "author": texts.name(int(rng.integers(AUTHORS))),
                "team": f"Team {int(rng.integers(TEAMS))}",
                "project": texts.name(AUTHORS + int(rng.integers(PROJECTS))),
            },
        )
        for place, (content, numbers) in enumerate(zip(contents, mentioned, strict=True))
    ]
