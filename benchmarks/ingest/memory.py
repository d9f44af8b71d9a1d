"""Samples the memory of this process, the parser and Postgres while large files or a large document are stored."""

from __future__ import annotations

import asyncio
import io
import os
import random
import time
import zipfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import psutil

from app.documents.storing import ingest, large_documents
from app.documents.types import Upload
from app.enums import Vector
from app.jobs import workers
from app.services import Services
from app.sources import operations as sources
from app.sources import source_sync
from app.sources.types import SourceDraft
from benchmarks.fake_embedder import FakeEmbedder

SAMPLE_S = 0.25
TEXT_SHARE = 50
"""Bytes of a file per byte of its text."""
FILE_BYTES = 1_000_000
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="png" ContentType="image/png"/><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="a" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


class UnrecordedFake(FakeEmbedder):
    """The fake embedder, which does not keep what it has embedded."""

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """The fake embedder's vectors."""
        vectors = await super().embed_documents(texts)
        self.documents.clear()
        return vectors


@dataclass(slots=True)
class MemoryCurve:
    """The memory of some processes in MB: before the work, at equal intervals during it, and after it."""

    before: float
    sampled: list[float] = field(default_factory=list)

    def at(self, points: int) -> list[float]:
        """The largest samples in equal parts of the time."""
        size = max(1, -(-len(self.sampled) // points))
        return [max(self.sampled[start : start + size]) for start in range(0, len(self.sampled), size)]

    @property
    def grown(self) -> float:
        """The most memory that the work took in addition."""
        return max(self.sampled) - self.before


@dataclass(slots=True)
class MemoryRun:
    """The curves of the service, the process that parses files, and Postgres, and the duration of the work."""

    curves: Mapping[str, MemoryCurve]
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class MemoryTarget:
    """Services over a database with this postmaster."""

    services: Services
    postmaster: int

    def sizes(self) -> dict[str, float]:
        """The memory in MB of each part; pages that processes of Postgres share count once, or not at all."""
        postgres = _tree(self.postmaster)
        own = psutil.Process()
        parsers = [child for child in own.children(recursive=True) if child not in postgres]
        return {
            "service": _sum([own], lambda process: process.memory_info().rss),
            "parser": _sum(parsers, lambda process: process.memory_info().rss),
            "Postgres": _sum(postgres, lambda process: process.memory_full_info().pss),
            "Postgres without shared memory": _sum(postgres, _unshared),
        }


async def of_folder(folder: Path, megabytes: int, target: MemoryTarget) -> MemoryRun:
    """Fills a folder with DOCX files of 1 MB, whose images make up all but a fiftieth, and synchronises it."""
    await asyncio.to_thread(_fill, folder, megabytes * 1_000_000 // FILE_BYTES)
    user_id = f"memory-{uuid4()}"
    await sources.add(SourceDraft(str(folder), confined=False), user_id, target.services)
    async with _sampled(target) as run:
        await _run_jobs(user_id, target.services)
    return run


async def of_document(megabytes: int, target: MemoryTarget) -> MemoryRun:
    """Stores one document of this much text."""
    user_id = f"memory-{uuid4()}"
    text = _text(megabytes * 1_000_000, random.Random(1))
    async with _sampled(target) as run:
        await ingest.store_one(Upload(text, uri="large"), user_id, target.services, ingest.IN_JOB)
        del text
        await _run_jobs(user_id, target.services)
    return run


async def _run_jobs(user_id: str, services: Services) -> None:
    while await workers.run_next(services, [source_sync.KIND, *large_documents.KINDS], user_id=user_id):
        pass


@asynccontextmanager
async def _sampled(target: MemoryTarget) -> AsyncIterator[MemoryRun]:
    curves = {name: MemoryCurve(size) for name, size in target.sizes().items()}

    def sample() -> None:
        for name, size in target.sizes().items():
            curves[name].sampled.append(size)

    async def keep_sampling() -> None:
        while True:
            await asyncio.to_thread(sample)
            await asyncio.sleep(SAMPLE_S)

    run, began = MemoryRun(curves), time.monotonic()
    sampling = asyncio.create_task(keep_sampling())
    try:
        yield run
    finally:
        run.took_s = time.monotonic() - began
        sampling.cancel()
        await asyncio.gather(sampling, return_exceptions=True)
        sample()


def _tree(pid: int) -> list[psutil.Process]:
    main = psutil.Process(pid)
    return [main, *main.children(recursive=True)]


def _sum(processes: Iterable[psutil.Process], size: Callable[[psutil.Process], int]) -> float:
    """The sum of the sizes of processes in MB, without those that have ended."""
    total = 0.0
    for process in processes:
        with suppress(psutil.Error):
            total += size(process) / 1e6
    return total


def _unshared(process: psutil.Process) -> int:
    """The memory of a process without shared buffers and mapped files."""
    memory = process.memory_info()
    return int(memory.rss - memory.shared)


def _fill(folder: Path, files: int) -> None:
    for number in range(files):
        chance = random.Random(number)
        raw = _docx(_text(FILE_BYTES // TEXT_SHARE, chance), FILE_BYTES - FILE_BYTES // TEXT_SHARE)
        (folder / f"{number:05}.docx").write_bytes(raw)


def _docx(text: str, image_bytes: int) -> bytes:
    paragraphs = "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in text.split("\n\n"))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELATIONS)
        body = f'<w:document xmlns:w="{_WORD}"><w:body>{paragraphs}</w:body></w:document>'
        archive.writestr("word/document.xml", body)
        archive.writestr("word/media/image.png", os.urandom(image_bytes))
    return target.getvalue()


def _text(size: int, chance: random.Random) -> str:
    """Paragraphs of made-up words under headings, cut at this many characters."""
    syllables = ["ka", "ro", "mi", "ten", "sol", "dar", "ve", "lun", "pi", "gor", "sha", "ne"]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(20_000)]
    paragraphs: list[str] = []
    length = 0
    while length < size:
        paragraph = " ".join(chance.choices(words, k=80)) + "."
        paragraphs.append(f"## Part {len(paragraphs)}\n\n{paragraph}" if len(paragraphs) % 40 == 0 else paragraph)
        length += len(paragraph) + 2
    return "\n\n".join(paragraphs)[:size]
