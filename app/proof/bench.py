"""How fast and how faithful is the hybrid statement at a given size?

A corpus is built once, then every statement is timed on the same questions, and the fast answers are held against the
exact ones.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app import errors, samples
from app.pipelines.services import Services
from app.proof import bench_corpus, bench_passages, bench_quality, bench_service, bench_timings, bench_vectors
from app.proof.bench_corpus import Progress, Question
from app.proof.bench_service import Whole
from app.proof.bench_timings import Name, Stand, Timing
from app.proof.bench_vectors import Distances, Vectors
from app.store import benchmarks
from app.store.benchmarks import Disk, Owner

log = logging.getLogger(__name__)

SEED = 7
FORM = 2
"""Counts up whenever the same order would make another corpus."""
RECORD = "bench.json"
EXACT_QUESTIONS = 30
"""Questions whose exact answers are computed; those cost most."""
FIGURES_OF_EMBEDDING = 100


@dataclass(frozen=True, slots=True)
class Order:
    """What to measure: how many chunks, how many questions, and the real passages behind the vectors."""

    chunks: int
    questions: int
    passages: Sequence[str]

    def fingerprint(self) -> str:
        """What two orders share that can use one corpus."""
        return hashlib.sha256(json.dumps([self.chunks, SEED, FORM, *self.passages]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus that stands: what it was built from, in how many seconds, and how its vectors lie."""

    fingerprint: str
    built_s: float
    real: Distances
    made: Distances


@dataclass(frozen=True, slots=True)
class Report:
    """One size's figures: milliseconds, shares of 0 to 1, megabytes."""

    chunks: int
    questions: int
    corpus: Corpus
    disk: Disk
    timings: dict[Name, Timing]
    textbook_plan: str
    matches_or: int
    matches_and: int
    recall: dict[float, float]
    overlap: float
    embedding: Timing
    embedding_cached: Timing
    whole: Whole | None
    ratios: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        hybrid = self.timings["hybrid"].p50
        ratios = {
            "textbook OR / hybrid": self.timings["textbook OR"].p50 / hybrid,
            "textbook AND / hybrid": self.timings["textbook AND"].p50 / hybrid,
            "hybrid / bare HNSW": hybrid / self.timings["bare HNSW"].p50,
        }
        object.__setattr__(self, "ratios", {name: round(ratio, 2) for name, ratio in ratios.items()})

    def as_json(self) -> dict[str, Any]:
        """Every figure."""
        return dataclasses.asdict(self)


async def run(
    order: Order,
    *,
    services: Services,
    owner_dsn: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    progress: Progress = lambda *_: None,
) -> Report:
    """Build the corpus (or use the one whose record lies in `folder`) and measure.

    With an environment, a `stepwell serve` on the data dir `folder` is measured too; one that does not come up costs
    its own figures only. Raises Conflict where the database holds documents of its own, ProviderError.
    """
    async with benchmarks.owning(owner_dsn) as owner:
        corpus = _recorded(order, folder) or await _built(order, owner, services, folder, progress)
        asked = await _embedded(bench_passages.asked(order.passages)[: order.questions], services)
        questions = await bench_corpus.questions(owner, asked, chunks=order.chunks, count=order.questions, seed=SEED)
        stand = Stand(services.db, owner, services.embedder.model)
        report = await _measured(order, corpus, questions, stand, services, progress)
        if environment is None:
            return report
        progress("asking the service", 0, 1)
        try:
            whole = await bench_service.measure(questions, services=services, data_dir=folder, environment=environment)
        except errors.EmbeddedServerError as error:
            log.error("%s", error.message)
            return report
        return dataclasses.replace(report, whole=whole)


async def _measured(
    order: Order, corpus: Corpus, questions: list[Question], stand: Stand, services: Services, progress: Progress
) -> Report:
    plan = await bench_timings.best_plan(questions, stand)
    timings = await bench_timings.latencies(questions, stand.statements(), progress=progress)
    few = questions[:EXACT_QUESTIONS]
    matches_or, matches_and = await bench_quality.matches(few, stand)
    first, again = await bench_timings.embedding(_spoken(FIGURES_OF_EMBEDDING), services.embedder)
    return Report(
        chunks=order.chunks,
        questions=len(questions),
        corpus=corpus,
        disk=await stand.owner.disk(),
        timings=timings,
        textbook_plan=plan,
        matches_or=matches_or,
        matches_and=matches_and,
        recall=await bench_quality.recalls(few, stand, progress=progress),
        overlap=await bench_quality.overlap(few, stand, progress=progress),
        embedding=first,
        embedding_cached=again,
        whole=None,
    )


async def _built(order: Order, owner: Owner, services: Services, folder: Path, progress: Progress) -> Corpus:
    start = time.perf_counter()
    (folder / RECORD).unlink(missing_ok=True)
    progress("embedding passages", 0, 1)
    real = await _embedded(bench_passages.mixed(order.passages), services)
    progress("embedding passages", 1, 1)
    mixer = bench_vectors.mixer(real)
    await bench_corpus.build(owner, mixer, chunks=order.chunks, seed=SEED, progress=progress)
    made = await bench_corpus.distances(owner, chunks=order.chunks, count=len(real))
    built_s = round(time.perf_counter() - start, 1)
    corpus = Corpus(order.fingerprint(), built_s, bench_vectors.distances(real), made)
    (folder / RECORD).write_text(json.dumps(dataclasses.asdict(corpus)), encoding="utf-8")
    return corpus


def _recorded(order: Order, folder: Path) -> Corpus | None:
    """The corpus that a run with the same order left, if any."""
    if not (folder / RECORD).is_file():
        return None
    known = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    if known["fingerprint"] != order.fingerprint():
        return None
    real, made = (Distances(*(tuple(known[kind][name]) for name in ("nearest", "random"))) for kind in ("real", "made"))
    return Corpus(known["fingerprint"], known["built_s"], real, made)


async def _embedded(passages: Sequence[str], services: Services) -> Vectors:
    return bench_vectors.unit(await services.embedder.embed_documents(passages))


def _spoken(count: int) -> list[str]:
    """Questions in plain words, all different."""
    questions = [question.text for question in samples.QUESTIONS]
    return [f"{questions[number % len(questions)]} {number}" for number in range(count)]
