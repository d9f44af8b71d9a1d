"""Measures the latency and accuracy of the hybrid statement at one corpus size.

Builds the corpus once, times every statement on the same questions and compares the results with exact ones.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app import errors, samples
from app.models.protocols import Embedder
from app.query import model_replacement
from app.search.state import SearchContext
from app.services import Services
from benchmarks.speed import corpus, http_latency, passages, quality, timings, vectors
from benchmarks.speed.corpus import USER, BenchmarkQuestion, Progress
from benchmarks.speed.http_latency import ServiceFigures
from benchmarks.speed.owner import Disk, Owner, owning
from benchmarks.speed.timings import Name, Target, Timing
from benchmarks.speed.vectors import Distances, Vectors

log = logging.getLogger(__name__)

SEED = 7
CORPUS_VERSION = 3
"""Incremented whenever the same parameters produce a different corpus."""
RECORD = "bench.json"
EXACT_QUESTIONS = 30
"""Number of questions with computed exact answers, which are the most expensive part."""
EMBEDDED_QUESTIONS = 100


@dataclass(frozen=True, slots=True)
class Parameters:
    """Number of chunks, number of questions, and the real passages from which vectors are derived."""

    chunks: int
    questions: int
    passages: Sequence[str]

    @property
    def name(self) -> str:
        """Returns the name of the corpus's folder."""
        return f"chunks-{self.chunks}"

    def fingerprint(self) -> str:
        """Returns a digest that is equal for parameters with the same corpus."""
        return hashlib.sha256(json.dumps([self.chunks, SEED, CORPUS_VERSION, *self.passages]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredCorpus:
    """The record of a built corpus: its fingerprint, build time in seconds, and vector distances."""

    fingerprint: str
    built_s: float
    real: Distances
    made: Distances


@dataclass(frozen=True, slots=True)
class SpeedReport:
    """The figures at one size: milliseconds, shares from 0 to 1, megabytes."""

    chunks: int
    questions: int
    corpus: StoredCorpus
    disk: Disk
    timings: dict[Name, Timing]
    textbook_plan: str
    matches_or: int
    matches_and: int
    recall: dict[float, float]
    overlap: float
    embedding: Timing
    embedding_cached: Timing
    service: ServiceFigures | None
    ratios: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        hybrid = self.timings["hybrid"].p50
        ratios = {
            "textbook OR / hybrid": self.timings["textbook OR"].p50 / hybrid,
            "textbook AND / hybrid": self.timings["textbook AND"].p50 / hybrid,
            "hybrid / bare HNSW": hybrid / self.timings["bare HNSW"].p50,
            "hybrid / bare HNSW, same ef_search": hybrid / self.timings["bare HNSW, same ef_search"].p50,
        }
        object.__setattr__(self, "ratios", {name: round(ratio, 2) for name, ratio in ratios.items()})

    def as_json(self) -> dict[str, Any]:
        """Returns all figures."""
        return dataclasses.asdict(self)


async def run(
    parameters: Parameters,
    *,
    services: Services,
    owner_dsn: str,
    folder: Path,
    with_service: bool = False,
    progress: Progress = lambda *_: None,
) -> SpeedReport:
    """Builds the corpus, or reuses the one recorded in `folder`, and measures.

    `with_service`: also measures a `stepwell serve` on the data dir `folder`; if it does not start, its figures
    are omitted. Raises Conflict if the database holds other documents, ProviderError.
    """
    async with owning(owner_dsn) as owner:
        stored = await ensure_corpus(parameters, owner, services, folder, progress=progress)
        asked = await held_out_vectors(parameters, services)
        questions = await corpus.questions(
            owner, asked, chunks=parameters.chunks, count=parameters.questions, seed=SEED
        )
        target = await Target.of(services.db, owner, services.embedder.model)
        report = await _measured(parameters, stored, questions, target, services, progress)
        if not with_service:
            return report
        progress("measuring the service", 0, 1)
        try:
            service = await http_latency.measure(questions, services=services, data_dir=folder)
        except errors.EmbeddedServerError as error:
            log.error("%s", error.message)
            return report
        return dataclasses.replace(report, service=service)


async def ensure_corpus(
    parameters: Parameters, owner: Owner, services: Services, folder: Path, *, progress: Progress = lambda *_: None
) -> StoredCorpus:
    """Builds the corpus, unless the one recorded in `folder` was built from the same parameters."""
    return _recorded(parameters, folder) or await _built(parameters, owner, services, folder, progress)


async def held_out_vectors(parameters: Parameters, services: Services) -> Vectors:
    """Returns the vectors of the passages that serve as questions."""
    return await embedded(passages.held_out(parameters.passages)[: parameters.questions], services)


async def _measured(
    parameters: Parameters,
    stored: StoredCorpus,
    questions: list[BenchmarkQuestion],
    target: Target,
    services: Services,
    progress: Progress,
) -> SpeedReport:
    plan = await timings.best_plan(questions, target)
    latencies = await timings.latencies(questions, target.statements(), progress=progress)
    few = questions[:EXACT_QUESTIONS]
    matches_or, matches_and = await quality.matches(few, target)
    context = SearchContext(dataclasses.replace(services, embedder=_embedder(services)), USER)
    first, again = await timings.embedding(_distinct_questions(EMBEDDED_QUESTIONS), context)
    return SpeedReport(
        chunks=parameters.chunks,
        questions=len(questions),
        corpus=stored,
        disk=await target.owner.disk(),
        timings=latencies,
        textbook_plan=plan,
        matches_or=matches_or,
        matches_and=matches_and,
        recall=await quality.recalls(few, target, progress=progress),
        overlap=await quality.overlap(few, target, progress=progress),
        embedding=first,
        embedding_cached=again,
        service=None,
    )


async def _built(
    parameters: Parameters, owner: Owner, services: Services, folder: Path, progress: Progress
) -> StoredCorpus:
    start = time.perf_counter()
    (folder / RECORD).unlink(missing_ok=True)
    progress("embedding passages", 0, 1)
    real = await embedded(passages.mixed(parameters.passages), services)
    progress("embedding passages", 1, 1)
    mixer = vectors.mixer(real)
    await corpus.build(owner, mixer, chunks=parameters.chunks, seed=SEED, progress=progress)
    made = await corpus.distances(owner, chunks=parameters.chunks, count=len(real))
    built_s = round(time.perf_counter() - start, 1)
    stored = StoredCorpus(parameters.fingerprint(), built_s, vectors.distances(real), made)
    (folder / RECORD).write_text(json.dumps(dataclasses.asdict(stored)), encoding="utf-8")
    return stored


def _recorded(parameters: Parameters, folder: Path) -> StoredCorpus | None:
    """Returns the record of a corpus built earlier from the same parameters, if any."""
    if not (folder / RECORD).is_file():
        return None
    known = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    if known["fingerprint"] != parameters.fingerprint():
        return None
    real, made = (Distances(*(tuple(known[kind][name]) for name in ("nearest", "random"))) for kind in ("real", "made"))
    return StoredCorpus(known["fingerprint"], known["built_s"], real, made)


async def embedded(passages: Sequence[str], services: Services) -> Vectors:
    return vectors.unit(await _embedder(services).embed_documents(passages))


def _embedder(services: Services) -> Embedder:
    """Returns the embedder of the stored model; no other one replaces it during a benchmark."""
    switch = model_replacement.of(services.embedder)
    return services.embedder if switch is None else switch.active.embedder


def _distinct_questions(count: int) -> list[str]:
    """Returns `count` different natural-language questions."""
    questions = [question.text for question in samples.QUESTIONS]
    return [f"{questions[number % len(questions)]} {number}" for number in range(count)]
