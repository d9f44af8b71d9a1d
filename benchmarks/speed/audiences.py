"""Measures searches with keys that see a part of a corpus, beside those of a key that sees all of it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from app.pipelines.documents import facets
from app.pipelines.running.services import Services
from app.pipelines.search import search
from app.shapes import FacetQuery, Filters, Query
from app.store.filters import filters
from app.text.queries import analysis
from benchmarks.speed import benchmark, corpus, texts, timings
from benchmarks.speed.benchmark import SEED, Parameters
from benchmarks.speed.corpus import USER, BenchmarkQuestion, Progress
from benchmarks.speed.owner import owning
from benchmarks.speed.timings import EACH, FixedEmbedder, Timing

Caller = Literal["filter", "key"]
"""A request with filters and a key without, or a request without filters and a key that has them."""
Shape = Literal["hybrid", "search", "frequent word", "typing error", "prefix", "facets"]
Key = tuple[Shape, str, Caller]
WARM_UPS = 2
"""Questions that are asked first: each is asked about forty times."""

CALLERS: tuple[Caller, ...] = get_args(Caller)
SHARES: Mapping[str, Filters] = {
    "all": Filters(),
    "50 %": Filters(metadata={"tenth": {"in": [0, 1, 2, 3, 4]}}),
    "1 %": Filters(metadata={"hundredth": 42}),
    "0.01 %": Filters(metadata={"ten_thousandth": 4_217}),
}
"""What a key sees, by the share of the documents."""


@dataclass(frozen=True, slots=True)
class AudienceFigures:
    """The latency of each shape of request, by the share that passes and by where the filters are."""

    chunks: int
    timings: dict[Key, Timing]


async def run(
    parameters: Parameters, *, services: Services, owner_dsn: str, folder: Path, progress: Progress = lambda *_: None
) -> AudienceFigures:
    """Times every shape of request for every caller, in random order. Builds the corpus or reuses that in `folder`."""
    async with owning(owner_dsn) as owner:
        await benchmark.ensure_corpus(parameters, owner, services, folder, progress=progress)
        asked = await benchmark.held_out_vectors(parameters, services)
        questions = await corpus.questions(
            owner, asked, chunks=parameters.chunks, count=parameters.questions, seed=SEED
        )
    callers = {(share, caller): _Caller.of(services, share, caller) for share in SHARES for caller in CALLERS}
    rng, took = np.random.default_rng(0), dict[Key, list[float]]()
    for place, question in enumerate([*questions[:WARM_UPS], *questions]):
        asked_texts = _texts(question, texts.vocabulary()[place])
        for number in rng.permutation(len(callers)).tolist():
            (share, kind), caller = list(callers.items())[number]
            for shape, text in asked_texts.items():
                milliseconds = await caller.asked(shape, text, question)
                if place >= WARM_UPS:
                    took.setdefault((shape, share, kind), []).append(milliseconds)
        progress("timing", place + 1, len(questions) + WARM_UPS)
    return AudienceFigures(parameters.chunks, {key: Timing.of(values) for key, values in took.items()})


def _texts(question: BenchmarkQuestion, frequent: str) -> dict[Shape, str]:
    """The query of each shape of request."""
    words = " ".join(question.words)
    longest = max(question.words, key=len)
    return {
        "hybrid": words,
        "search": words,
        "frequent word": f"{frequent} {words}",
        "typing error": f"{longest[:-2]}{longest[-1]}{longest[-2]}q",
        "prefix": f"{longest[:3]}*",
        "facets": "",
    }


@dataclass(frozen=True, slots=True)
class _Caller:
    """The services as a caller sees them, and the filters of its requests."""

    services: Services
    filters: Filters

    @classmethod
    def of(cls, services: Services, share: str, caller: Caller) -> _Caller:
        given = SHARES[share]
        if caller == "filter" or not given:
            return cls(services, given)
        restricted = services.db.restricted(filters.restriction(given))
        return cls(replace(services, db=restricted), Filters())

    async def asked(self, shape: Shape, text: str, question: BenchmarkQuestion) -> float:
        """The milliseconds that a request takes, without the embedding of the query."""
        model, vector = self.services.embedder.model, question.vector
        services = Services(self.services.db, FixedEmbedder({analysis.parse(text).text: vector}, model))
        query = Query(USER, text, limit=timings.LIMIT, filters=self.filters)
        hybrid = replace(timings.request(question, EACH), filters=self.filters)
        run: dict[Shape, Callable[[], Awaitable[object]]] = {
            "hybrid": lambda: timings.retrieve(services.db, hybrid),
            "facets": lambda: facets.run(FacetQuery(self.filters), USER, services),
        }
        start = time.perf_counter()
        await run.get(shape, lambda: search.run(query, services))()
        return (time.perf_counter() - start) * 1000
