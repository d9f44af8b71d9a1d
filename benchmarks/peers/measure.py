"""Stores the material in a peer and asks its questions: one question at a time, first once to warm up, then timed.

Imports nothing of `app`, since runners use it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import psutil
import uvloop

from benchmarks.peers.exchange import Material, Order, Result, Vectors, ranking


class Peer(Protocol):
    """A store of chunks under measurement; chunks are numbered by their place in the material."""

    async def store(self, material: Material) -> None:
        """Stores and indexes the chunks."""

    async def settle(self) -> None:
        """Ends background work and updates statistics; not timed."""

    async def ask(self, question: str, vector: list[float]) -> list[int]:
        """Returns the best chunks for a question, with their texts read."""

    async def size(self) -> int:
        """Returns the bytes on disk, indexes included."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The answers of the last round, and what all rounds took."""

    answers: list[list[Any]]
    took_ms: list[float]
    cpu_s: float


def main(create: Callable[[Order], Peer], *packages: str) -> None:
    """Carries out the order in the file named by the first argument, in uvloop as Stepwell's service.

    The policy holds for loops that a peer makes in threads of its own, too.
    """
    order = Order.load(Path(sys.argv[1]))
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(_run(create(order), order, packages)).save(Path(order.result))


async def _run(peer: Peer, order: Order, packages: Sequence[str]) -> Result:
    material = Material.load(Path(order.material))
    ingest_s = await timed(peer.store(material))
    await peer.settle()
    asked = await ask_all(peer.ask, material.questions, material.question_vectors, order)
    rankings = [ranking(found, material.documents) for found in asked.answers]
    versions = {name: metadata.version(name) for name in packages}
    return Result(versions, ingest_s, await peer.size(), rankings, asked.took_ms, asked.cpu_s)


async def timed(work: Awaitable[None]) -> float:
    """Returns the seconds that some work takes."""
    start = time.perf_counter()
    await work
    return time.perf_counter() - start


async def ask_all(
    ask: Callable[[str, list[float]], Awaitable[list[Any]]], questions: Sequence[str], vectors: Vectors, order: Order
) -> Asked:
    """Asks all questions once untimed, then `rounds` times timed."""
    pairs = list(zip(questions, vectors.tolist(), strict=True))
    answers = [await ask(question, vector) for question, vector in pairs]
    took_ms = []
    cpu_s = -_cpu_s(order.server_pid)
    for _ in range(order.rounds):
        for place, (question, vector) in enumerate(pairs):
            start = time.perf_counter()
            answers[place] = await ask(question, vector)
            took_ms.append((time.perf_counter() - start) * 1000)
    return Asked(answers, took_ms, cpu_s + _cpu_s(order.server_pid))


def _cpu_s(server_pid: int | None) -> float:
    """Returns the CPU time of this process and of a server with all its processes, ended ones included."""
    total = time.process_time()
    if server_pid is not None:
        server = psutil.Process(server_pid)
        total += sum(server.cpu_times()[:4])
        for child in server.children(recursive=True):
            try:
                total += sum(child.cpu_times()[:2])
            except psutil.NoSuchProcess:
                continue
    return total


def folder_size(folder: Path) -> int:
    """Returns the bytes that the files of a folder take on disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
