"""Builds a corpus of users of very different size and measures their searches."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from app.pipelines.running.services import Services
from app.pipelines.search import search, understanding
from app.shapes import HybridRequest, Query, Vector
from app.store.search import recall
from app.text.queries import analysis
from benchmarks.speed import benchmark, corpus, passages, vectors
from benchmarks.speed.benchmark import SEED, Parameters
from benchmarks.speed.corpus import USER, BenchmarkQuestion, Progress
from benchmarks.speed.owner import Owner
from benchmarks.speed.timings import CANDIDATES, EACH, LIMIT, FixedEmbedder, Timing
from benchmarks.tenants import plans

Kind = Literal["small", "large"]
Form = Literal["words", "required word", "phrase"]
Times = dict[tuple[Kind, Form], list[float]]

FORMS: tuple[Form, ...] = ("words", "required word", "phrase")
RECORD = "tenants.json"
EXPLAINED = 10
"""Number of questions of each kind of user with checked plans."""
PLANS: dict[Kind, str] = {"small": "exact", "large": "hnsw"}


@dataclass(frozen=True, slots=True)
class TenantCorpus:
    """The number of small users, the number of chunks of each and of the large user (0: there is none)."""

    users: int
    chunks: int
    large: int
    parameters: Parameters

    @property
    def name(self) -> str:
        """Returns the name of the corpus's folder."""
        return f"tenants-{self.users}x{self.chunks}-{self.large}"

    @property
    def sizes(self) -> dict[str, int]:
        """Returns the number of chunks of each user."""
        small = {f"tenant-{number}": self.chunks for number in range(self.users)}
        return small | ({USER: self.large} if self.large else {})

    def fingerprint(self) -> str:
        """Returns a digest that is equal for corpora with the same content."""
        return hashlib.sha256(f"{self.name} {self.parameters.fingerprint()}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a user."""

    user_id: str
    question: BenchmarkQuestion

    @property
    def vector(self) -> Vector:
        """Returns the question's vector."""
        return self.question.vector

    def text(self, form: Form) -> str:
        """Returns the question in a form: as words, with a required word, or with a phrase of two words."""
        first, second, *others = self.question.words
        if form == "required word":
            return " ".join((f"+{first}", second, *others))
        return " ".join((f'"{first} {second}"', *others)) if form == "phrase" else " ".join(self.question.words)


@dataclass(frozen=True, slots=True)
class TenantFigures:
    """Latencies of each kind of user and form of question, in turns and at the same time, and violated plans."""

    in_turns: dict[tuple[Kind, Form], Timing]
    at_once: dict[tuple[Kind, Form], Timing]
    violations: list[str]


async def run(
    tenants: TenantCorpus, owner: Owner, services: Services, folder: Path, *, progress: Progress = lambda *_: None
) -> TenantFigures:
    """Builds the corpus, or reuses the one recorded in `folder`, and measures."""
    real = await benchmark.embedded(passages.mixed(tenants.parameters.passages), services)
    record = folder / RECORD
    if not record.is_file() or json.loads(record.read_text(encoding="utf-8")) != tenants.fingerprint():
        record.unlink(missing_ok=True)
        await corpus.load(owner, vectors.mixer(real), sizes=tenants.sizes, seed=SEED, progress=progress)
        record.write_text(json.dumps(tenants.fingerprint()), encoding="utf-8")
    held_out = await benchmark.held_out_vectors(tenants.parameters, services)
    asked = await _asked(tenants, owner, held_out)
    in_turns = await _timed([pair for pairs in zip(*_repeated(asked), strict=False) for pair in pairs], services)
    at_once: Times = {}
    if len(asked) > 1:
        both = await asyncio.gather(*(_timed([(kind, one) for one in of], services) for kind, of in asked.items()))
        at_once = {key: took for times in both for key, took in times.items()}
    return TenantFigures(_percentiles(in_turns), _percentiles(at_once), await _violations(asked, services))


async def _asked(tenants: TenantCorpus, owner: Owner, held_out: vectors.Vectors) -> dict[Kind, list[Asked]]:
    """Returns the questions of each kind of user; those of small users come from as many of them as possible."""
    count, asked = tenants.parameters.questions, dict[Kind, list[Asked]]()
    places = np.random.default_rng(SEED).permutation(tenants.users)[:count].tolist()
    for number, user in enumerate(f"tenant-{place}" for place in places):
        own = await corpus.questions(
            owner, held_out[number % len(held_out) :], chunks=tenants.chunks, count=1, seed=number, user_id=user
        )
        asked.setdefault("small", []).append(Asked(user, own[0]))
    if tenants.large:
        found = await corpus.questions(owner, held_out, chunks=tenants.large, count=count, seed=SEED)
        asked["large"] = [Asked(USER, question) for question in found]
    return asked


def _repeated(asked: Mapping[Kind, Sequence[Asked]]) -> list[list[tuple[Kind, Asked]]]:
    """Returns the questions with their kinds, each kind as often as the one with the most questions."""
    most = max(map(len, asked.values()))
    return [[(kind, of[place % len(of)]) for place in range(most)] for kind, of in asked.items()]


async def _timed(asked: Sequence[tuple[Kind, Asked]], services: Services) -> Times:
    """Times the searches without their embedding, after each question was asked once, which fills the caches."""
    took: Times = {}
    for _kind, one in asked:
        await _search(one, "words", services)
    for kind, one in asked:
        for form in FORMS:
            took.setdefault((kind, form), []).append(await _search(one, form, services))
    return took


async def _search(one: Asked, form: Form, services: Services) -> float:
    text = one.text(form)
    embedder = FixedEmbedder({analysis.parse(text).text: one.vector}, services.embedder.model)
    start = time.perf_counter()
    await search.run(Query(one.user_id, text, limit=LIMIT), replace(services, embedder=embedder))
    return (time.perf_counter() - start) * 1000


async def _violations(asked: Mapping[Kind, Sequence[Asked]], services: Services) -> list[str]:
    """Returns the plans that differ from what the kind of user is to have.

    Few chunks that meet a condition are scanned exactly, so only words alone need the graph.
    """
    wrong: list[str] = []
    for kind, of in asked.items():
        for one in of[:EXPLAINED]:
            for form in FORMS:
                request = _request(one, one.text(form))
                found = await plans.violations(services.db, request, graph=kind == "large" and form == "words")
                async with services.db.searching(one.user_id, candidates=CANDIDATES) as reading:
                    plan = (await recall.hybrid(reading, request)).vector_plan
                found += [f"the vector plan is {plan}"] if form == "words" and plan != PLANS[kind] else []
                wrong += [f"{one.user_id}, {form}: {problem}" for problem in found]
    return wrong


def _request(one: Asked, text: str) -> HybridRequest:
    lexical = understanding.lexical_query(analysis.parse(text))
    return HybridRequest(one.user_id, one.vector, lexical, EACH, "rrf", limit=LIMIT, candidates=CANDIDATES)


def _percentiles(took: Times) -> dict[tuple[Kind, Form], Timing]:
    return {key: Timing.of(values) for key, values in took.items()}
