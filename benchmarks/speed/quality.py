"""Compares the results of the approximate statements with exact results."""

from __future__ import annotations

import json
from collections.abc import Sequence

from app.evaluation import metrics
from benchmarks.speed import texts, timings
from benchmarks.speed.corpus import SELECTIVITIES, USER, BenchmarkQuestion, Progress, Selectivity
from benchmarks.speed.timings import TEXT_ONLY, VECTOR_ONLY, Target

NEAREST, BEST = 20, 10
EXTRA = 200
"""Exact scores read beyond the tenth, so that ties at the cutoff count as found."""
TIE = 1e-4
"""Relative difference below which BM25 scores are ties: the service sums in single precision."""


async def recalls(questions: Sequence[BenchmarkQuestion], target: Target, *, progress: Progress) -> dict[float, float]:
    """Returns recall@20 of the vector leg against an exact scan, by the percentage of documents that pass a filter."""
    found: dict[float, float] = {}
    for place, selectivity in enumerate(SELECTIVITIES):
        shares = [await _recall(question, selectivity, target) for question in questions]
        found[selectivity.percent] = round(sum(shares) / len(shares), 4)
        progress("recall", place + 1, len(SELECTIVITIES))
    return found


async def _recall(question: BenchmarkQuestion, selectivity: Selectivity, target: Target) -> float:
    containing = json.dumps(selectivity.metadata)
    exact = await target.owner.exact_nearest(USER, question.vector, containing=containing, limit=NEAREST)
    asked = timings.request(question, VECTOR_ONLY, limit=NEAREST, metadata=selectivity.metadata)
    found = {hit.chunk_id for hit in (await timings.retrieve(target.db, asked)).candidates}
    return len(found & set(exact)) / len(exact) if exact else 1.0


async def overlap(questions: Sequence[BenchmarkQuestion], target: Target, *, progress: Progress) -> float:
    """Returns the share of the text leg's top 10 that are in the top 10 of exact BM25 or tie with its last."""
    shares = []
    for place, question in enumerate(questions):
        shares.append(await _overlap(question, target))
        progress("overlap", place + 1, len(questions))
    return round(sum(shares) / len(shares), 4)


async def _overlap(question: BenchmarkQuestion, target: Target) -> float:
    exact = await target.owner.exact_bm25(USER, texts.any_of(question.words), limit=BEST + EXTRA)
    last = exact[min(BEST, len(exact)) - 1][1]
    good = {chunk_id for chunk_id, score in exact if score >= last * (1 - TIE)}
    found = await timings.retrieve(target.db, timings.request(question, TEXT_ONLY, limit=BEST))
    return sum(hit.chunk_id in good for hit in found.candidates) / min(BEST, len(exact))


async def matches(questions: Sequence[BenchmarkQuestion], target: Target) -> tuple[int, int]:
    """Returns the median number of chunks that the textbook's OR and AND queries match."""
    counts = [
        [await target.owner.matches(USER, joined(question.words)) for question in questions]
        for joined in (texts.any_of, texts.all_of)
    ]
    return int(metrics.percentile(counts[0], 0.5)), int(metrics.percentile(counts[1], 0.5))
