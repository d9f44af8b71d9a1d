"""Generates a folder of mixed files, changes it, and synchronises sources through the real jobs."""

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import made_files
import sqlalchemy as sa
from harness import Tenant

from app.documents.storing import large_documents
from app.enums import Vector
from app.jobs import operations as job_operations
from app.jobs import workers
from app.jobs.store import JobState
from app.sources import operations as sources
from app.sources import source_sync
from app.sources.operations import AddedSource
from app.sources.types import SourceDraft, SourceRoots
from benchmarks.fake_embedder import FakeEmbedder

KINDS = ("md", "txt", "html", "csv", "jsonl", "rst", "md", "pdf", "py", "docx")
WORDS = ("lime", "mortar", "tide", "gannet", "buoy", "stair", "stone", "cement", "harbour", "probe", "signal", "clay")


class CountingFake(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.passages = 0

    async def embed_documents(self, texts: Any) -> list[Vector]:
        self.passages += len(texts)
        return await super().embed_documents(texts)


def content(kind: str, number: int, version: int = 0) -> bytes:
    """The bytes of a file, different for each number and version."""
    random_words = random.Random(f"{number}.{version}")
    line = " ".join(random_words.choices(WORDS, k=12)) + f" number{number} version{version}."
    if kind == "csv":
        return f"id,text\na{number},{line}\nb{number},Second row of {line}\n".encode()
    if kind == "jsonl":
        return "".join(json.dumps({"id": n, "text": f"{line} row {n}"}) + "\n" for n in range(2)).encode()
    if kind == "html":
        return f"<html><body><main><h1>Page {number}</h1><p>{line}</p></main></body></html>".encode()
    if kind == "pdf":
        return made_files.pdf([[f"## Report {number}", line]])
    if kind == "docx":
        return made_files.word(f"Note {number}", line)
    heading = f"Note {number}\n{'=' * 20}\n\n" if kind == "rst" else f"# Note {number}\n\n" if kind == "md" else ""
    return f"{heading}{line}\n".encode()


def fill(folder: Path, files: int, *, kinds: tuple[str, ...] = KINDS) -> list[str]:
    """Create files of these kinds in subfolders; returns their relative paths."""
    paths = []
    for number in range(files):
        kind = kinds[number % len(kinds)]
        path = f"part-{number % 3}/note {number:04d}.{kind}"
        write(folder, path, content(kind, number))
        paths.append(path)
    return paths


def write(folder: Path, path: str, raw: bytes) -> None:
    """Write a file of the folder, as if it had been changed a while ago."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(raw)


def write_deep(folder: Path, names: Sequence[str]) -> None:
    """Write a file into a folder inside of many others."""
    for name in names:
        folder /= name
        folder.mkdir()
    write(folder, "leaf.md", b"Lime.")


def remove_deep(folder: Path) -> None:
    """Remove folders that are too many inside each other for Python."""
    subprocess.run(["rm", "-rf", *folder.iterdir()], check=True)


def count(folder: Path) -> int:
    return len([path for path in folder.rglob("*") if path.is_file()])


def moved_away(folder: Path) -> Path:
    """Rename a folder; returns its new path."""
    return folder.rename(folder.with_name("away"))


def make_empty(folder: Path) -> None:
    folder.mkdir()


def remove_empty(folder: Path) -> None:
    folder.rmdir()


def link(path: Path, target: Path) -> None:
    path.symlink_to(target)


def moved_back(folder: Path) -> None:
    """Put a folder that was renamed in the place of the link to it."""
    folder.unlink()
    folder.with_name("away").rename(folder)


@dataclass(slots=True)
class Changed:
    """What was done to a folder."""

    counts: Counter[str] = field(default_factory=Counter)
    renamed: dict[str, str] = field(default_factory=dict)


def disturb(folder: Path, paths: list[str], chance: random.Random) -> Changed:
    """Change, rename, move or remove half of the files, and add some."""
    done = Changed()
    for number, path in enumerate(sorted(chance.sample(paths, len(paths) // 2))):
        kind, place = path.rpartition(".")[2], folder / path
        action = ("replaced", "renamed", "removed", "moved")[number % 4]
        if action == "replaced":
            write(folder, path, content(kind, paths.index(path), version=1))
        elif action == "removed":
            place.unlink()
        else:
            new = f"moved/{place.name}" if action == "moved" else f"{path.rpartition('/')[0]}/renamed {number}.{kind}"
            (folder / new).parent.mkdir(parents=True, exist_ok=True)
            os.rename(place, folder / new)
            done.renamed[path] = new
            action = "renamed"
        done.counts[action] += 1
    for number in range(len(paths) // 10):
        write(folder, f"new/fresh {number}.md", content("md", 10_000 + number))
        done.counts["added"] += 1
    done.counts["unchanged"] = len(paths) - len(paths) // 2
    return done


def services(tenant: Tenant, *roots: Path, per_user: bool = False) -> Any:
    """The tenant's services with folders that sources may be added from."""
    return replace(tenant.services(), options={SourceRoots: SourceRoots(roots, per_user=per_user)})


async def add(tenant: Tenant, folder: Path, **options: Any) -> AddedSource:
    """Add a folder as a source, as from the command line."""
    return await sources.add(SourceDraft(str(folder), **options, confined=False), tenant.user_id, services(tenant))


async def work(tenant: Tenant, *roots: Path) -> None:
    with_roots = services(tenant, *roots)
    while await workers.run_next(with_roots, [source_sync.KIND, *large_documents.KINDS], user_id=tenant.user_id):
        pass


async def stored_source(tenant: Tenant, folder: Path, **options: Any) -> AddedSource:
    """Add a folder as a source, and store its files."""
    added = await add(tenant, folder, **options)
    await work(tenant)
    return added


async def synced(tenant: Tenant, added: AddedSource) -> JobState:
    """The job that has synchronised a source, after it has run."""
    job_id = await sources.sync(added.source.source_id, tenant.user_id, db=tenant.db)
    await work(tenant)
    return await job_operations.get(job_id, tenant.user_id, db=tenant.db)


def counts(state: JobState) -> dict[str, int]:
    """The counts of files in a job's result that are not zero."""
    assert state.status == "done", (state.status, state.error)
    return {name: state.result[name] for name in source_sync.COUNTED if state.result[name]}


async def stored(tenant: Tenant) -> dict[str, tuple[Any, ...]]:
    """What is stored of each document, by uri."""
    query = """
        SELECT d.uri, d.title, d.content, d.metadata, d.config, d.markdown,
               array_agg(c.content || c.tsv::text || e.embedding::text ORDER BY c.chunk_index) AS chunks
        FROM stepwell.documents AS d
        JOIN stepwell.chunks AS c USING (user_id, document_id)
        JOIN stepwell.embeddings AS e USING (user_id, chunk_no)
        WHERE d.user_id = '{}' GROUP BY d.user_id, d.document_id ORDER BY d.uri
    """
    async with tenant.db.reading(tenant.user_id) as reading:
        rows = (await reading.execute(sa.text(query.format(tenant.user_id)))).all()
    found = {row[0]: tuple(map(str, row[1:])) for row in rows}
    assert len(found) == len(rows), "a document is stored twice"
    return found


async def ids(tenant: Tenant) -> dict[str, Any]:
    """The id of each document, by uri."""
    query = f"SELECT uri, document_id FROM stepwell.documents WHERE user_id = '{tenant.user_id}'"
    async with tenant.db.reading(tenant.user_id) as reading:
        return {uri: document_id for uri, document_id in await reading.execute(sa.text(query))}
