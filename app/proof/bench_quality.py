"""Does the fast way find what the exact way finds?"""

from __future__ import annotations

import json
from collections.abc import Sequence

from app.proof import bench_texts, bench_timings, metrics
from app.proof.bench_corpus import SELECTIVITIES, USER, Progress, Question, Selectivity
from app.proof.bench_timings import TEXT_ONLY, VECTOR_ONLY, Stand

NEAREST, BEST = 20, 10
SPARE = 200
"""Exact scores read beyond the tenth, so that ties at the cut count as found."""
SAME = 1e-4
"""BM25 scores closer than this, relatively, are ties: the service adds in single precision."""


async def recalls(questions: Sequence[Question], stand: Stand, *, progress: Progress) -> dict[float, float]:
    """Recall@20 of the vector leg against an exact scan, 0 to 1, by the percentage of documents that pass a filter."""
    found: dict[float, float] = {}
    for place, selectivity in enumerate(SELECTIVITIES):
        shares = [await _recall(question, selectivity, stand) for question in questions]
        found[selectivity.percent] = round(sum(shares) / len(shares), 4)
        progress("recall", place + 1, len(SELECTIVITIES))
    return found


async def _recall(question: Question, selectivity: Selectivity, stand: Stand) -> float:
    containing = json.dumps(selectivity.metadata)
    exact = await stand.owner.exact_nearest(USER, question.vector, containing=containing, limit=NEAREST)
    asked = bench_timings.ask(question, VECTOR_ONLY, limit=NEAREST, metadata=selectivity.metadata)
    found = {hit.chunk_id for hit in (await bench_timings.recalled(stand.db, asked)).candidates}
    return len(found & set(exact)) / len(exact) if exact else 1.0


async def overlap(questions: Sequence[Question], stand: Stand, *, progress: Progress) -> float:
    """Share of the text leg's top 10 that stand in the exact BM25's top 10 (or tie with its last), 0 to 1."""
    shares = []
    for place, question in enumerate(questions):
        shares.append(await _overlap(question, stand))
        progress("overlap", place + 1, len(questions))
    return round(sum(shares) / len(shares), 4)


async def _overlap(question: Question, stand: Stand) -> float:
    exact = await stand.owner.exact_bm25(USER, bench_texts.any_of(question.words), limit=BEST + SPARE)
    last = exact[min(BEST, len(exact)) - 1][1]
    good = {chunk_id for chunk_id, score in exact if score >= last * (1 - SAME)}
    found = await bench_timings.recalled(stand.db, bench_timings.ask(question, TEXT_ONLY, limit=BEST))
    return sum(hit.chunk_id in good for hit in found.candidates) / min(BEST, len(exact))


async def matches(questions: Sequence[Question], stand: Stand) -> tuple[int, int]:
    """How many chunks the textbook's OR and its AND match, in the median."""
    counts = [
        [await stand.owner.matches(USER, joined(question.words)) for question in questions]
        for joined in (bench_texts.any_of, bench_texts.all_of)
    ]
    return int(metrics.percentile(counts[0], 0.5)), int(metrics.percentile(counts[1], 0.5))
