"""Which passages in the documents about these entities answer best?

Pass 2 (SPEC §6): a hybrid search inside the documents that are linked to the entities of pass 1, blended with those
entities' scores. Where many documents are linked they are scored in batches, on scales that do not depend on the batch,
until the answer stands still.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from app.pipelines.remembered import Remembered, recalled
from app.ranking import convergence
from app.shapes import Candidate, EntityMatch, Filters, LegScores, Link, Recall, Recalled
from app.store import guides, links, recall
from app.store.db import Reading, version

SCORED_AT_ONCE = 500
"""Linked documents up to which all are scored together."""
BATCH = 50
AHEAD = 4
"""Batches that are fetched at once behind those of the nearest documents: an answer takes three to stand still."""
MOST_CHUNKS = 5_000
"""Chunks of the batches fetched at once that are scored; documents are rarely so long."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What pass 2 found in the linked documents, and how it was found."""

    linked: dict[UUID, Link]
    found: Recalled
    report: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A chunk of a batch and its score, 0 to 1, on a scale that does not depend on the batch."""

    of: LegScores
    score: float


async def run(
    db: Reading, ask: Recall, matches: Sequence[EntityMatch], *, alpha: float, remembered: Remembered
) -> Inside | None:
    """Candidates from the linked documents that pass the filters; None where no document is linked."""
    scored = tuple((match.entity_id, match.score) for match in matches)
    found = await recalled(
        remembered.links, version(db), (ask.user_id, scored), lambda: guides.documents(db, ask.user_id, scored)
    )
    led_to = _within(found, ask.filters)
    linked = {link.document_id: link for link in led_to}
    if not linked:
        return None
    if len(linked) > SCORED_AT_ONCE:
        return await _in_batches(db, ask, linked, alpha=alpha)
    inside = await recall.hybrid(db, narrowed(ask, linked))
    return Inside(linked, inside, {"linked_documents": len(linked), "batches": 1, "scored": 1, "skipped": 0})


def narrowed(ask: Recall, documents: Iterable[UUID], **changes: Any) -> Recall:
    """The same question, asked of these documents only."""
    return replace(ask, filters=replace(ask.filters, document_ids=tuple(documents)), **changes)


def _within(linked: Iterable[Link], filters: Filters) -> list[Link]:
    if filters.document_ids is None:
        return list(linked)
    allowed = set(filters.document_ids)
    return [link for link in linked if link.document_id in allowed]


async def _in_batches(db: Reading, ask: Recall, linked: dict[UUID, Link], *, alpha: float) -> Inside:
    """Score the documents whose passages either leg finds near first, then those with the strongest links."""
    first = await recall.hybrid(db, narrowed(ask, linked, limit=2 * ask.candidates, with_content=False))
    near = dict.fromkeys(candidate.document_id for candidate in first.candidates)
    order = [*near, *(document for document in linked if document not in near)]
    batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    bound = sum(term.idf * recall.MOST_PER_TERM * term.times for term in first.terms)
    settled = convergence.Settled(limit=ask.limit)
    best: dict[UUID, Found] = {}
    scored = 0
    while scored < len(batches) and not settled.is_done():
        ahead = batches[scored : max(scored, len(near) // BATCH) + AHEAD]
        together = await recall.scores(db, _everything(ask, [d for batch in ahead for d in batch]))
        for batch in ahead:
            scored += 1
            found = {one.chunk_id: Found(one, _score(one, ask, bound)) for one in _of(together, batch)}
            settled.note({c: alpha * x.score + (1 - alpha) * linked[x.of.document_id].score for c, x in found.items()})
            best |= found
            if settled.is_done():
                break
    leading = await _read(db, ask, [best[c] for c in settled.top], {c.chunk_id: c for c in first.candidates})
    report = {
        "linked_documents": len(order),
        "batches": len(batches),
        "scored": scored,
        "skipped": len(batches) - scored,
    }
    return Inside(linked, replace(first, candidates=tuple(leading)), report)


def _everything(ask: Recall, documents: Sequence[UUID]) -> Recall:
    """The question with room for every chunk of the documents in both legs."""
    return narrowed(ask, documents, candidates=MOST_CHUNKS, limit=MOST_CHUNKS, with_content=False)


async def _read(
    db: Reading, ask: Recall, leading: Sequence[Found], ranked: Mapping[UUID, Candidate]
) -> list[Candidate]:
    """What was found, with what it says and its ranks among all linked documents, if it has any."""
    read = await links.chunks(db, ask.user_id, [one.of.chunk_id for one in leading], vector=None)
    return [
        _candidate(one, read[one.of.chunk_id][0], ranked.get(one.of.chunk_id), with_content=ask.with_content)
        for one in leading
        if one.of.chunk_id in read
    ]


def _of(scored: Iterable[LegScores], documents: Sequence[UUID]) -> Iterable[LegScores]:
    wanted = set(documents)
    return (one for one in scored if one.document_id in wanted)


def _score(one: LegScores, ask: Recall, bound: float) -> float:
    return convergence.score(one.vector_score, one.text_score, bound=bound, weights=ask.weights)


def _candidate(found: Found, read: Candidate, ranked: Candidate | None, *, with_content: bool) -> Candidate:
    """The chunk with its scores; ranks and what comes of them are among all linked documents, or missing."""
    return replace(
        read,
        content=read.content if with_content else "",
        score=found.score,
        vector_score=found.of.vector_score,
        text_score=found.of.text_score,
        vector_rank=ranked.vector_rank if ranked else None,
        text_rank=ranked.text_rank if ranked else None,
        rrf_score=ranked.rrf_score if ranked else None,
        convex_score=ranked.convex_score if ranked else None,
    )
