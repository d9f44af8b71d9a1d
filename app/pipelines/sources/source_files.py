"""Stores the files of a source as documents, each in the version that was read, and renames stored ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from app import errors
from app.pipelines.documents import (
    batches,
    document_changes,
    document_drafts,
    file_reading,
    ingest,
    large_documents,
    picture_lines,
)
from app.pipelines.documents.batches import IngestOutcome
from app.pipelines.documents.file_reading import FileReader, NamedFile
from app.pipelines.running import stage_times
from app.pipelines.running.services import Services
from app.pipelines.sources import source_roots, source_scan
from app.pipelines.sources.source_scan import FoundFile
from app.shapes import IngestResult, KnownFile, Source, SourcePath, Upload
from app.store.documents import documents


@dataclass(slots=True)
class FileVersion:
    """A file as it was read, and what was stored of it. `error` is set if not all of it could be stored."""

    path: str
    size: int | None = None
    mtime_ns: int | None = None
    content_hash: bytes | None = None
    error: str | None = None
    format: str | None = None
    refused: int = 0
    expected: int = 0
    is_read: bool = False
    stored: list[IngestResult] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether the outcome of each of its documents is known."""
        return self.is_read and len(self.stored) + self.refused == self.expected

    @property
    def document_ids(self) -> list[UUID]:
        """Its documents."""
        return [stored.document_id for stored in self.stored]

    @property
    def chunks(self) -> int:
        """The number of chunks of its documents."""
        return sum(stored.chunk_count for stored in self.stored)

    @property
    def embedded(self) -> int:
        """The number of chunks that were embedded for it."""
        return sum(stored.embedded for stored in self.stored)

    def source_path(self, source_id: UUID) -> SourcePath:
        """The file as the origin of its documents."""
        return SourcePath(source_id, self.path)

    def outcome(self, known: KnownFile | None) -> str:
        """Whether the file was added, replaced or is unchanged, or has failed."""
        if self.error is not None:
            return "failed"
        if known is None or (known.content_hash is None and not known.stored):
            return "added"
        same = known.stored == len(self.stored) and all(stored.status == "unchanged" for stored in self.stored)
        return "unchanged" if same and known.content_hash in (None, self.content_hash) else "replaced"

    def changes(self) -> dict[str, Any]:
        """What is recorded of it; after a failure the stored version stays the one that was recorded."""
        if self.error is not None:
            return {"error": self.error} | ({"documents": len(self.stored)} if self.stored else {})
        version = {"size": self.size, "mtime_ns": self.mtime_ns, "content_hash": self.content_hash}
        return {**version, "documents": len(self.stored), "error": None}

    def refuse(self, reason: str) -> None:
        """Note why one of its documents cannot be stored; the first reason counts."""
        self.refused += 1
        self.error = self.error or reason


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads the files of a source."""

    source: Source
    reader: FileReader

    async def uploads(self, version: FileVersion) -> AsyncGenerator[Upload, None]:
        """The documents of a file, which `version` is completed with. Raises nothing: errors are noted in it."""
        try:
            folder = Path(self.source.draft.path)
            with stage_times.stage("parsing"):
                raw, state = await asyncio.to_thread(source_roots.read, folder, version.path)
            version.size, version.mtime_ns = len(raw), source_scan.recorded_mtime(state)
            version.content_hash = await asyncio.to_thread(source_scan.content_hash, raw)
            name = version.path.rpartition("/")[2]
            version.format = file_reading.format_name(raw[: file_reading.HEAD], name)
            uri, text_field = (folder / version.path).as_uri(), self.source.draft.text_field
            file = NamedFile(raw, name, uri=uri, text_field=text_field)
            async with aclosing(stage_times.waiting("parsing", self.reader.uploads(file))) as found:
                async for one in found:
                    if isinstance(one, Upload):
                        version.expected += 1
                        yield replace(one, source=version.source_path(self.source.source_id))
                    elif one.left_out is None:
                        version.error = version.error or f"{one.path}: {one.error.message}"
        except OSError as error:
            version.error = f"{error.strerror}."
        except errors.UnreadableFile as error:
            # A picture without text, such as a photo, is left out as it is in `stepwell ingest`.
            if not file_reading.is_blank_picture(raw[: file_reading.HEAD], name, error):
                version.error = error.message
        except errors.BadRequest as error:
            version.error = error.message
        finally:
            version.is_read = True


@asynccontextmanager
async def opened(source: Source, user_id: str, services: Services) -> AsyncIterator[SourceReader]:
    """A reader of the files of a user's source; its process ends with the block."""
    recognise = picture_lines.recogniser(user_id, services)
    async with file_reading.opened(services.parse_limits, recognise=recognise) as reader:
        yield SourceReader(source, reader)


async def store(
    source: Source, files: Sequence[FoundFile], user_id: str, services: Services
) -> AsyncGenerator[FileVersion, None]:
    """Store files, and yield each once all of its documents are stored or refused.

    Raises what `batches.store` raises for all documents; what was yielded is stored.
    """
    versions: dict[str, FileVersion] = {}
    async with opened(source, user_id, services) as reader:
        async with (
            aclosing(_uploads(reader, files, versions)) as uploads,
            aclosing(batches.store(uploads, user_id, services, ingest.IN_JOB)) as outcomes,
        ):
            async for outcome in outcomes:
                _take(versions, outcome)
                for version in _pop_complete(versions):
                    await _settle(version, user_id, services)
                    yield version
        for version in _pop_complete(versions):
            await _settle(version, user_id, services)
            yield version


async def rename(
    reader: SourceReader, old: KnownFile, file: FoundFile, user_id: str, services: Services
) -> FileVersion:
    """Give the documents of a file the uris of its new path; ids and the vectors of chunks that stay are kept."""
    version = FileVersion(file.path)
    async with aclosing(reader.uploads(version)) as uploads:
        async for upload in uploads:
            try:
                version.stored.append(await _move(reader, old, upload, user_id, services))
            except (errors.BadRequest, errors.NotFound, errors.Conflict) as error:
                version.refuse(error.message)
    await _settle(version, user_id, services)
    return version


async def _move(reader: SourceReader, old: KnownFile, upload: Upload, user_id: str, services: Services) -> IngestResult:
    """Store the document of a renamed file as a version of the one that it was, if that is still stored."""
    assert upload.source is not None
    folder = Path(reader.source.draft.path)
    old_uri, new_uri = ((folder / path).as_uri() for path in (old.path, upload.source.path))
    identity = document_drafts.uri_identity(old_uri + (upload.uri or "").removeprefix(new_uri))
    async with services.db.reading(user_id) as reading:
        known = await documents.find(reading, identity=identity)
        taken = await documents.find(reading, identity=document_drafts.uri_identity(upload.uri or ""))
    if known is None or taken is not None:
        return await ingest.run(upload, user_id, services, ingest.IN_JOB)
    return await document_changes.move(known.document_id, upload, user_id, services)


async def _uploads(
    reader: SourceReader, files: Sequence[FoundFile], versions: dict[str, FileVersion]
) -> AsyncGenerator[Upload, None]:
    for file in files:
        versions[file.path] = version = FileVersion(file.path)
        async with aclosing(reader.uploads(version)) as uploads:
            async for upload in uploads:
                yield upload


def _take(versions: dict[str, FileVersion], outcome: IngestOutcome) -> None:
    """Note the outcome of a document in the version of its file."""
    assert outcome.upload.source is not None
    version = versions[outcome.upload.source.path]
    if outcome.stored is not None:
        version.stored.append(outcome.stored)
    else:
        version.refuse(outcome.error.message if outcome.error else "")


def _pop_complete(versions: dict[str, FileVersion]) -> list[FileVersion]:
    complete = [version for version in versions.values() if version.is_complete]
    for version in complete:
        del versions[version.path]
    return complete


async def _settle(version: FileVersion, user_id: str, services: Services) -> None:
    """Wait for the jobs that store large documents of a file."""
    for place, stored in enumerate(version.stored):
        if stored.job_id is not None:
            try:
                version.stored[place] = await large_documents.settle(stored, user_id, services)
            except (errors.BadRequest, errors.NotFound, errors.Conflict) as error:
                version.error = version.error or error.message
