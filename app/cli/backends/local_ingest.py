"""Stores files with the services that a command has opened, and shows the progress."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path, PurePosixPath

from app import errors
from app.cli.backends import extraction, ingest_progress
from app.cli.backends.ingest_progress import Chunks, CountingEmbedder
from app.cli.backends.ingesting import Files, Summary
from app.config import Settings
from app.pipelines.documents import batches, file_reading, picture_lines, web_pages
from app.pipelines.documents.file_reading import FileReader, NamedFile, ParseLimits, Recognise, UnreadMember
from app.pipelines.documents.web_pages import FetchedPage
from app.pipelines.running import stage_times
from app.pipelines.running.services import Services
from app.pipelines.running.stage_times import StageTimes
from app.pipelines.sources import source_roots
from app.runtime import models
from app.shapes import ANY_HOST, Upload, uris

LOCAL = frozenset({"minilm", "onnx"})
"""Embedders that run on this machine."""


async def seconds_per_chunk(texts: Sequence[str], settings: Settings) -> float | None:
    """Times a local model with texts; None for a provider, whose calls cost money. Raises ProviderError."""
    if settings.embedder not in LOCAL:
        return None
    async with models.open_embedder(settings) as embedder:
        await embedder.embed_documents(texts[:1])  # the first call prepares the model
        began = time.perf_counter()
        await embedder.embed_documents(texts)
        return (time.perf_counter() - began) / len(texts)


async def read(
    files: Files, summary: Summary, limits: ParseLimits, recognise: Recognise | None = None
) -> AsyncGenerator[Upload, None]:
    """Yields the documents of the files; records files that cannot be read as failed."""
    async with file_reading.opened(limits, recognise=recognise) as reader:
        for file in files.listed:
            path = file.path
            try:
                async with aclosing(_uploads(path, files.text_field, reader)) as uploads:
                    async for found in uploads:
                        if isinstance(found, Upload):
                            yield found
                        else:
                            _leave_out(path, found, summary)
            except OSError as error:
                summary.unreadable(path, error)
            except errors.UnreadableFile as error:
                summary.refuse_file(file, error)
            except errors.BadRequest as error:
                summary.fail(path, error.message)


async def _uploads(
    path: Path, text_field: str | None, reader: FileReader
) -> AsyncGenerator[Upload | UnreadMember, None]:
    """The documents of a file, and the files of an archive that cannot be read. Raises OSError and BadRequest."""
    with stage_times.stage("parsing"):
        file = _named(path, text_field)
    async with aclosing(stage_times.waiting("parsing", reader.uploads(file))) as uploads:
        async for upload in uploads:
            yield upload


def _named(path: Path, text_field: str | None) -> NamedFile:
    """A file with its content. Raises OSError, and BadRequest for one that is too large."""
    if path.stat().st_size > source_roots.LARGEST_FILE:
        raise errors.BadRequest(f"Larger than {source_roots.LARGEST_FILE // 1_000_000} MB.")
    return NamedFile(path.read_bytes(), path.name, uri=path.resolve().as_uri(), text_field=text_field)


async def run(files: Files, summary: Summary, user_id: str, services: Services) -> None:
    """Stores files, and finishes the jobs that this queues."""
    recognise = picture_lines.recogniser(user_id, services)
    async with aclosing(read(files, summary, services.parse_limits, recognise)) as uploads:
        await store(uploads, files.text_bytes, summary, user_id, services)
    await store_pages(files, summary, user_id, services)
    await extraction.finish(user_id, services)


async def store(
    uploads: Iterable[Upload] | AsyncIterable[Upload],
    total_bytes: int,
    summary: Summary,
    user_id: str,
    services: Services,
) -> None:
    """Stores uploads of `total_bytes` and shows the progress, with rates, the busiest stage and the time left."""
    began, times = time.monotonic(), StageTimes()
    with ingest_progress.bar() as bar, stage_times.measuring(times):
        progress = Chunks(bar, total_bytes, times)
        embedder = CountingEmbedder(services.embedder, progress.embedded)
        async for outcome in batches.store(uploads, user_id, replace(services, embedder=embedder)):
            if outcome.stored is not None:
                summary.store(_path(outcome.upload), outcome.stored.status, outcome.stored.chunk_count)
                progress.stored(outcome.upload, outcome.stored)
            elif outcome.error is not None:
                summary.refuse(_path(outcome.upload), outcome.error.message)
        progress.finish()
    summary.seconds, summary.stages = (
        time.monotonic() - began,
        {str(stage): spent for stage, spent in times.seconds.items()},
    )


async def store_pages(files: Files, summary: Summary, user_id: str, services: Services) -> None:
    """Fetches and stores one page after the other; records those that fail."""
    for address in files.addresses:
        await _store_page(address, files.text_field, summary, user_id, services)


async def _store_page(address: str, text_field: str | None, summary: Summary, user_id: str, services: Services) -> None:
    """Fetches and stores a page; records one that fails."""
    try:
        fetched = await web_pages.fetch(address, {"text_field": text_field}, user_id, services, allowed=ANY_HOST)
        if isinstance(fetched, FetchedPage):
            await _store_fetched(fetched, text_field, summary, user_id, services)
        else:
            summary.store(fetched.uri or address, fetched.status, fetched.chunk_count)
    except (errors.BadRequest, errors.ProviderError) as error:
        summary.fail(address, error.message)


async def _store_fetched(
    page: FetchedPage, text_field: str | None, summary: Summary, user_id: str, services: Services
) -> None:
    """Stores the documents of a page. Raises BadRequest."""
    summary.note_page(page.uri, len(page.raw), file_reading.format_name(page.raw[: file_reading.HEAD], page.name))
    file = NamedFile(page.raw, page.name, uri=page.uri, text_field=text_field)
    async with aclosing(_page_uploads(file, summary, user_id, services)) as uploads:
        async for outcome in batches.store(uploads, user_id, services):
            if outcome.stored is not None:
                summary.store(_path(outcome.upload), outcome.stored.status, outcome.stored.chunk_count)
                await web_pages.note(page, outcome.stored, user_id, services)
            elif outcome.error is not None:
                summary.refuse(_path(outcome.upload), outcome.error.message)


async def _page_uploads(
    file: NamedFile, summary: Summary, user_id: str, services: Services
) -> AsyncGenerator[Upload, None]:
    recognise = picture_lines.recogniser(user_id, services)
    opened = file_reading.opened(services.parse_limits, recognise=recognise)
    async with opened as reader, aclosing(reader.uploads(file)) as found:
        async for one in found:
            if isinstance(one, UnreadMember):
                _leave_out(file.uri or file.name, one, summary)
            else:
                yield one


def _leave_out(archive: Path | str, member: UnreadMember, summary: Summary) -> None:
    """Records a file of an archive that cannot be read, as a file of a folder is recorded."""
    if member.left_out is not None:
        summary.left_out.add(member.left_out, f"{PurePosixPath(archive).name}/{member.path}")
    else:
        summary.fail(f"{archive}/{member.path}", member.error.message)


def _path(upload: Upload) -> str:
    return uris.shown((upload.uri or "").partition("#")[0])
