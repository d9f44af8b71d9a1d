"""Measures what synonyms add to the time of a search, by what the user's groups have to do with its query.

The same questions are searched with each kind of groups in turns, several rounds, after a search that fills the cache.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.pipelines.running.services import Services
from app.pipelines.search import search, synonyms
from app.shapes import Query, SynonymGroup, limits
from app.text.queries import analysis
from benchmarks.speed import benchmark, corpus, texts
from benchmarks.speed.benchmark import SEED, Parameters
from benchmarks.speed.corpus import USER, BenchmarkQuestion, Progress
from benchmarks.speed.cpu import CpuClock
from benchmarks.speed.owner import owning
from benchmarks.speed.timings import FixedEmbedder, Timing

ROUNDS = 5
KINDS = ("no groups", "groups of other words", "a word for a word", "a phrase for a word")
"""What the user's groups are, as many as a user may have but for the first kind."""


@dataclass(frozen=True, slots=True)
class SynonymLatency:
    """The milliseconds that a search takes with groups of one kind, elapsed and of CPU; `mean` is that of CPU.

    `expanded` is the share of the questions with synonyms.
    """

    kind: str
    expanded: float
    elapsed: Timing
    cpu: Timing
    mean: float


@dataclass(slots=True)
class _Times:
    elapsed: list[float]
    cpu: list[float]
    expanded: int = 0


async def run(
    parameters: Parameters,
    *,
    services: Services,
    owner_dsn: str,
    folder: Path,
    rounds: int = ROUNDS,
    progress: Progress = lambda *_: None,
) -> list[SynonymLatency]:
    """Times searches with every kind of groups. Builds the corpus, or reuses that in `folder`."""
    async with owning(owner_dsn) as owner:
        await benchmark.ensure_corpus(parameters, owner, services, folder, progress=progress)
        asked = await benchmark.held_out_vectors(parameters, services)
        questions = await corpus.questions(
            owner, asked, chunks=parameters.chunks, count=parameters.questions, seed=SEED
        )
    times = {kind: _Times([], []) for kind in KINDS}
    rng = np.random.default_rng(SEED)
    for number in range(rounds):
        for place in rng.permutation(len(KINDS)).tolist():
            kind = KINDS[place]
            await synonyms.put(USER, _groups(kind, questions), db=services.db)
            await _time(questions, services, times[kind])
        progress("searching", number + 1, rounds)
    await synonyms.put(USER, [], db=services.db)
    asked_times = rounds * len(questions)
    return [
        SynonymLatency(
            kind,
            found.expanded / asked_times,
            Timing.of(found.elapsed),
            Timing.of(found.cpu),
            round(sum(found.cpu) / asked_times, 2),
        )
        for kind, found in times.items()
    ]


def _groups(kind: str, questions: Sequence[BenchmarkQuestion]) -> list[SynonymGroup]:
    """As many groups as a user may have, or none; one of them contains the first word of each question."""
    if kind == KINDS[0]:
        return []
    words = texts.vocabulary()
    others = iter(words[len(words) // 2 :])
    of_questions = {question.words[0]: None for question in questions} if kind != KINDS[1] else {}
    synonyms_of = [f"{words[n]} {words[n + 1]}" if kind == KINDS[3] else words[n] for n in range(100, 600)]
    groups = [SynonymGroup((word, synonyms_of[n])) for n, word in enumerate(of_questions)]
    return [
        *groups,
        *(SynonymGroup((next(others), next(others))) for _ in range(limits.MAX_SYNONYM_GROUPS - len(groups))),
    ]


async def _time(questions: Sequence[BenchmarkQuestion], services: Services, times: _Times) -> None:
    clock = await CpuClock.of(services.db, USER)
    for place, question in enumerate([questions[0], *questions]):
        text = " ".join(question.words)
        embedder = FixedEmbedder({analysis.parse(text).text: question.vector}, services.embedder.model)
        used = Services(services.db, embedder, synonym_cache=services.synonym_cache)
        query = Query(USER, text, explain=True)
        cpu, start = clock.milliseconds(), time.perf_counter()
        answer = await search.run(query, used)
        if place:
            times.elapsed.append((time.perf_counter() - start) * 1_000)
            times.cpu.append(clock.milliseconds() - cpu)
            times.expanded += bool((answer.explain or {}).get("synonyms"))
