"""Which terms of the best chunks would lead to related passages, and who says so?

The best available extractor is asked first and each falls to the next: llm, entities, statistical. A model chooses
among the stored names, which lead somewhere for certain; it does not replace them, so that its worst day costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from app import errors
from app.pipelines.search import Course
from app.providers.base import Llm
from app.shapes import Candidate, StandingName
from app.store import links
from app.store.db import Database
from app.text import names, terms

log = logging.getLogger(__name__)

Extractor = Literal["auto", "llm", "entities", "statistical"]
Ran = Literal["llm", "entities", "statistical"]
PASSAGES = 3
PASSAGE_CHARACTERS = 500
ORDER: tuple[Ran, ...] = ("llm", "entities", "statistical")


@dataclass(frozen=True, slots=True)
class Extracted:
    """The terms, who found them, and the chunk in which each stands."""

    terms: tuple[str, ...]
    extractor: Ran | None
    sources: dict[str, UUID]


async def run(
    query: str,
    chunk_ids: Sequence[UUID],
    *,
    user_id: str,
    wanted: Extractor,
    total: int,
    course: Course,
    db: Database,
    llm: Llm | None,
    llm_s: float,
) -> Extracted:
    """Up to five terms of the first PASSAGES chunks; none where every extractor found none.

    Raises DatabaseUnavailable, DeadlineExceeded. A failing model is noted as `llm_failed`.
    """
    with course.timed("extract"):
        async with db.reading(user_id, plain=True) as reading:
            best = list(chunk_ids[:PASSAGES])
            standing = await links.names(reading, user_id, best)
            held = await links.chunks(reading, user_id, best, vector=None)
        passages = [held[chunk_id][0].content[:PASSAGE_CHARACTERS] for chunk_id in best if chunk_id in held]
        titles = [held[chunk_id][0].title for chunk_id in best if chunk_id in held]
        start = "llm" if wanted == "auto" else wanted
        for extractor in ORDER[ORDER.index(start) :]:
            if extractor == "llm":
                asked = await _asked(query, titles, passages, course, llm=llm, llm_s=llm_s, required=wanted == "llm")
                found = _chosen(asked, query, standing, best, total)
            elif extractor == "entities":
                found = _entities(query, standing, best, total)
            else:
                held_by = {name.name_key: name.chunks for name in standing}
                found = terms.statistical(passages, query, chunks=held_by, total=total)
            if found:
                return Extracted(tuple(found), extractor, _sources(found, standing, best, held))
    return Extracted((), None, {})


async def _asked(
    query: str,
    titles: Sequence[str],
    passages: Sequence[str],
    course: Course,
    *,
    llm: Llm | None,
    llm_s: float,
    required: bool,
) -> list[str]:
    """What the model proposes, as far as it can be used; nothing where there is no model or it fails."""
    if llm is None:
        course.degraded += ["llm_failed"] if required else []
        return []
    given = [f"{title}\n{passage}" for title, passage in zip(titles, passages, strict=True)]
    try:
        async with asyncio.timeout(llm_s):
            return terms.usable(await llm.terms(query, given), given, query)
    except (errors.ProviderError, TimeoutError) as error:
        log.warning("extraction by model failed: %s", type(error).__name__, extra={"action": "llm_failed"})
        course.degraded.append("llm_failed")
        return []


def _chosen(
    proposed: Sequence[str], query: str, standing: Sequence[StandingName], best: Sequence[UUID], total: int
) -> list[str]:
    """The model's terms that are stored names of several chunks, the other stored names, and its other terms.

    Nothing where none of the model's is among the first five.
    """
    leading = {name.name_key for name in standing if name.chunks > 1}
    known = [term for term in proposed if names.key(term) in leading]
    mixed = terms.distinct((*known, *_entities(query, standing, best, total), *proposed))
    return mixed if set(mixed) & set(proposed) else []


def _entities(query: str, standing: Sequence[StandingName], best: Sequence[UUID], total: int) -> list[str]:
    """Stored names of several chunks that the query does not hold, those of better chunks and in fewer chunks first."""
    asked = names.sequences(query)

    def worth(name: StandingName) -> float:
        return math.log(1 + total / name.chunks) / (1 + best.index(name.chunk_id))

    leading = [name for name in standing if name.name_key not in asked and name.chunks > 1]
    ranked = sorted(leading, key=lambda name: (-worth(name), name.name_key))
    return terms.distinct(name.name for name in ranked)


def _sources(
    found: Sequence[str],
    standing: Sequence[StandingName],
    best: Sequence[UUID],
    held: dict[UUID, tuple[Candidate, float | None]],
) -> dict[str, UUID]:
    known = {name.name_key: name.chunk_id for name in standing}
    first = next((chunk_id for chunk_id in best if chunk_id in held), None)
    sources = {term: known.get(names.key(term) or "", first) for term in found}
    return {term: chunk_id for term, chunk_id in sources.items() if chunk_id is not None}
