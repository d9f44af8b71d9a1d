"""Synchronises the documents of a source with the files of its folder, as a background job.

Scan, compare, move, store, remove: renamed files first get the uris of their new paths, then all files that differ are
stored, and at last the documents of files that are gone are deleted.

What has been done is recorded with each file, in the transaction that counts it, so that a job whose worker dies is
continued by another one and counts every file once. A file that cannot be read is recorded with the reason and read
again by the next job; the version that was stored before stays.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from app.concurrency import offload
from app.database import retries
from app.database.transactions import Reading, Writing
from app.documents import selections
from app.documents.files import file_reading
from app.documents.store import document_puts, staged_documents
from app.documents.store.selections import SelectedDocument
from app.jobs import store as jobs
from app.jobs.workers import JobKind, Run
from app.sources import source_ingest, source_roots, source_scan, store
from app.sources.source_ingest import FileVersion
from app.sources.source_scan import Plan
from app.sources.types import COUNTED, KnownFile, Source, SourceRoots
from app.text import uris

T = TypeVar("T")
STORED = ("documents", "chunks", "embedded")
COMMIT_S = 1.0
"""Time after which files that have been stored are recorded."""
GROUP = 50
"""Files that are recorded, moved or removed by one transaction."""


@dataclass(slots=True)
class _Syncing:
    """One attempt at a job: the source, its files as they were recorded, and what has been counted by all attempts.

    `warnings` has the paths of files that this attempt has stored, each with a warning.
    """

    run: Run
    source: Source
    known: dict[str, KnownFile]
    counts: Counter[str] = field(default_factory=Counter)
    total: int = 0
    warnings: dict[tuple[str, str], None] = field(default_factory=dict)

    @property
    def job_id(self) -> UUID:
        return self.run.job.job_id

    @property
    def source_id(self) -> UUID:
        return self.source.source_id

    @property
    def folder(self) -> Path:
        return Path(self.source.draft.path)

    def is_counted(self, version: FileVersion) -> bool:
        """Whether this job has counted a file before it was stored: when it was moved, or by an attempt that ended."""
        known = version.known
        return known is not None and known.job_id == self.job_id and known.error is None

    async def begin(self, files: int) -> None:
        """Store the number of files to process as progress, before the first file is stored. Raises ClaimLost."""
        self.total = self.counts["done"] + files
        progress = {"step": "compare", "unit": "files", **self.counts, "total": self.total}
        async with self.run.db.shared() as shared:
            await self.run.advance(shared, **progress)

    async def commit(self, step: str, counts: Mapping[str, int], work: Callable[[Writing], Awaitable[Any]]) -> None:
        """Do work and count it in one transaction, under the user's lock. Raises ClaimLost, Busy, and errors of `work`.

        `counts` has the number of files that the step has completed as `done`.
        """
        new = {name: self.counts[name] + counts.get(name, 0) for name in {*self.counts, *counts}}
        progress = {"step": step, "unit": "files", "total": self.total, **new}

        async def attempt() -> None:
            async with self.run.db.locking(self.run.user_id) as writing:
                await work(writing)
                await self.run.advance(writing, **progress)

        await retries.while_busy(attempt)
        self.counts = Counter(new)


async def _sync(run: Run) -> int:
    """Synchronise the documents with the files; returns how many files were added, replaced, renamed or removed."""
    source_id = UUID(run.job.payload["source_id"])
    async with run.db.reading(run.user_id) as reading:
        source = await store.get(reading, source_id)
        known = {file.path: file for file in await store.files(reading, source_id)}
    progress = run.job.progress
    counts = {name: progress.get(name, 0) for name in (*COUNTED, *STORED, "done")}
    syncing = _Syncing(run, source, known, Counter(counts))
    plan = await _plan(syncing)
    new = [path for path in plan.store if not syncing.is_counted(FileVersion(path, known.get(path)))]
    files = len(plan.failures) + len(plan.renamed) + len(new) + sum(file.is_stored for file in plan.removed)
    if files:
        await syncing.begin(files)
    for failures in _groups(plan.failures):
        failed = [FileVersion(one.path, known.get(one.path), error=one.reason) for one in failures]
        await _record(syncing, "compare", failed)
    for renamed in _groups(plan.renamed):
        await _move(syncing, renamed)
    await _store(syncing, sorted([*plan.store, *(path for _, path in plan.renamed)]))
    await _remove(syncing, plan.removed)
    return await _finish(syncing, plan)


async def _plan(syncing: _Syncing) -> Plan:
    """Compare the folder with the recorded files. Raises `source_unavailable`, `folder_not_allowed`."""
    draft, services, user_id = syncing.source.draft, syncing.run.services, syncing.run.user_id
    roots, had_files = services.option(SourceRoots), any(file.is_stored for file in syncing.known.values())
    check = partial(source_roots.check, syncing.folder, user_id, roots, confined=draft.confined, had_files=had_files)
    check()
    async with syncing.run.db.reading(user_id) as reading:  # files that a job had stored and not recorded when it ended
        unrecorded = set(await store.unrecorded_paths(reading, syncing.source_id))
        taken = await _find_taken(syncing, reading, unrecorded)
    pictures = file_reading.recogniser(user_id, services) is not None
    scan = partial(source_scan.scan, draft, taken=taken, known=syncing.known, pictures=pictures)
    found = await offload.run_stoppable(0, scan)
    check()
    gone = unrecorded - found.files.keys()
    known = {path: KnownFile(path, None, None, None, 0, None, syncing.job_id, 1) for path in gone} | syncing.known
    return await offload.run_stoppable(0, partial(source_scan.compare, draft, found, known, syncing.job_id))


async def _find_taken(syncing: _Syncing, reading: Reading, unrecorded: Collection[str]) -> dict[str, str]:
    """The files that the user's other sources have stored, by absolute path, with the reason why they fail here.

    A file of which this source has documents is its own: a job that was taken for dead may have stored it after all.
    """
    own, taken = syncing.folder, dict[str, str]()
    for source_id, draft in (await store.drafts(reading)).items():
        other = Path(draft.path)
        overlaps = other.is_relative_to(own) or own.is_relative_to(other)
        if source_id != syncing.source_id and overlaps:
            for path in await store.stored_paths(reading, source_id):
                taken[str(other / path)] = f"The file belongs to the source {source_id}."
    for path in (*unrecorded, *(path for path, file in syncing.known.items() if file.stored)):
        taken.pop(str(own / path), None)
    return taken


async def _move(syncing: _Syncing, renamed: Sequence[tuple[KnownFile, str]]) -> None:
    """Give the documents of renamed files the uris of their new paths, and record the files.

    A document keeps its uri if another document has the new one. It is deleted later, as a stale document.
    """
    new_paths, moved = {old.path: path for old, path in renamed}, list[KnownFile]()

    async def work(writing: Writing) -> None:
        found = await store.uris_of(writing, syncing.source_id, paths=list(new_paths))
        placed = {document_id: new_paths[path] for document_id, path, _uri in found}
        new_uris: dict[bytes, tuple[UUID, str]] = {}
        for document_id, path, uri in found:
            old, new = (uris.compose((syncing.folder / one).as_uri()) for one in (path, new_paths[path]))
            composed = uri and uris.compose(uri)
            if composed is not None and composed.startswith(old):
                new_uri = new + composed.removeprefix(old)
                new_uris[uris.identity(new_uri)] = document_id, new_uri
        taken = await document_puts.find_many(writing, identities=list(new_uris))
        await staged_documents.supersede(writing, document_ids=list(placed))
        await store.link(writing, syncing.source_id, placed)
        free = {identity: new_uris[identity] for identity in new_uris.keys() - taken.keys()}
        await store.move(writing, free)
        documents = Counter(placed[document_id] for document_id, _uri in free.values())
        moved[:] = [_moved(old, path, documents[path], syncing.job_id) for old, path in renamed]
        await store.forget_files(writing, syncing.source_id, list(new_paths))
        await store.record_files(writing, syncing.source_id, moved)

    await syncing.commit("rename", {"renamed": len(renamed), "done": len(renamed)}, work)
    syncing.known |= {file.path: file for file in moved}


def _moved(old: KnownFile, path: str, documents: int, job_id: UUID) -> KnownFile:
    """The record of a renamed file of which some documents have moved.

    It is to be stored again if its name is another one, or if not all of its documents have moved.
    """
    moved = replace(old, path=path, job_id=job_id)
    if documents == old.documents and not old.error and path.rpartition("/")[2] == old.path.rpartition("/")[2]:
        return moved
    return replace(moved, size=None, mtime_ns=None, content_hash=None, error=None)


async def _store(syncing: _Syncing, paths: Sequence[str]) -> None:
    """Store files that differ, and delete the documents that a file no longer contains."""
    waiting: list[FileVersion] = []
    recorded = time.monotonic()
    files = [FileVersion(path, syncing.known.get(path)) for path in paths]
    storing = source_ingest.store(syncing.source, files, syncing.run.user_id, syncing.run.services)
    async with aclosing(storing) as versions:
        async for version in versions:
            if version.has_stale_documents:
                await _delete_documents(syncing, [version.path], besides=version.document_ids)
            waiting.append(version)
            if len(waiting) >= GROUP or time.monotonic() - recorded > COMMIT_S:
                await _record(syncing, "store", waiting)
                waiting, recorded = [], time.monotonic()
    if waiting:
        await _record(syncing, "store", waiting)


async def _record(syncing: _Syncing, step: str, versions: Sequence[FileVersion]) -> None:
    """Record files as they were stored, with their documents, and count them."""
    new = [version for version in versions if not syncing.is_counted(version)]
    moved_and_failed = [version for version in versions if syncing.is_counted(version) and version.error]
    counts = Counter(version.outcome() for version in [*new, *moved_and_failed])
    counts["done"] = len(new)
    counts["documents"] = sum(len(version.stored) for version in versions)
    counts["chunks"] = sum(version.chunks for version in versions)
    counts["embedded"] = sum(stored.embedded for version in versions for stored in version.stored)
    warned = ((version.path, warning) for version in versions for one in version.stored for warning in one.warnings)
    syncing.warnings |= dict.fromkeys(islice(warned, MAX_FAILURES - len(syncing.warnings)))

    async def work(writing: Writing) -> None:
        paths = {document_id: version.path for version in versions for document_id in version.document_ids}
        await store.link(writing, syncing.source_id, paths)
        await store.record_files(writing, syncing.source_id, [version.record(syncing.job_id) for version in versions])

    await syncing.commit(step, counts, work)


async def _remove(syncing: _Syncing, removed: Sequence[KnownFile]) -> None:
    """Delete the documents of files that are gone."""
    for some in _groups(removed):
        paths, stored = [file.path for file in some], sum(file.is_stored for file in some)
        await _delete_documents(syncing, paths, besides=())
        forget = partial(store.forget_files, source_id=syncing.source_id, paths=paths)
        await syncing.commit("remove", {"removed": stored, "done": stored}, forget)


async def _delete_documents(syncing: _Syncing, paths: Sequence[str], *, besides: Sequence[UUID]) -> None:
    kept, source_id, run = set(besides), syncing.source_id, syncing.run

    async def find(db: Reading, _after: SelectedDocument | None, _limit: int) -> list[SelectedDocument]:
        found = await store.documents_of(db, source_id, paths=paths)
        return [one for one in found if one.document_id not in kept]

    async with run.db.reading(run.user_id) as reading:
        if not await find(reading, None, 1):
            return
    await selections.delete_found(find, run.user_id, db=run.db, actor=f"source:{source_id}")


async def _finish(syncing: _Syncing, plan: Plan) -> int:
    """Store the result, in the transaction that completes the job. Documents have raised the version already."""
    run, source_id = syncing.run, syncing.source_id
    counts = {name: syncing.counts[name] for name in (*COUNTED, *STORED)}
    counts["unchanged"] += plan.unchanged
    left_out = {"skipped": plan.left_out.total, "left_out": plan.left_out.as_json()}
    warnings = [{"path": path, "warning": warning} for path, warning in syncing.warnings]
    result = {"source_id": str(source_id), **counts, **left_out, "warnings": warnings}
    async with run.db.writing(run.user_id) as writing:
        await writing.hold()
        await store.finish(writing, source_id, result)
        if plan.removed:  # warnings quote what is left out of a file
            await jobs.forget_files(writing, run.job.kind, source_id)
        await run.finish(writing, **result)
    return sum(counts[name] for name in ("added", "replaced", "renamed", "removed"))


MAX_FAILURES = 1_000
"""Most failed files, and most warnings, that a job lists."""


async def _failures(db: Reading, job_id: UUID) -> dict[str, Any]:
    """The files that a job could not store."""
    failed = await store.failures(db, job_id=job_id, limit=MAX_FAILURES)
    return {"failures": [{"path": failure.path, "reason": failure.reason} for failure in failed]}


KIND = JobKind("sync_source", _sync, queue="sources", kept=20, details=_failures)


def _groups(items: Sequence[T]) -> list[Sequence[T]]:
    return [items[start : start + GROUP] for start in range(0, len(items), GROUP)]
