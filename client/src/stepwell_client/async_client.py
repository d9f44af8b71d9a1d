"""Sends operations to a service asynchronously and retries those that it had no room for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx

from stepwell_client import models, operations, retrying, transport
from stepwell_client.operations import File, Operation
from stepwell_client.options import (
    DocumentId,
    DocumentOptions,
    JobOptions,
    ListOptions,
    MultihopOptions,
    PageOptions,
    SearchOptions,
    SimilarOptions,
    SourceOptions,
    UploadOptions,
    WhyOptions,
)
from stepwell_client.retrying import Retries
from stepwell_client.transport import TIMEOUT_S

T = TypeVar("T")


class AsyncClient:
    """An asynchronous client; use it as a context manager, or call `aclose`.

    `url` and `api_key` default to STEPWELL_URL and STEPWELL_API_KEY. Methods raise ApiError and ConnectionFailed.
    `http` replaces the HTTP client, which is then not closed.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        retries: int = 3,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._owned = http is None
        self._http = http or httpx.AsyncClient(**transport.settings(url, api_key, timeout_s))
        self._retries = Retries(retries)
        self._seen = transport.SeenVersion()

    async def search(self, query: str, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search by vectors and by BM25."""
        return await self.run(operations.search(query, options))

    async def search_multihop(self, query: str, **options: Unpack[MultihopOptions]) -> models.Answer:
        """Search, follow names in the passages found to other documents, and merge."""
        return await self.run(operations.search_multihop(query, options))

    async def search_by_entity(self, query: str, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search the documents about the people, projects or teams of the query first."""
        return await self.run(operations.search_by_entity(query, options))

    async def why(self, query: str, **options: Unpack[WhyOptions]) -> models.Placement:
        """Where a passage stands in a search, what keeps it out of the answer, and what would bring it in."""
        return await self.run(operations.why(query, options))

    async def similar(self, chunk_id: DocumentId, **options: Unpack[SimilarOptions]) -> models.Answer:
        """Passages with a similar meaning."""
        return await self.run(operations.similar(chunk_id, options))

    async def add(self, content: str, **options: Unpack[DocumentOptions]) -> models.DocumentResult:
        """Store a document; one with the same uri is replaced."""
        return await self.run(operations.add(content, options))

    async def add_many(self, documents: Sequence[Mapping[str, Any]]) -> models.DocumentResults:
        """Store up to 500 documents, each an object with `content` and the options of `add`."""
        return await self.run(operations.add_many(documents))

    async def upload(self, files: Sequence[File], **options: Unpack[UploadOptions]) -> models.DocumentResults:
        """Store up to 100 files, each a path, or a name or relative path with its content."""
        return await self.run(await asyncio.to_thread(operations.upload, files, options))

    async def get(self, document_id: DocumentId) -> models.Document:
        """A document with its text."""
        return await self.run(operations.get(document_id))

    async def documents(self, **options: Unpack[ListOptions]) -> models.DocumentPage:
        """A page of documents, newest first."""
        return await self.run(operations.documents(options))

    async def all_documents(self) -> AsyncIterator[models.Document]:
        """All documents, newest first, read page by page."""
        cursor: str | None = None
        while True:
            page = await self.run(operations.documents({"limit": 200, "cursor": cursor}))
            for document in page.documents:
                yield document
            if (cursor := page.next_cursor) is None:
                return

    async def change(self, document_id: DocumentId, changes: Mapping[str, Any]) -> models.DocumentResult:
        """Change fields of a document by a JSON merge patch, in which None removes a value."""
        return await self.run(operations.change(document_id, changes))

    async def delete_by_uri(self, uri: str) -> dict[str, int]:
        """Delete the document with a uri; the numbers of deleted rows."""
        return await self.run(operations.delete_by_uri(uri))

    async def delete(self, document_id: DocumentId) -> dict[str, int]:
        """Delete a document; the numbers of deleted rows."""
        return await self.run(operations.delete(document_id))

    async def delete_matching(self, filters: Mapping[str, Any], *, dry_run: bool = False) -> models.DocumentsDeletion:
        """Delete the documents that pass the filters of a search; with `dry_run` they are only counted."""
        return await self.run(operations.delete_matching(filters, dry_run=dry_run))

    async def add_source(self, path: str, **options: Unpack[SourceOptions]) -> models.Source:
        """Keep the documents of a folder of the service in step with it; the job of `job_id` stores them."""
        return await self.run(operations.add_source(path, options))

    async def sources(self, **options: Unpack[PageOptions]) -> models.SourcePage:
        """A page of sources, newest first."""
        return await self.run(operations.sources(options))

    async def sync_source(self, source_id: DocumentId) -> models.QueuedSync:
        """Queue a job that compares a source's folder with what is stored."""
        return await self.run(operations.sync_source(source_id))

    async def delete_source(self, source_id: DocumentId) -> dict[str, Any]:
        """Delete a source with its documents; the numbers of deleted rows."""
        return await self.run(operations.delete_source(source_id))

    async def jobs(self, **options: Unpack[JobOptions]) -> models.JobPage:
        """A page of background jobs, newest first."""
        return await self.run(operations.jobs(options))

    async def job(self, job_id: DocumentId) -> models.Job:
        """A background job with its progress and result."""
        return await self.run(operations.job(job_id))

    async def cancel_job(self, job_id: DocumentId) -> models.Job:
        """Cancel a background job that waits or runs."""
        return await self.run(operations.cancel_job(job_id))

    async def follow_job(self, job_id: DocumentId) -> AsyncIterator[models.Job]:
        """The job now, after each change, and at its end. Raises ApiError, ConnectionFailed."""
        followed = operations.follow_job(job_id)
        try:
            async with self._http.stream(**transport.request(followed, self._seen)) as response:
                if response.is_error:
                    await response.aread()
                    transport.result(followed, response)
                async for line in response.aiter_lines():
                    if job := transport.job_of(line):
                        yield job
        except httpx.HTTPError as error:
            raise transport.failed(self._http.base_url, error) from error

    async def wait_for_job(
        self, job_id: DocumentId, *, on_progress: Callable[[models.Job], object] = lambda _job: None
    ) -> models.Job:
        """The job once it has ended: `status` is done, failed or cancelled. Raises ApiError, ConnectionFailed."""
        while True:
            async for job in self.follow_job(job_id):
                on_progress(job)
                if job.has_ended:
                    return await self.job(job_id)

    async def stats(self) -> models.Stats:
        """Numbers of what is stored."""
        return await self.run(operations.stats())

    async def tools(self) -> list[models.ToolDefinition]:
        """The tools that the key may call."""
        return await self.run(operations.tools())

    async def tool_definitions(self, format: str = "openai") -> list[dict[str, Any]]:
        """The tools for `openai`, `openai-responses`, `anthropic`, `gemini` or `mcp`."""
        return await self.run(operations.definitions(format))

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool with the arguments that a model chose."""
        return await self.run(operations.call_tool(name, arguments))

    async def run(self, operation: Operation[T]) -> T:
        """Send an operation, and repeat it while the service has no room. Raises ApiError, ConnectionFailed."""
        try:
            response = await self._send(operation)
            for otherwise in self._retries.waits():
                wait_s = retrying.wait_after(response, otherwise)
                if wait_s is None:
                    break
                await asyncio.sleep(wait_s)
                response = await self._send(operation)
        except httpx.HTTPError as error:
            raise transport.failed(self._http.base_url, error) from error
        return transport.result(operation, response)

    async def _send(self, operation: Operation[Any]) -> httpx.Response:
        return self._seen.note(await self._http.request(**transport.request(operation, self._seen)))

    async def aclose(self) -> None:
        """Close the connections."""
        if self._owned:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
