"""Measures how long the explanation of a passage's place takes, for passages that the search does not return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import get_args
from uuid import UUID

import numpy as np

from app.pipelines.running.services import Services
from app.pipelines.why import why
from app.pipelines.why.why import WhyQuery
from app.shapes import Mode, PassageKey, Query, Verdict
from app.text.queries import analysis
from benchmarks.speed import benchmark, corpus
from benchmarks.speed.benchmark import SEED, Parameters
from benchmarks.speed.corpus import USER, BenchmarkQuestion, Progress
from benchmarks.speed.owner import owning
from benchmarks.speed.timings import FixedEmbedder, Timing


@dataclass(frozen=True, slots=True)
class WhyLatency:
    """The latency in one mode in milliseconds, by stage and as `total`, and how often each verdict was given."""

    mode: Mode
    stages: dict[str, Timing]
    verdicts: dict[Verdict, int]


async def run(
    parameters: Parameters, *, services: Services, owner_dsn: str, folder: Path, progress: Progress = lambda *_: None
) -> list[WhyLatency]:
    """Explains random chunks for every question and mode, once to warm up and once timed.

    Builds the corpus or reuses that in `folder`.
    Most random chunks share no word with the question and stand far beyond the candidates, the most expensive case.
    """
    async with owning(owner_dsn) as owner:
        await benchmark.ensure_corpus(parameters, owner, services, folder, progress=progress)
        asked = await benchmark.held_out_vectors(parameters, services)
        questions = await corpus.questions(
            owner, asked, chunks=parameters.chunks, count=parameters.questions, seed=SEED
        )
        numbers = 1 + np.random.default_rng(SEED + 1).choice(parameters.chunks, len(questions), replace=False)
        chunk_ids = await owner.chunk_ids(USER, numbers.tolist())
    pairs = list(zip(questions, chunk_ids, strict=True))
    found: list[WhyLatency] = []
    for mode in get_args(Mode):
        await _measured(mode, pairs, services)
        found.append(await _measured(mode, pairs, services))
    return found


async def _measured(mode: Mode, pairs: Sequence[tuple[BenchmarkQuestion, UUID]], services: Services) -> WhyLatency:
    model, placements = services.embedder.model, []
    for question, chunk_id in pairs:
        text = " ".join(question.words)
        fixed = FixedEmbedder({analysis.parse(text).text: question.vector}, model)
        asked = WhyQuery(Query(USER, text, mode=mode), PassageKey(chunk_id=chunk_id))
        placements.append(await why.run(asked, Services(services.db, fixed)))
    timings = [placement.timings or {} for placement in placements]
    return WhyLatency(
        mode,
        {stage: Timing.of([each.get(stage, 0.0) for each in timings]) for stage in sorted({*chain(*timings)})},
        Counter(placement.verdict for placement in placements),
    )
