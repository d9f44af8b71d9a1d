"""Do headings lead on as titles do? Run it on sets in BEIR layout: `python tests/proof/bound_volumes.py FOLDER…`

None of the sets has headings, so a set's documents are bound in a random order into volumes, each under a heading that
was its title; with `--parts`, each halved under two headings that stand over many sections ("Career", "History").
Measured is how many of the wanted sections the hits come from.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app import config, runtime
from app.pipelines import ingest
from app.pipelines.services import Services
from app.proof import beir, evaluation
from app.shapes import Answer, Candidate, Upload
from app.text import structure

PARTS = (
    *("History", "Career", "Early life", "Background", "Production", "Plot", "Reception", "Geography", "Personal life"),
    *("Legacy", "Overview", "Awards", "Members", "Biography", "Later years", "Release", "Track listing", "Cast"),
    *("Notable people", "Climate", "Follow-up", "Context", "Discography", "Demographics", "Economy", "Education"),
    *("In popular culture", "Death", "Design", "Decision", "Critical response"),
)
"""Headings of every day, the first ones over the most sections."""
MODES = ("hybrid", "multihop")
HOPPING = ("auto", "linked", 2)


@dataclass(frozen=True, slots=True)
class Bound:
    """The volumes, and which documents of the set stand under a heading of a volume."""

    volumes: tuple[Upload, ...]
    sections: dict[tuple[str, str], list[str]]


def bind(loaded: beir.EvaluationSet, *, size: int, parts: bool, seed: int) -> Bound:
    """A set's documents as volumes of `size` sections each; the same for the same seed."""
    chance = random.Random(seed)
    shuffled = list(loaded.documents)
    chance.shuffle(shuffled)
    volumes, sections = [], defaultdict(list)
    for number, start in enumerate(range(0, len(shuffled), size), 1):
        uri, texts = f"volume-{number}", [f"# Volume {number}"]
        for upload in shuffled[start : start + size]:
            heading = structure.blocks(f"## {upload.title or upload.uri}")[0].title
            sections[uri, heading].append(str(upload.uri))
            texts += [f"## {heading}", _halved(upload.content, chance) if parts else upload.content]
        volumes.append(Upload("\n\n".join(texts), f"Volume {number}", uri))
    return Bound(tuple(volumes), dict(sections))


def _halved(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    first, second = (PARTS[min(int(chance.paretovariate(0.7)) - 1, len(PARTS) - 1)] for _ in "ab")
    middle = len(words) // 2
    return f"### {first}\n\n{' '.join(words[:middle])}\n\n### {second}\n\n{' '.join(words[middle:])}"


def ranked(found: Answer, bound: Bound) -> list[str]:
    """The documents of the set in whose sections the hits stand, by their first hit."""
    return list(dict.fromkeys(document for hit in found.hits for document in _documents(hit.candidate, bound)))


def _documents(chunk: Candidate, bound: Bound) -> list[str]:
    inside = (block.title for block in structure.blocks(chunk.content) if block.kind == "heading")
    headings = (*chunk.heading_path, *inside)
    return [document for heading in headings for document in bound.sections.get((str(chunk.uri), heading), ())]


async def measure(
    loaded: beir.EvaluationSet, bound: Bound, user_id: str, services: Services
) -> dict[str, dict[str, float]]:
    """Store the volumes and ask the set's questions in each mode; the averages by mode."""
    start, stored = time.perf_counter(), 0
    outcomes = ingest.many(bound.volumes, user_id, db=services.db, embedder=services.embedder, cutting=services.cutting)
    async for outcome in outcomes:
        stored += outcome.stored is not None
    print(f"  {stored} of {len(bound.volumes)} volumes in {time.perf_counter() - start:.1f} s")
    return {mode: evaluation.averages(*await _rankings(mode, loaded, bound, user_id, services)) for mode in MODES}


async def _rankings(
    mode: str, loaded: beir.EvaluationSet, bound: Bound, user_id: str, services: Services
) -> tuple[list[list[str]], Sequence[beir.Question]]:
    rankings = []
    for question in loaded.questions:
        asked = evaluation.question(question.text, user_id, mode, "auto", services)
        hopping = HOPPING if mode == evaluation.MULTIHOP else None
        rankings.append(ranked(await evaluation.answer(asked, services, hopping), bound))
    return rankings, loaded.questions


async def main(given: argparse.Namespace, data_dir: Path) -> None:
    async with runtime.open_services(config.load(data_dir=data_dir)) as services:
        for folder in given.folders:
            loaded = beir.load(folder)
            bound = bind(loaded, size=given.size, parts=given.parts, seed=given.seed)
            user_id = evaluation.user_of(f"{folder.name} bound {given.size} {given.parts} {given.seed}")
            print(f"{folder.name}, {given.size} a volume{', in parts' if given.parts else ''}")
            for mode, means in (await measure(loaded, bound, user_id, services)).items():
                print(f"  {mode}: " + ", ".join(f"{name} {value:.3f}" for name, value in means.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--size", type=int, default=8, help="sections a volume")
    parser.add_argument("--parts", action="store_true", help="two headings of every day inside each section")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data-dir", type=Path)
    with tempfile.TemporaryDirectory() as fresh:
        Path(fresh).chmod(0o711)
        options = parser.parse_args()
        asyncio.run(main(options, options.data_dir or Path(fresh) / "data"))
