"""Compares the figures of a run with their budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.speed.benchmark import SpeedReport

Verdict = Literal["strive", "must", "missed"]

SMALLEST, MIDDLE, LARGE, MILLION = 20_000, 100_000, 300_000, 1_000_000
SERVED = 10_000


@dataclass(frozen=True, slots=True)
class Budget:
    """A figure with its required and its desired bound: lower bounds with `at_least`, else upper bounds."""

    what: str
    figure: float
    must: float | None
    strive: float
    at_least: bool = False

    @property
    def verdict(self) -> Verdict:
        """Returns the strictest bound that holds, or "missed"; a budget without `must` cannot be missed."""
        if self._reaches(self.strive):
            return "strive"
        return "must" if self.must is None or self._reaches(self.must) else "missed"

    def _reaches(self, bound: float) -> bool:
        return self.figure >= bound if self.at_least else self.figure <= bound


def budgets(reports: Sequence[SpeedReport]) -> list[Budget]:
    """Returns the budgets that apply to these sizes: accuracy at each, latency only at the sizes it is stated for."""
    lines = [line for report in reports for line in (*_ratios(report), *_latencies(report), *_accuracy(report))]
    return [*lines, *_growth(reports), *_model(reports)]


def _ratios(report: SpeedReport) -> Iterator[Budget]:
    if report.chunks >= SMALLEST:
        yield Budget(_at(report, "textbook OR / hybrid"), report.ratios["textbook OR / hybrid"], 5, 10, at_least=True)
    if report.chunks >= LARGE:
        yield Budget(_at(report, "hybrid / bare HNSW"), report.ratios["hybrid / bare HNSW"], 12, 4)


def _latencies(report: SpeedReport) -> Iterator[Budget]:
    added = report.timings["search, re-ranked with MMR"].p50 - report.timings["search"].p50
    yield Budget(_at(report, "re-ranking and MMR, ms added at the median"), round(added, 2), 30, 10)
    if report.chunks == MIDDLE:
        yield Budget(_at(report, "search without embedding, p50 ms"), report.timings["search"].p50, 15, 8)
        yield Budget(_at(report, "search without embedding, p95 ms"), report.timings["search"].p95, 40, 20)
    if report.service and report.chunks == SERVED:
        yield Budget(_at(report, "POST /api/rag/search, p95 ms"), report.service.request.p95, 60, 25)
        yield Budget(_at(report, "search_documents over /mcp, p95 ms"), report.service.tool.p95, 150, 60)
        times = round(report.service.multihop.p95 / report.service.request.p95, 2)
        yield Budget(_at(report, "multi-hop / one search, p95"), times, 6, 3)


def _accuracy(report: SpeedReport) -> Iterator[Budget]:
    yield Budget(_at(report, "recall@20, unfiltered"), report.recall[100.0], 0.98, 0.99, at_least=True)
    yield Budget(_at(report, "recall@20, 1 % filter"), report.recall[1.0], 0.95, 0.99, at_least=True)
    yield Budget(_at(report, "top-10 overlap with exact BM25"), report.overlap, 0.98, 1.0, at_least=True)


def _growth(reports: Sequence[SpeedReport]) -> Iterator[Budget]:
    hybrid = {report.chunks: report.timings["hybrid"].p50 for report in reports}
    if SMALLEST in hybrid and MILLION in hybrid:
        yield Budget("hybrid at 1,000,000 / at 20,000", round(hybrid[MILLION] / hybrid[SMALLEST], 2), None, 4)


def _model(reports: Sequence[SpeedReport]) -> Iterator[Budget]:
    last = reports[-1]
    yield Budget("query embedding, p50 ms", last.embedding.p50, 10, 4)
    yield Budget("query embedding, cached, p50 ms", last.embedding_cached.p50, 0.1, 0.1)
    if last.service:
        yield Budget("memory of the service, MB", last.service.memory_mb, 500, 300)


def _at(report: SpeedReport, what: str) -> str:
    return f"{what}, {report.chunks:,} chunks"
