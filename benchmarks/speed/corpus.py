"""Builds the synthetic corpus and the benchmark's questions.

Documents of one to four chunks are loaded in bulk as the tables' owner. A second user gets another 5 %, so that
statements have rows of another user to filter out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt

from app.text.names import names
from app.text.names.names import Name
from app.text.words import tsvector_text
from benchmarks.speed import texts, vectors
from benchmarks.speed.owner import Batch, Owner
from benchmarks.speed.vectors import Mixer

USER, OTHER_USER = "bench", "bench-other"
OTHER_USER_SHARE = 0.05
LARGEST_DOCUMENT = 4
DOCUMENTS_A_BATCH = 800
BUCKETS = 10_000

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Selectivity:
    """A metadata filter that a given percentage of the documents passes."""

    percent: float
    metadata: dict[str, int]


SELECTIVITIES = (
    Selectivity(100.0, {}),
    Selectivity(10.0, {"tenth": 3}),
    Selectivity(1.0, {"hundredth": 42}),
    Selectivity(0.1, {"thousandth": 421}),
)


async def build(owner: Owner, mixer: Mixer, *, chunks: int, seed: int, progress: Progress) -> None:
    """Replaces the stored corpus by one of `chunks` chunks. Raises Conflict; see `begin_load`."""
    sizes = {USER: chunks, OTHER_USER: max(1, round(OTHER_USER_SHARE * chunks))}
    await load(owner, mixer, sizes=sizes, seed=seed, progress=progress)


async def load(owner: Owner, mixer: Mixer, *, sizes: Mapping[str, int], seed: int, progress: Progress) -> None:
    """Replaces the stored corpus by users with these numbers of chunks. Raises Conflict; see `begin_load`."""
    await owner.begin_load(list(sizes))
    rng = np.random.default_rng(seed)
    done = 0
    for user_id, size in sizes.items():
        first_no = 1
        for batch in batches(size, mixer, rng):
            await owner.add(user_id, batch, first_no=first_no)
            first_no += len(batch.of)
            done += len(batch.of)
            progress("loading", done, sum(sizes.values()))
    progress("building postings", 0, 1)
    await owner.derive(list(sizes))
    progress("building postings", 1, 1)
    progress("building indexes", 0, 1)
    await owner.build_indexes(chunks=sum(sizes.values()), dimension=mixer.real.shape[1])
    progress("building indexes", 1, 1)


def batches(chunks: int, mixer: Mixer, rng: np.random.Generator) -> Iterator[Batch]:
    """Yields documents with `chunks` chunks in all. There are `chunks` names; document n has the n-th name as title."""
    name_count, first = chunks, 0
    while chunks > 0:
        counts = rng.integers(1, LARGEST_DOCUMENT + 1, DOCUMENTS_A_BATCH)
        held = np.minimum(np.cumsum(counts), chunks)
        counts = np.diff(held, prepend=0)
        counts = counts[counts > 0]
        yield _batch(counts, mixer, rng, titles=range(first, first + len(counts)), name_count=name_count)
        chunks, first = chunks - int(held[-1]), first + len(counts)


def _batch(
    counts: npt.NDArray[np.int64], mixer: Mixer, rng: np.random.Generator, *, titles: range, name_count: int
) -> Batch:
    of = np.repeat(np.arange(len(counts)), counts)
    indices = np.concatenate([np.arange(count) for count in counts])
    mentioned = texts.draw_names(len(of), name_count, rng)
    plain = texts.chunks(len(of), rng)
    chunk_texts = [texts.insert_names(text, numbers, rng) for text, numbers in zip(plain, mentioned, strict=True)]
    headlines = [texts.name(number) for number in titles]
    contents, starts = _joined(chunk_texts, counts.tolist())
    anchors = rng.integers(0, len(mixer.real), len(counts))
    return Batch(
        document_ids=_ids(len(counts), rng),
        titles=headlines,
        contents=contents,
        metadata=[_metadata(bucket) for bucket in rng.integers(0, BUCKETS, len(counts)).tolist()],
        chunk_counts=counts.tolist(),
        chunk_ids=_ids(len(of), rng),
        of=of.tolist(),
        indices=indices.tolist(),
        starts=starts,
        chunk_contents=chunk_texts,
        indexed=[
            tsvector_text.index_text(f"{headlines[place]}\n{text}", "english")
            for place, text in zip(of.tolist(), chunk_texts, strict=True)
        ],
        vectors=mixer.sample(anchors[of], rng),
        titled=[named(number) for number in titles],
        named=[
            (place, named(number), count)
            for place, numbers in enumerate(mentioned)
            for number, count in Counter(numbers).items()
        ],
    )


def named(number: int) -> Name:
    """Returns the name with this number."""
    text = texts.name(number)
    return Name(text.casefold(), text)


def _joined(chunk_texts: list[str], counts: list[int]) -> tuple[list[str], list[int]]:
    """Returns the documents' texts and each chunk's start offset in its document."""
    contents, starts, place = [], [], 0
    for count in counts:
        own = chunk_texts[place : place + count]
        lengths = [len(text) + 1 for text in own]
        starts += [sum(lengths[:index]) for index in range(count)]
        contents.append("\n".join(own))
        place += count
    return contents, starts


def _metadata(bucket: int) -> str:
    parts = {"ten_thousandth": 1, "thousandth": 10, "hundredth": 100, "tenth": 1_000}
    return json.dumps({name: bucket // size for name, size in parts.items()})


def _ids(count: int, rng: np.random.Generator) -> list[UUID]:
    noise = rng.bytes(16 * count)
    return [UUID(bytes=noise[start : start + 16], version=4) for start in range(0, 16 * count, 16)]


@dataclass(frozen=True, slots=True)
class BenchmarkQuestion:
    """Six words of one chunk, the vector of a held-out real passage, and a name in the chunk that HTTP requests
    contain as well."""

    words: tuple[str, ...]
    vector: list[float]
    name: str = ""


async def questions(
    owner: Owner, asked: vectors.Vectors, *, chunks: int, count: int, seed: int, user_id: str = USER
) -> list[BenchmarkQuestion]:
    """Returns `count` questions on a user's `chunks` chunks, the same in every run."""
    rng = np.random.default_rng(seed)
    numbers = 1 + rng.choice(chunks, min(count, chunks), replace=False)
    sampled = await owner.sample(user_id, sorted(numbers.tolist()))
    return [
        BenchmarkQuestion(texts.question(content, rng), asked[place % len(asked)].tolist(), names.find(content)[0].text)
        for place, (content, _vector) in enumerate(sampled)
    ]


async def distances(owner: Owner, *, chunks: int, count: int) -> vectors.Distances:
    """Returns the distances within a sample of `count` stored vectors."""
    numbers = 1 + np.random.default_rng(1).choice(chunks, min(count, chunks), replace=False)
    sampled = await owner.sample(USER, numbers.tolist())
    return vectors.distances(vectors.unit([vector for _content, vector in sampled]))
