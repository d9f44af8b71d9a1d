"""Stores the files of a source as documents, each in the version that was read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from app import errors
from app.documents.files import file_reading
from app.documents.files.file_reading import FileReader, NamedFile
from app.documents.storing import ingest, large_documents
from app.documents.types import IngestResult, SourcePath, Upload
from app.services import Services
from app.sources import source_roots, source_scan
from app.sources.types import KnownFile, Source


@dataclass(slots=True)
class FileVersion:
    """A file as it was read, and what was stored of it. `error` is set if not all of it could be stored.

    `known` is the file as it was recorded before, `is_same` whether it still has the content that is stored.
    """

    path: str
    known: KnownFile | None = None
    error: str | None = None
    size: int | None = None
    mtime_ns: int | None = None
    content_hash: bytes | None = None
    refused: int = 0
    expected: int = 0
    is_read: bool = False
    is_same: bool = False
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
    def has_stale_documents(self) -> bool:
        """Whether the file may have stored documents that it no longer contains."""
        return self.error is None and not self.is_same and self.known is not None and self.known.stored > 0

    def outcome(self) -> str:
        """Whether the file was added, replaced or is unchanged, or has failed."""
        if self.error is not None:
            return "failed"
        if self.known is None or not self.known.is_stored:
            return "added"
        same = self.known.stored == len(self.stored) and all(one.status == "unchanged" for one in self.stored)
        return (
            "unchanged"
            if self.is_same or (same and self.known.content_hash in (None, self.content_hash))
            else "replaced"
        )

    def record(self, job_id: UUID) -> KnownFile:
        """What a job records of it. After a failure the recorded version stays, with the error."""
        before = replace(self.known or KnownFile(self.path, None, None, None, 0, None, job_id), job_id=job_id)
        if self.error is not None:
            return replace(before, error=self.error, documents=len(self.stored) or before.documents)
        documents = before.documents if self.is_same else len(self.stored)
        return KnownFile(self.path, self.size, self.mtime_ns, self.content_hash, documents, None, job_id)


async def store(
    source: Source, files: Iterable[FileVersion], user_id: str, services: Services
) -> AsyncGenerator[FileVersion, None]:
    """Store files, and yield each once all of its documents are stored or refused.

    Raises what `ingest.store` raises for all documents; what was yielded is stored.
    """
    reading: dict[str, FileVersion] = {}
    recognise = file_reading.recogniser(user_id, services)
    async with (
        file_reading.opened(services.parse_limits, recognise=recognise) as reader,
        aclosing(_uploads(source, files, reader, reading)) as uploads,
        aclosing(ingest.store(uploads, user_id, services, ingest.IN_JOB)) as outcomes,
    ):
        async for outcome in outcomes:
            assert outcome.upload.source is not None
            version = reading[outcome.upload.source.path]
            if outcome.stored is not None:
                version.stored.append(outcome.stored)
            elif outcome.error is not None:  # the first reason counts
                version.refused += 1
                version.error = version.error or outcome.error.message
            for version in _pop_complete(reading):
                yield await _settle(version, user_id, services)
    for version in _pop_complete(reading):
        yield await _settle(version, user_id, services)


async def _uploads(
    source: Source, files: Iterable[FileVersion], reader: FileReader, reading: dict[str, FileVersion]
) -> AsyncGenerator[Upload, None]:
    """The documents of all files. Each file is added to `reading` before it is read."""
    for version in files:
        reading[version.path] = version
        async with aclosing(_uploads_of(source, version, reader)) as uploads:
            async for upload in uploads:
                yield upload


async def _uploads_of(source: Source, version: FileVersion, reader: FileReader) -> AsyncGenerator[Upload, None]:
    """The documents of a file. Completes `version` and notes errors in it instead of raising them."""
    folder, name = Path(source.draft.path), version.path.rpartition("/")[2]
    try:
        raw, state = await asyncio.to_thread(source_roots.read, folder, version.path)
        version.size, version.mtime_ns = len(raw), source_scan.recorded_mtime(state)
        version.content_hash = await asyncio.to_thread(source_scan.content_hash, raw)
        if version.known is not None and version.known.has(version.content_hash):
            version.is_same = True
            return
        file = NamedFile(raw, name, uri=(folder / version.path).as_uri(), text_field=source.draft.text_field)
        async with aclosing(reader.uploads(file)) as found:
            async for one in found:
                if isinstance(one, Upload):
                    version.expected += 1
                    yield replace(one, source=SourcePath(source.source_id, version.path))
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


def _pop_complete(reading: dict[str, FileVersion]) -> list[FileVersion]:
    complete = [version for version in reading.values() if version.is_complete]
    for version in complete:
        del reading[version.path]
    return complete


async def _settle(version: FileVersion, user_id: str, services: Services) -> FileVersion:
    """A file, once the jobs that store its large documents have ended."""
    for place, stored in enumerate(version.stored):
        if stored.job_id is not None:
            try:
                version.stored[place] = await large_documents.settle(stored, user_id, services)
            except (errors.BadRequest, errors.NotFound, errors.Conflict) as error:
                version.error = version.error or error.message
    return version
