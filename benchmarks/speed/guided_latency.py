"""Measures what entities add to the time of a search, by how many chunks mention the entity that it names.

Every question is searched without entities, guided for the first time, and guided once more with the links of its
entities cached, in random order.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from app.pipelines import search
from app.pipelines.entity_cache import EntityCache
from app.pipelines.services import Services
from app.shapes import Query
from app.text import analysis
from benchmarks.speed import benchmark, corpus, texts
from benchmarks.speed.benchmark import SEED, Parameters
from benchmarks.speed.corpus import USER, BenchmarkQuestion, Progress
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


@dataclass(frozen=True, slots=True)
class GuidedLatency:
    """The latency of questions of one kind in milliseconds, and the share of them that entities guided."""

    kind: str
    guided: float
    flat: Timing
    first: Timing
    again: Timing

    @property
    def ratios(self) -> tuple[float, float]:
        """The time of the first guided search per time without entities, at p50 and at p95."""
        return round(self.first.p50 / self.flat.p50, 2), round(self.first.p95 / self.flat.p95, 2)


async def run(
    parameters: Parameters, *, services: Services, owner_dsn: str, folder: Path, progress: Progress = lambda *_: None
) -> list[GuidedLatency]:
    """Times searches of every kind. Builds the corpus or reuses that in `folder`, and adds its entities."""
    async with owning(owner_dsn) as owner:
        await benchmark.ensure_corpus(parameters, owner, services, folder, progress=progress)
        asked = await benchmark.held_out_vectors(parameters, services)
        questions = await corpus.questions(
            owner, asked, chunks=parameters.chunks, count=parameters.questions, seed=SEED
        )
        named = await _add_entities(owner, parameters.chunks)
    return [await _measured(kind, questions, named[kind], services, progress) for kind in MENTIONED]


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
    kind: str, questions: Sequence[BenchmarkQuestion], named: Sequence[str], services: Services, progress: Progress
) -> GuidedLatency:
    rng = np.random.default_rng(SEED)
    cached = EntityCache()
    took: dict[str, list[float]] = {"flat": [], "first": [], "again": []}
    guided = 0
    for place, question in enumerate([*questions[:WARM_UPS], *questions]):
        text = _text(question, named[place % len(named)] if named else None)
        asked = _Asked(text, FixedEmbedder({analysis.parse(text).text: question.vector}, services.embedder.model))
        await asked.search(services, cached)
        cached.matches.clear()
        variants: dict[str, Callable[[], EntityCache | None]] = {
            "flat": lambda: None,
            "first": EntityCache,
            "again": lambda: cached,
        }
        for number in rng.permutation(len(variants)).tolist():
            name = list(variants)[number]
            milliseconds, mode = await asked.search(services, variants[name]())
            if place >= WARM_UPS:
                took[name].append(milliseconds)
                guided += name == "first" and mode == "two_pass"
        progress(kind, place + 1, len(questions) + WARM_UPS)
    timings = {name: Timing.of(values) for name, values in took.items()}
    return GuidedLatency(kind, guided / len(questions), timings["flat"], timings["first"], timings["again"])


@dataclass(frozen=True, slots=True)
class _Asked:
    text: str
    embedder: FixedEmbedder

    async def search(self, services: Services, cache: EntityCache | None) -> tuple[float, str]:
        """Returns the milliseconds and the mode of a search; without a cache, of one without entities."""
        query = Query(USER, self.text)
        if cache is None:
            query = replace(query, guidance=query.guidance.off)
        used = Services(services.db, self.embedder, entity_cache=cache or EntityCache())
        start = time.perf_counter()
        answer = await search.run(query, used)
        return (time.perf_counter() - start) * 1000, answer.search_mode


def _text(question: BenchmarkQuestion, name: str | None) -> str:
    words = " ".join(question.words[:4])
    return f"what was said about {words}" if name is None else f"what did {name} say about {words}"
