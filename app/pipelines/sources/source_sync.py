"""Synchronises the documents of a source with the files of its folder, as a background job.

What has been done is recorded with each file, in the transaction that counts it, so that a job whose worker dies is
continued by another one and counts every file once. A file that cannot be read is recorded with the reason and read
again by the next job; the version that was stored before stays.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from app.pipelines.documents import selections
from app.pipelines.running import cancellable, retries
from app.pipelines.running.services import Services
from app.pipelines.running.workers import JobKind, Run
from app.pipelines.sources import source_files, source_roots, source_scan
from app.pipelines.sources.source_files import FileVersion
from app.pipelines.sources.source_scan import FoundFile, Plan
from app.shapes import KnownFile, Source
from app.store.connection.transactions import Reading, Writing
from app.store.documents.selections import SelectedDocument
from app.store.sources import sources

COUNTED = ("added", "replaced", "renamed", "removed", "unchanged", "failed")
STORED = ("documents", "chunks", "embedded")
COMMIT_S = 1.0
"""Time after which files that have been stored are recorded."""
GROUP = 50
"""Files that are recorded, or removed, by one transaction."""


FormatCounts = dict[str, dict[str, int]]
"""Files, documents, chunks and failed files that were read, by the name of their format."""


@dataclass(slots=True)
class _Syncing:
    """One attempt at a job: the source, its files as they were recorded, and what has been counted by all attempts."""

    run: Run
    source: Source
    known: dict[str, KnownFile]
    counts: dict[str, int] = field(default_factory=dict)
    formats: FormatCounts = field(default_factory=dict)
    total: int = 0

    @property
    def user_id(self) -> str:
        return self.run.user_id

    @property
    def services(self) -> Services:
        return self.run.services

    @property
    def job_id(self) -> UUID:
        return self.run.job.job_id

    @property
    def folder(self) -> Path:
        return Path(self.source.draft.path)

    async def begin(self, total: int) -> None:
        """Show how many files there are before the first one is stored, which may be a long scan. Raises ClaimLost."""
        self.total = self.counts.get("done", 0) + total
        progress = {"step": "compare", "unit": "files", "done": 0, **self.counts, "formats": self.formats}
        async with self.run.db.shared() as shared:
            await self.run.advance(shared, **progress, total=self.total)

    async def commit(
        self,
        step: str,
        counts: dict[str, int],
        work: Callable[[Writing], Awaitable[Any]],
        *,
        done: int = 0,
        versions: Sequence[FileVersion] = (),
    ) -> None:
        """Do work and count it, in one transaction under the user's lock. Raises ClaimLost, Busy, and what it raises.

        `done` is the number of files that the step has completed, `versions` those that it has read.
        """
        new = {name: self.counts.get(name, 0) + counts.get(name, 0) for name in {*self.counts, *counts}}
        new["done"] = new.get("done", 0) + done
        formats = _counted(self.formats, versions)
        progress = {"step": step, "unit": "files", "total": self.total, **new, "formats": formats}

        async def attempt() -> None:
            async with self.run.db.writing(self.user_id) as writing:
                await writing.lock()
                await work(writing)
                await self.run.advance(writing, **progress)

        await retries.while_busy(attempt)
        self.counts, self.formats = new, formats

    def recorded(self, path: str, **changes: Any) -> KnownFile:
        """The record of a file with changes, by this job."""
        blank = KnownFile(path, None, None, None, 0, None, self.job_id)
        return replace(self.known.get(path, blank), job_id=self.job_id, **changes)


async def _sync(run: Run) -> int:
    """Synchronise the documents with the files; returns how many files were added, replaced, renamed or removed."""
    user_id, source_id = run.user_id, UUID(run.job.payload["source_id"])
    async with run.db.reading(user_id) as reading:
        source = await sources.get(reading, source_id)
        known = {file.path: file for file in await sources.files(reading, source_id)}
    counts = {name: value for name, value in run.job.progress.items() if name in (*COUNTED, *STORED, "done")}
    syncing = _Syncing(run, source, known, counts, run.job.progress.get("formats", {}))
    plan = await _plan(syncing)
    if plan.total:
        await syncing.begin(plan.total)
    await _note(syncing, plan)
    await _rename(syncing, plan)
    await _store(syncing, plan.store)
    await _remove(syncing, plan.removed)
    return await _finish(syncing, plan)


async def _plan(syncing: _Syncing) -> Plan:
    """Compare the folder with the recorded files. Raises `source_unavailable`, `folder_not_allowed`."""
    draft, roots, user_id = syncing.source.draft, syncing.services.source_roots, syncing.user_id
    source_roots.check(syncing.folder, user_id, roots, confined=draft.confined)
    pictures = syncing.services.recogniser is not None
    scan = partial(source_scan.scan, draft, taken=await _taken(syncing), known=syncing.known, pictures=pictures)
    found = await cancellable.run(0, scan)
    source_roots.check(syncing.folder, user_id, roots, confined=draft.confined)
    compare = partial(source_scan.compare, draft, found, syncing.known.values(), syncing.job_id)
    return await cancellable.run(0, compare)


async def _taken(syncing: _Syncing) -> dict[str, str]:
    """Why files that belong to the user's other sources cannot belong to this one, by their absolute path."""
    user_id, own = syncing.user_id, syncing.folder
    taken: dict[str, str] = {}
    async with syncing.run.db.reading(user_id) as reading:
        for source_id, draft in (await sources.drafts(reading)).items():
            other = Path(draft.path)
            overlaps = other.is_relative_to(own) or own.is_relative_to(other)
            if source_id == syncing.source.source_id or not overlaps:
                continue
            for path in await sources.stored_paths(reading, source_id):
                taken[str(other / path)] = f"The file belongs to the source {source_id}."
    return taken


async def _note(syncing: _Syncing, plan: Plan) -> None:
    """Record what needs no reading: new times of change, files that cannot be stored, and records without a file."""
    source_id, user_id = syncing.source.source_id, syncing.user_id
    failed = [syncing.recorded(failure.path, error=failure.reason) for failure in plan.failures]
    for some in _groups([*failed, *plan.touched]):
        number = sum(file.error is not None for file in some)
        record = partial(_record, user_id=user_id, source_id=source_id, files=some, forgotten=())
        await syncing.commit("compare", {"failed": number}, record, done=number)
    for paths in _groups(plan.forgotten):
        record = partial(_record, user_id=user_id, source_id=source_id, files=(), forgotten=paths)
        await syncing.commit("compare", {}, record)


async def _rename(syncing: _Syncing, plan: Plan) -> None:
    """Give the documents of renamed files their new uri. A file that cannot be read is recorded as failed."""
    source = syncing.source
    async with source_files.opened(source, syncing.user_id, syncing.services) as reader:
        for old, file in plan.renamed:
            version = await source_files.rename(reader, old, file, syncing.user_id, syncing.services)
            if version.error is not None:
                await _commit_versions(syncing, "rename", [version])
                continue
            await _delete_documents(syncing, [old.path], besides=version.document_ids)
            await _commit_versions(syncing, "rename", [version], renamed=old.path)


async def _store(syncing: _Syncing, files: Sequence[FoundFile]) -> None:
    """Store new and changed files; the documents of a file that it does not contain any more are deleted."""
    waiting: list[FileVersion] = []
    committed = time.monotonic()
    async with aclosing(source_files.store(syncing.source, files, syncing.user_id, syncing.services)) as versions:
        async for version in versions:
            known = syncing.known.get(version.path)
            if version.error is None and known is not None and known.stored:
                await _delete_documents(syncing, [version.path], besides=version.document_ids)
            waiting.append(version)
            if len(waiting) >= GROUP or time.monotonic() - committed > COMMIT_S:
                await _commit_versions(syncing, "store", waiting)
                waiting, committed = [], time.monotonic()
    if waiting:
        await _commit_versions(syncing, "store", waiting)


async def _commit_versions(
    syncing: _Syncing, step: str, versions: Sequence[FileVersion], *, renamed: str | None = None
) -> None:
    """Record files as they were stored, with their documents, and count them."""
    user_id, source_id = syncing.user_id, syncing.source.source_id
    counts = dict.fromkeys(COUNTED, 0) | {
        "documents": sum(len(version.stored) for version in versions),
        "chunks": sum(version.chunks for version in versions),
        "embedded": sum(version.embedded for version in versions),
    }
    for version in versions:
        known = syncing.known.get(version.path)
        counts["renamed" if renamed else version.outcome(known)] += 1

    async def work(writing: Writing) -> None:
        paths = {document_id: version.path for version in versions for document_id in version.document_ids}
        await sources.link(writing, source_id, paths)
        files = [syncing.recorded(version.path, **version.changes()) for version in versions]
        await _record(
            writing, user_id=user_id, source_id=source_id, files=files, forgotten=[renamed] if renamed else ()
        )

    await syncing.commit(step, counts, work, done=len(versions), versions=versions)


async def _remove(syncing: _Syncing, removed: Sequence[KnownFile]) -> None:
    """Delete the documents of files that are gone."""
    for some in _groups(removed):
        paths = [file.path for file in some]
        await _delete_documents(syncing, paths, besides=())
        forget = partial(
            _record, user_id=syncing.user_id, source_id=syncing.source.source_id, files=(), forgotten=paths
        )
        await syncing.commit("remove", {"removed": len(paths)}, forget, done=len(paths))


async def _delete_documents(syncing: _Syncing, paths: Sequence[str], *, besides: Sequence[UUID]) -> None:
    kept, source_id = set(besides), syncing.source.source_id

    async def find(db: Reading, _after: SelectedDocument | None, _limit: int) -> list[SelectedDocument]:
        found = await sources.documents_of(db, source_id, paths=paths)
        return [one for one in found if one.document_id not in kept]

    async with syncing.run.db.reading(syncing.user_id) as reading:
        if not await find(reading, None, 1):
            return
    await selections.delete_found(find, syncing.user_id, db=syncing.run.db, actor=f"source:{source_id}")


async def _finish(syncing: _Syncing, plan: Plan) -> int:
    """Store the result, in the transaction that completes the job."""
    user_id, source_id = syncing.user_id, syncing.source.source_id
    counts = {name: syncing.counts.get(name, 0) for name in (*COUNTED, *STORED)}
    counts["unchanged"] += plan.unchanged
    left_out = {"skipped": plan.left_out.total, "left_out": plan.left_out.as_json()}
    result = {"source_id": str(source_id), **counts, "formats": syncing.formats, **left_out}
    async with syncing.run.db.writing(user_id) as writing:
        await writing.lock()
        await sources.finish(writing, source_id, result)
        await syncing.run.finish(writing, **result)
    return sum(counts[name] for name in ("added", "replaced", "renamed", "removed"))


KIND = JobKind("sync_source", _sync, queue="sources", kept=20)


async def _record(
    writing: Writing, *, user_id: str, source_id: UUID, files: Sequence[KnownFile], forgotten: Sequence[str]
) -> None:
    if forgotten:
        await sources.forget(writing, source_id, forgotten)
    await sources.record(writing, source_id, files)


def _counted(formats: FormatCounts, versions: Sequence[FileVersion]) -> FormatCounts:
    """The counts by format with those of further files; one that could not be opened has no format."""
    found = {name: dict(counts) for name, counts in formats.items()}
    for version in versions:
        if version.format is None:
            continue
        of_format = found.setdefault(version.format, {"files": 0, "documents": 0, "chunks": 0, "failed": 0})
        new = (1, len(version.stored), version.chunks, int(version.error is not None))
        for name, number in zip(of_format, new, strict=True):
            of_format[name] += number
    return found


def _groups(items: Iterable[Any]) -> list[list[Any]]:
    every = list(items)
    return [every[start : start + GROUP] for start in range(0, len(every), GROUP)]
