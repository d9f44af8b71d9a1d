"""Compares ways of storing vectors in Postgres: their size, recall@20 against the exact order, and speed.

`vector` has 32 bits a number and `halfvec` 16. `halfvec index` stores 32 bits and indexes 16: the candidates of its
index are ordered by their exact distance. All of them hold the same vectors, derived from real ones, and are asked the
same questions in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import asyncpg
import numpy as np
from pgvector.asyncpg import register_vector

from app.store.connection import vectors
from app.store.schema import tables
from benchmarks.speed.timings import Timing
from benchmarks.speed.vectors import Mixer, Vectors

Layout = Literal["vector", "halfvec", "halfvec index"]
LAYOUTS: tuple[Layout, ...] = ("vector", "halfvec", "halfvec index")
NEAREST, CANDIDATES, EF_SEARCH, BATCH = 20, 100, 100, 1_000
BYTES_A_MB = 1_000_000
_HNSW = ", ".join(f"{name} = {value}" for name, value in tables.HNSW.items())
_SETTINGS = ("SET jit = off", f"SET hnsw.ef_search = {EF_SEARCH}", "SET max_parallel_workers_per_gather = 0")


@dataclass(frozen=True, slots=True)
class LayoutFigures:
    """Megabytes of the table and its index, seconds to build the index, recall@20 through the index and of an exact
    scan, and their times in milliseconds."""

    layout: Layout
    table_mb: float
    index_mb: float
    built_s: float
    recall: float
    exact_recall: float
    indexed: Timing
    exact: Timing


async def compare(
    connection: asyncpg.Connection, mixer: Mixer, questions: Vectors, *, count: int
) -> list[LayoutFigures]:
    """Fills a table for each layout with `count` vectors and asks all questions; the tables are dropped."""
    await register_vector(connection)
    rng = np.random.default_rng(7)
    stored = mixer.sample(rng.integers(0, len(mixer.real), count), rng)
    nearest = _nearest(stored, questions)
    for setting in _SETTINGS:
        await connection.execute(setting)
    try:
        built = [await _fill(connection, layout, stored) for layout in LAYOUTS]
        by_index = await _ask(connection, _indexed, questions, nearest)
        by_scan = await _ask(connection, _exact, questions, nearest)
        return [
            LayoutFigures(layout, *sizes, indexed[0], scanned[0], indexed[1], scanned[1])
            for layout, sizes, indexed, scanned in zip(LAYOUTS, built, by_index, by_scan, strict=True)
        ]
    finally:
        for layout in LAYOUTS:
            await connection.execute(f"DROP TABLE IF EXISTS {_table(layout)}")


def _nearest(stored: Vectors, questions: Vectors) -> list[set[int]]:
    """The numbers of the nearest vectors to each question, in single precision."""
    return [set(np.argsort(-row, kind="stable")[:NEAREST].tolist()) for row in questions @ stored.T]


def _table(layout: Layout) -> str:
    return f"as_{layout.replace(' ', '_')}"


async def _fill(connection: asyncpg.Connection, layout: Layout, stored: Vectors) -> tuple[float, float, float]:
    """Creates, fills and indexes a table; returns megabytes of both and the seconds that the index took."""
    name, dimension = _table(layout), stored.shape[1]
    kind = "halfvec" if layout == "halfvec" else "vector"
    await connection.execute(f"CREATE TABLE {name} (number bigint PRIMARY KEY, embedding {kind}({dimension}) NOT NULL)")
    for first in range(0, len(stored), BATCH):
        rows = list(enumerate(stored[first : first + BATCH], first))
        await connection.copy_records_to_table(name, columns=["number", "embedding"], records=rows)
    operators = "vector_cosine_ops" if layout == "vector" else "halfvec_cosine_ops"
    key = f"(embedding::halfvec({dimension}))" if layout == "halfvec index" else "embedding"
    began = time.perf_counter()
    await connection.execute("SET maintenance_work_mem = '1GB'")
    await connection.execute(f"CREATE INDEX {name}_hnsw ON {name} USING hnsw ({key} {operators}) WITH ({_HNSW})")
    built_s = time.perf_counter() - began
    await connection.execute(f"VACUUM ANALYZE {name}")
    sizes = await connection.fetchrow(
        "SELECT pg_table_size($1::text::regclass), pg_relation_size($2::text::regclass)", name, f"{name}_hnsw"
    )
    table_mb, index_mb = (size / BYTES_A_MB for size in sizes)
    return table_mb, index_mb, built_s


INDEXED = "SELECT number FROM {table} ORDER BY embedding <=> $1::text::{kind} LIMIT {nearest}"
RESCORED = """
SELECT c.number FROM (
    SELECT number, embedding FROM {table}
    ORDER BY embedding::halfvec({dimension}) <=> $1::text::halfvec({dimension}) LIMIT {candidates}
) AS c ORDER BY c.embedding <=> $1::text::vector LIMIT {nearest}
"""
EXACT = "SELECT number FROM {table} ORDER BY (embedding <=> $1::text::{kind}) + 0 LIMIT {nearest}"
"""The sum keeps the index out."""


def _indexed(layout: Layout, dimension: int) -> str:
    return _filled(RESCORED if layout == "halfvec index" else INDEXED, layout, dimension)


def _exact(layout: Layout, dimension: int) -> str:
    return _filled(EXACT, layout, dimension)


def _filled(statement: str, layout: Layout, dimension: int) -> str:
    kind, table = ("halfvec" if layout == "halfvec" else "vector"), _table(layout)
    return statement.format(kind=kind, table=table, dimension=dimension, nearest=NEAREST, candidates=CANDIDATES)


async def _ask(
    connection: asyncpg.Connection,
    statement: Callable[[Layout, int], str],
    questions: Vectors,
    nearest: Sequence[set[int]],
) -> list[tuple[float, Timing]]:
    """The recall and the times of a statement for each layout, question by question."""
    prepared = [await connection.prepare(statement(layout, questions.shape[1])) for layout in LAYOUTS]
    shares: list[list[float]] = [[] for _ in LAYOUTS]
    took_ms: list[list[float]] = [[] for _ in LAYOUTS]
    for question, wanted in zip(questions, nearest, strict=True):
        text = vectors.as_text(question.tolist())
        for place, one in enumerate(prepared):
            began = time.perf_counter()
            rows = await one.fetch(text)
            took_ms[place].append((time.perf_counter() - began) * 1000)
            shares[place].append(len(wanted & {row["number"] for row in rows}) / NEAREST)
    return [(sum(shares[place]) / len(nearest), Timing.of(took_ms[place])) for place in range(len(LAYOUTS))]
