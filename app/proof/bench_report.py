"""Which budgets (SPEC §14) does a run keep?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.proof.bench import Report

Verdict = Literal["strive", "must", "missed"]

SMALLEST, MIDDLE, LARGE, MILLION = 20_000, 100_000, 300_000, 1_000_000
SERVED = 10_000


@dataclass(frozen=True, slots=True)
class Budget:
    """A figure beside what it must reach and what it strives for; `at_least` says in which direction."""

    what: str
    figure: float
    must: float | None
    strive: float
    at_least: bool = False

    @property
    def verdict(self) -> Verdict:
        """How far the figure reaches; a budget without `must` cannot be missed."""
        if self._reaches(self.strive):
            return "strive"
        return "must" if self.must is None or self._reaches(self.must) else "missed"

    def _reaches(self, bound: float) -> bool:
        return self.figure >= bound if self.at_least else self.figure <= bound


def budgets(reports: Sequence[Report]) -> list[Budget]:
    """Every budget that these sizes can tell: faithfulness at each, speed where the budget states a size."""
    lines = [line for report in reports for line in (*_ratios(report), *_latencies(report), *_faithful(report))]
    return [*lines, *_growth(reports), *_model(reports)]


def _ratios(report: Report) -> Iterator[Budget]:
    if report.chunks >= SMALLEST:
        yield Budget(_at(report, "textbook OR / hybrid"), report.ratios["textbook OR / hybrid"], 5, 10, at_least=True)
    if report.chunks >= LARGE:
        yield Budget(_at(report, "hybrid / bare HNSW"), report.ratios["hybrid / bare HNSW"], 12, 4)


def _latencies(report: Report) -> Iterator[Budget]:
    if report.chunks == MIDDLE:
        yield Budget(_at(report, "search without embedding, p50 ms"), report.timings["search"].p50, 15, 8)
        yield Budget(_at(report, "search without embedding, p95 ms"), report.timings["search"].p95, 40, 20)
    if report.whole and report.chunks == SERVED:
        yield Budget(_at(report, "POST /api/rag/search, p95 ms"), report.whole.request.p95, 60, 25)
        times = round(report.whole.multihop.p95 / report.whole.request.p95, 2)
        yield Budget(_at(report, "several hops / one search, p95"), times, 6, 3)


def _faithful(report: Report) -> Iterator[Budget]:
    yield Budget(_at(report, "recall@20, unfiltered"), report.recall[100.0], 0.98, 0.99, at_least=True)
    yield Budget(_at(report, "recall@20, 1 % filter"), report.recall[1.0], 0.95, 0.99, at_least=True)
    yield Budget(_at(report, "top-10 overlap with exact BM25"), report.overlap, 0.98, 1.0, at_least=True)


def _growth(reports: Sequence[Report]) -> Iterator[Budget]:
    hybrid = {report.chunks: report.timings["hybrid"].p50 for report in reports}
    if SMALLEST in hybrid and MILLION in hybrid:
        yield Budget("hybrid at 1,000,000 / at 20,000", round(hybrid[MILLION] / hybrid[SMALLEST], 2), None, 4)


def _model(reports: Sequence[Report]) -> Iterator[Budget]:
    last = reports[-1]
    yield Budget("query embedding, p50 ms", last.embedding.p50, 10, 4)
    yield Budget("query embedding, cached, p50 ms", last.embedding_cached.p50, 0.1, 0.1)
    if last.whole:
        yield Budget("memory of the service, MB", last.whole.memory_mb, 500, 300)


def _at(report: Report, what: str) -> str:
    return f"{what}, {report.chunks:,} chunks"
