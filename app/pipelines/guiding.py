"""How do the entities of a query change what is recalled, and in which order it comes?

Guided, the search runs inside the documents about them (pass 2) and fills up from everywhere; unguided, everywhere. In
both, passages that mention what the query names are lifted (SPEC §7).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from app.pipelines import two_pass
from app.pipelines.pass_one import Guided
from app.pipelines.remembered import Remembered
from app.ranking import blending
from app.shapes import Answer, EntityMatch, Guidance, Hit, Link, Recall, Recalled
from app.store import guides, recall
from app.store.db import Reading

log = logging.getLogger(__name__)

ROOM = 4
LEAST_ROOM, MOST_ROOM = 50, 200
"""Candidates that are lifted and blended: four times the limit, within these bounds."""


@dataclass(frozen=True, slots=True)
class Led:
    """What was recalled: with the documents that entities led to (none: everywhere), and who is mentioned where."""

    found: Recalled
    why_not: str | None = None
    links: Mapping[UUID, Link] = field(default_factory=dict)
    named: Sequence[EntityMatch] = ()
    mentions: Mapping[UUID, Mapping[UUID, int]] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)


async def run(
    db: Reading, ask: Recall, guided: Guided, guidance: Guidance, *, limit: int, remembered: Remembered
) -> Led:
    """Recall inside the documents about the entities where these guide the search, else everywhere."""
    named = guided.named if guidance.boost else []
    roomy = replace(ask, limit=max(ask.limit, min(MOST_ROOM, max(LEAST_ROOM, ROOM * limit))))
    inside = None
    if guided.why_not is None:
        matches = guided.guiding(guidance.threshold)
        inside = await two_pass.run(db, roomy, matches, alpha=guidance.alpha, remembered=remembered)
    if inside is None:
        led = Led(await recall.hybrid(db, roomy if named else ask), guided.why_not or "no_linked_documents")
    elif inside.found.candidates:
        led = Led(await _filled(db, ask, inside.found), None, inside.linked, report=inside.report)
    else:
        led = Led(await recall.hybrid(db, roomy if named else ask), "nothing_in_linked_documents", report=inside.report)
    if led.why_not and guided.matches:
        log.debug("entities not used: %s", led.why_not, extra={"action": "two_pass_fallback", "reason": led.why_not})
    chunk_ids = [candidate.chunk_id for candidate in led.found.candidates]
    if not named or not chunk_ids:
        return led
    mentions = await guides.mentions(db, ask.user_id, chunk_ids=chunk_ids, entities=named)
    return replace(led, named=named, mentions=mentions)


async def _filled(db: Reading, ask: Recall, inside: Recalled) -> Recalled:
    """The passages from inside and, where they are fewer than are asked for, the best from everywhere."""
    if len(inside.candidates) >= ask.limit:
        return inside
    seen = tuple(candidate.chunk_id for candidate in inside.candidates)
    outside = await recall.hybrid(db, replace(ask, exclude_chunk_ids=(*ask.exclude_chunk_ids, *seen)))
    return replace(outside, candidates=(*inside.candidates, *outside.candidates))


def ordered(hits: Sequence[Hit], led: Led, guidance: Guidance) -> list[Hit]:
    """The hits lifted by what they mention, then blended with the entities that led to them."""
    if led.mentions:
        by_type = guidance.boost_by_type
        factors = {chunk_id: _factor(counts, led.named, by_type) for chunk_id, counts in led.mentions.items()}
        hits = blending.lifted(hits, {c: sum(counts.values()) for c, counts in led.mentions.items()}, factors)
    return blending.blended(hits, led.links, alpha=guidance.alpha) if led.links else list(hits)


def _factor(
    counts: Mapping[UUID, int], named: Sequence[EntityMatch], by_type: Mapping[str, tuple[float, float]]
) -> float:
    """The largest factor that one of the entities gives a chunk."""
    of_type = {match.entity_id: by_type.get(match.type, (blending.PER_MENTION, blending.MOST_LIFT)) for match in named}
    return max(
        blending.factor(count, per_mention=of_type[entity_id][0], most=of_type[entity_id][1])
        for entity_id, count in counts.items()
    )


def told(answer: Answer, guided: Guided, led: Led) -> Answer:
    """The answer with what entities had to do with it."""
    lifts = [hit.lift for hit in answer.hits if hit.lift]
    if lifts:
        moved = sum(abs(lift.moved) for lift in lifts)
        log.debug("entity boost", extra={"action": "entity_boost", "lifted": len(lifts), "moved": moved})
    explain = None if answer.explain is None else {**answer.explain, "entities": _explained(guided, led)}
    return replace(
        answer,
        search_mode="two_pass" if led.links else "flat",
        fallback_reason=answer.fallback_reason or led.why_not,
        query_type="entity" if led.links and led.named and answer.query_type != "phrase" else answer.query_type,
        pass1_entities=guided.matches,
        explain=explain,
    )


def _explained(guided: Guided, led: Led) -> dict[str, Any]:
    matched = [
        {"entity_id": str(m.entity_id), "name": m.name, "type": m.type, "score": m.score, "matched_by": m.matched_by}
        for m in guided.matches
    ]
    return {"pass1": matched, "fallback_reason": led.why_not, "pass2": dict(led.report)}
