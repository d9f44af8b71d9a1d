"""Measures what entities add to the time of a search, by how many chunks mention the entity that it names.

Every question is searched without entities, guided for the first time, and guided once more with the links of its
entities cached, in random order. A second measurement sends the questions to a service, embedding included.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from app.pipelines.running.entity_cache import EntityCache
from app.pipelines.running.services import Services
from app.pipelines.search import search
from app.shapes import Query
from app.text.queries import analysis
from benchmarks.speed import benchmark, corpus, guided_requests, texts
from benchmarks.speed.benchmark import SEED, Parameters
from benchmarks.speed.corpus import USER, BenchmarkQuestion, Progress
from benchmarks.speed.cpu import CpuClock
from benchmarks.speed.guided_requests import Wordings
from benchmarks.speed.owner import Owner, owning
from benchmarks.speed.timings import WARM_UPS, FixedEmbedder, Timing

COMMON = 14_000
"""Chunks that mention the most frequent entity, at most a seventh of the corpus."""
MENTIONED: Mapping[str, int | None] = {"no entity": None, "10 chunks": 10, "300 chunks": 300, "common": COMMON}
"""The kinds of questions, with the number of chunks that mention the entity."""
NAMES = 20
"""Different entities of a kind but the most frequent one."""
PEOPLE = 1_000
"""Entities that the user has, most of which no question names."""


Variant = Literal["flat", "first", "again"]


@dataclass(frozen=True, slots=True)
class GuidedLatency:
    """The milliseconds that questions of one kind take, elapsed and of CPU, and the share that entities guided.

    `request` and `request_flat` are those of HTTP requests with and without entities.
    """

    kind: str
    guided: float
    elapsed: dict[Variant, Timing]
    cpu: dict[Variant, Timing]
    request_flat: Timing | None = None
    request: Timing | None = None


async def run(
    parameters: Parameters,
    *,
    services: Services,
    owner_dsn: str,
    folder: Path,
    with_service: bool = False,
    progress: Progress = lambda *_: None,
) -> list[GuidedLatency]:
    """Times searches of every kind. Builds the corpus or reuses that in `folder`, and adds its entities.

    `with_service`: also measures the requests to a `stepwell serve` on the data dir `folder`. Raises
    EmbeddedServerError if it does not start.
    """
    async with owning(owner_dsn) as owner:
        await benchmark.ensure_corpus(parameters, owner, services, folder, progress=progress)
        asked = await benchmark.held_out_vectors(parameters, services)
        questions = await corpus.questions(
            owner, asked, chunks=parameters.chunks, count=parameters.questions, seed=SEED
        )
        named = await _add_entities(owner, parameters.chunks)
    found = [await _measured(kind, questions, named[kind], services, progress) for kind in MENTIONED]
    if not with_service:
        return found
    progress("measuring the service", 0, 1)
    asked_of = {kind: [_wordings(*one) for one in _named(questions, named[kind])] for kind in MENTIONED}
    requests = await guided_requests.measure(asked_of, services=services, data_dir=folder)
    return [replace(one, request_flat=requests[one.kind][0], request=requests[one.kind][1]) for one in found]


def _named(questions: Sequence[BenchmarkQuestion], names: Sequence[str]) -> list[tuple[BenchmarkQuestion, str | None]]:
    """Returns the questions, the first ones once more before them to warm up, each with a name if there are any."""
    return [
        (question, names[place % len(names)] if names else None)
        for place, question in enumerate([*questions[:WARM_UPS], *questions])
    ]


async def _add_entities(owner: Owner, chunks: int) -> dict[str, list[str]]:
    """Turns names of the corpus into people of the user; returns them by kind."""
    ranks: dict[str, list[int]] = {kind: [] for kind in MENTIONED}
    for kind, wanted in MENTIONED.items():
        if wanted is not None and kind != "common":
            first = max(1, _rank(wanted, chunks))
            ranks[kind] = list(range(first, min(first + NAMES, chunks)))
    ranks["common"] = [0]
    asked = {rank for found in ranks.values() for rank in found}
    people = asked | set(range(chunks // 2, min(chunks // 2 + PEOPLE, chunks)))
    await owner.add_people(USER, [corpus.named(rank).entity_id for rank in people])
    common, *others = (corpus.named(rank).entity_id for rank in range(100))
    await owner.add_mentions(USER, common, others=others, chunks=min(COMMON, chunks // 7))
    return {kind: [texts.name(rank) for rank in found] for kind, found in ranks.items()}


def _rank(mentions: int, chunks: int) -> int:
    """Returns the number of the name that about so many of the chunks mention."""
    weights = math.log((chunks + texts.NAMES_OFFSET) / texts.NAMES_OFFSET)
    return round(texts.NAMES_A_CHUNK * chunks / (weights * mentions)) - texts.NAMES_OFFSET


async def _measured(
    kind: str, questions: Sequence[BenchmarkQuestion], names: Sequence[str], services: Services, progress: Progress
) -> GuidedLatency:
    rng = np.random.default_rng(SEED)
    clock = await CpuClock.of(services.db, USER)
    cached = EntityCache()
    elapsed: dict[Variant, list[float]] = {"flat": [], "first": [], "again": []}
    cpu: dict[Variant, list[float]] = {"flat": [], "first": [], "again": []}
    guided = 0
    for place, (question, name) in enumerate(_named(questions, names)):
        text = _text(question.words[:4], name)
        asked = _Asked(text, FixedEmbedder({analysis.parse(text).text: question.vector}, services.embedder.model))
        await asked.search(services, cached, clock)
        cached.matches.clear()
        variants: dict[Variant, Callable[[], EntityCache | None]] = {
            "flat": lambda: None,
            "first": EntityCache,
            "again": lambda: cached,
        }
        for number in rng.permutation(len(variants)).tolist():
            variant = list(variants)[number]
            took = await asked.search(services, variants[variant](), clock)
            if place >= WARM_UPS:
                elapsed[variant].append(took.elapsed)
                cpu[variant].append(took.cpu)
                guided += variant == "first" and took.mode == "two_pass"
        progress(kind, place + 1, len(questions) + WARM_UPS)
    return GuidedLatency(
        kind,
        guided / len(questions),
        {variant: Timing.of(values) for variant, values in elapsed.items()},
        {variant: Timing.of(values) for variant, values in cpu.items()} if clock.is_known else {},
    )


@dataclass(frozen=True, slots=True)
class _Took:
    """The milliseconds of a search, elapsed and of CPU, and its mode."""

    elapsed: float
    cpu: float
    mode: str


@dataclass(frozen=True, slots=True)
class _Asked:
    text: str
    embedder: FixedEmbedder

    async def search(self, services: Services, cache: EntityCache | None, clock: CpuClock) -> _Took:
        """Returns what a search took; without a cache, one without entities."""
        query = Query(USER, self.text)
        if cache is None:
            query = replace(query, guidance=query.guidance.off)
        used = Services(services.db, self.embedder, entity_cache=cache or EntityCache())
        cpu, start = clock.milliseconds(), time.perf_counter()
        answer = await search.run(query, used)
        return _Took((time.perf_counter() - start) * 1000, clock.milliseconds() - cpu, answer.search_mode)


def _wordings(question: BenchmarkQuestion, name: str | None) -> Wordings:
    words = question.words[:4]
    return Wordings(_text(words, name), _text(words[::-1], name))


def _text(words: Sequence[str], name: str | None) -> str:
    about = " ".join(words)
    return f"what was said about {about}" if name is None else f"what did {name} say about {about}"
