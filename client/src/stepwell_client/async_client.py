"""Sends operations to a service asynchronously and retries those that it had no room for."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx

from stepwell_client import batches, models, operations, retrying, transport, waiting
from stepwell_client.errors import ApiError, JobTimeout, StepwellError
from stepwell_client.loops import LoopClient
from stepwell_client.operations import Operation
from stepwell_client.options import (
    ChunkOptions,
    DocumentId,
    DocumentOptions,
    EntityListOptions,
    EntityOptions,
    EntitySearchOptions,
    FacetOptions,
    JobOptions,
    ListOptions,
    PageFields,
    PageOptions,
    Passage,
    RerankOptions,
    SearchOptions,
    SimilarOptions,
    SourceOptions,
    UploadOptions,
    WhyOptions,
)
from stepwell_client.retrying import Retries
from stepwell_client.transport import TIMEOUT_S
from stepwell_client.uploading import File, Progress

T = TypeVar("T")


class AsyncClient:
    """An asynchronous client; use it as a context manager, or call `aclose`. It may be used in several event loops.

    `url` and `api_key` default to STEPWELL_URL and STEPWELL_API_KEY. Methods raise ApiError and ConnectionFailed.
    `http` replaces the HTTP client, which is then not closed; its base URL and headers are used where `url` and
    `api_key` are not given.
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
        self._target = transport.Target.of(url, api_key, timeout_s, http)
        self._http = http or LoopClient()
        self._retries = Retries(retries)
        self._seen = transport.SeenVersion()

    def with_options(self, *, timeout_s: float | None = None, retries: int | None = None) -> Self:
        """The same client with other limits, as in `client.with_options(timeout_s=5).search(…)`; it is not closed."""
        view = copy.copy(self)
        view._owned = False
        if timeout_s is not None:
            view._target = replace(self._target, timeout_s=timeout_s)
        if retries is not None:
            view._retries = Retries(retries)
        return view

    async def search(self, query: str | None = None, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search by vectors and by BM25; with `vector` the query may be left out."""
        return await self.run(operations.search(query, options))

    async def search_multihop(self, query: str, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search, follow names in the passages found to other documents, and merge."""
        return await self.run(operations.search_multihop(query, options))

    async def search_by_entity(self, query: str, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search the documents about the people, projects or teams of the query first."""
        return await self.run(operations.search_by_entity(query, options))

    async def why(self, query: str, **options: Unpack[WhyOptions]) -> models.Placement:
        """Where a passage stands in a search, what keeps it out of the answer, and what would bring it in."""
        return await self.run(operations.why(query, options))

    async def similar(self, chunk_id: DocumentId | None = None, **options: Unpack[SimilarOptions]) -> models.Answer:
        """Passages with a meaning similar to that of a passage, or near to a `vector`."""
        return await self.run(operations.similar(chunk_id, options))

    async def add(self, content: str, **options: Unpack[DocumentOptions]) -> models.DocumentResult:
        """Store a document; one with the same uri is replaced."""
        return await self.run(operations.add(content, options))

    async def add_page(self, url: str, **options: Unpack[PageFields]) -> models.DocumentResults:
        """Store the documents of a page or file that the service fetches, if its settings allow the host."""
        return await self.run(operations.add_page(url, options))

    async def add_many(
        self,
        documents: Iterable[Mapping[str, Any]],
        *,
        batch_size: int = batches.SIZE,
        on_progress: Callable[[int], object] = lambda _done: None,
    ) -> models.DocumentResults:
        """Store any number of documents, each an object with `content` and the options of `add`.

        They are sent in batches of at most `batch_size` documents and 1 MB; `on_progress` is called with the number of
        documents that were stored or refused. `failed` has those that were refused, with their indexes among all. An
        error of the service or the connection has `results`: what was done before.
        """
        batched = batches.Batches(documents, batch_size)
        try:
            for body in batched.bodies():
                try:
                    batched.stored(await self.run(operations.add_many(body)))
                except ApiError as error:
                    batched.refused(error)
                on_progress(batched.done)
        except StepwellError as error:
            error.results = batched.results
            raise
        return batched.results

    async def upload(
        self,
        files: Sequence[File],
        *,
        on_progress: Progress = lambda _sent, _total: None,
        **options: Unpack[UploadOptions],
    ) -> models.DocumentResults:
        """Store up to 100 files, each a path, or a name or relative path with its content.

        Files are read while they are sent; `on_progress` gets the bytes that were sent, and those of all files.
        """
        return await self.run(operations.upload(files, options, on_progress))

    async def get(self, document_id: DocumentId) -> models.Document:
        """A document with its text."""
        return await self.run(operations.get(document_id))

    async def documents(
        self, *, filters: Mapping[str, Any] | None = None, **options: Unpack[ListOptions]
    ) -> models.DocumentPage:
        """A page of documents, newest first."""
        return await self.run(operations.documents(filters, options))

    async def all_documents(
        self, *, filters: Mapping[str, Any] | None = None, **options: Unpack[ListOptions]
    ) -> AsyncIterator[models.Document]:
        """All documents, or those of the options, newest first, read page by page."""
        given: ListOptions = {"limit": 200, **options}
        while True:
            page = await self.run(operations.documents(filters, given))
            for one in page.documents:
                yield one
            if page.next_cursor is None:
                return
            given["cursor"] = page.next_cursor

    async def replace(
        self, document_id: DocumentId, content: str, **options: Unpack[DocumentOptions]
    ) -> models.DocumentResult:
        """Replace a document; what is not given is removed."""
        return await self.run(operations.replace(document_id, content, options))

    async def chunks(self, document_id: DocumentId, **options: Unpack[ChunkOptions]) -> models.ChunkPage:
        """A page of a document's chunks, in order."""
        return await self.run(operations.chunks(document_id, options))

    async def reindex(
        self, filters: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> models.DocumentsReindex:
        """Cut the documents that pass filters again, or all; with `dry_run` they are only counted."""
        return await self.run(operations.reindex(filters, dry_run=dry_run))

    async def facets(
        self, *, filters: Mapping[str, Any] | None = None, **options: Unpack[FacetOptions]
    ) -> models.Facets:
        """The keys of metadata with types, values and numbers of documents."""
        return await self.run(operations.facets(filters, options))

    async def entities(self, **options: Unpack[EntityListOptions]) -> models.EntityPage:
        """A page of entities, by name."""
        return await self.run(operations.entities(options))

    async def all_entities(self, **options: Unpack[EntityListOptions]) -> AsyncIterator[models.Entity]:
        """All entities, or those of the options, by name, read page by page."""
        given: EntityListOptions = {"limit": 200, **options}
        while True:
            page = await self.run(operations.entities(given))
            for one in page.entities:
                yield one
            if page.next_cursor is None:
                return
            given["cursor"] = page.next_cursor

    async def add_entity(self, type: str, name: str, **options: Unpack[EntityOptions]) -> models.Entity:
        """Describe a person, project or thing. A namesake of the same type needs an `entity_id` of its own."""
        return await self.run(operations.add_entity(type, name, options))

    async def upsert_entities(self, entities: Iterable[Mapping[str, Any]]) -> models.EntityUpserts:
        """Add or change many entities, each an object with `type`, `name` and the options of `add_entity`."""
        return await self.run(operations.upsert_entities(entities))

    async def search_entities(self, query: str, **options: Unpack[EntitySearchOptions]) -> models.EntityAnswer:
        """Entities that a text names or describes, best first."""
        return await self.run(operations.search_entities(query, options))

    async def entity(self, entity_id: DocumentId) -> models.Entity:
        """An entity."""
        return await self.run(operations.entity(entity_id))

    async def change_entity(self, entity_id: DocumentId, changes: Mapping[str, Any]) -> models.Entity:
        """Change fields of an entity by a JSON merge patch, in which None removes a value."""
        return await self.run(operations.change_entity(entity_id, changes))

    async def merge_entities(self, entity_id: DocumentId, entity_ids: Iterable[DocumentId]) -> models.Entity:
        """Let an entity take over the names, facts, members and teams of others, which are deleted."""
        return await self.run(operations.merge_entities(entity_id, entity_ids))

    async def delete_entity(self, entity_id: DocumentId) -> models.EntityDeletion:
        """Delete an entity; the numbers of deleted rows."""
        return await self.run(operations.delete_entity(entity_id))

    async def entity_documents(
        self, entity_id: DocumentId, **options: Unpack[PageOptions]
    ) -> models.LinkedDocumentPage:
        """A page of the documents that are linked to an entity."""
        return await self.run(operations.entity_documents(entity_id, options))

    async def give_feedback(self, query: str, helpful: bool | None, **passage: Unpack[Passage]) -> models.Judgement:
        """Say whether a passage helped to answer a query; None takes it back."""
        return await self.run(operations.give_feedback(query, helpful, passage))

    async def rerank(self, lists: Sequence[Mapping[str, Any]], **options: Unpack[RerankOptions]) -> models.MergedAnswer:
        """Merge lists of hits into one order."""
        return await self.run(operations.rerank(lists, options))

    async def change(self, document_id: DocumentId, changes: Mapping[str, Any]) -> models.DocumentResult:
        """Change fields of a document by a JSON merge patch, in which None removes a value."""
        return await self.run(operations.change(document_id, changes))

    async def delete_by_uri(self, uri: str) -> models.DocumentDeletion:
        """Delete the document with a uri; the numbers of deleted rows."""
        return await self.run(operations.delete_by_uri(uri))

    async def delete(self, document_id: DocumentId) -> models.DocumentDeletion:
        """Delete a document; the numbers of deleted rows."""
        return await self.run(operations.delete(document_id))

    async def delete_matching(self, filters: Mapping[str, Any], *, dry_run: bool = False) -> models.DocumentsDeletion:
        """Delete the documents that pass the filters of a search; with `dry_run` they are only counted."""
        return await self.run(operations.delete_matching(filters, dry_run=dry_run))

    async def add_source(self, path: str, **options: Unpack[SourceOptions]) -> models.AddedSource:
        """Keep the documents of a folder of the service in step with it; the job of `job_id` stores them."""
        return await self.run(operations.add_source(path, options))

    async def sources(self, **options: Unpack[PageOptions]) -> models.SourcePage:
        """A page of sources, newest first."""
        return await self.run(operations.sources(options))

    async def all_sources(self) -> AsyncIterator[models.Source]:
        """All sources, newest first, read page by page."""
        given: PageOptions = {"limit": 200}
        while True:
            page = await self.run(operations.sources(given))
            for one in page.sources:
                yield one
            if page.next_cursor is None:
                return
            given["cursor"] = page.next_cursor

    async def source(self, source_id: DocumentId) -> models.Source:
        """A source, by its id or name."""
        return await self.run(operations.source(source_id))

    async def change_source(self, source_id: DocumentId, changes: Mapping[str, Any]) -> models.Source:
        """Change a source, as in `{"watch": True}`."""
        return await self.run(operations.change_source(source_id, changes))

    async def sync_source(self, source_id: DocumentId) -> models.QueuedSync:
        """Queue a job that compares a source's folder with what is stored."""
        return await self.run(operations.sync_source(source_id))

    async def delete_source(self, source_id: DocumentId) -> models.SourceDeletion:
        """Delete a source with its documents; the numbers of deleted rows."""
        return await self.run(operations.delete_source(source_id))

    async def jobs(self, **options: Unpack[JobOptions]) -> models.JobPage:
        """A page of background jobs, newest first."""
        return await self.run(operations.jobs(options))

    async def all_jobs(self, **options: Unpack[JobOptions]) -> AsyncIterator[models.Job]:
        """All background jobs, or those with a status, newest first, read page by page."""
        given: JobOptions = {"limit": 200, **options}
        while True:
            page = await self.run(operations.jobs(given))
            for one in page.jobs:
                yield one
            if page.next_cursor is None:
                return
            given["cursor"] = page.next_cursor

    async def job(self, job_id: DocumentId) -> models.Job:
        """A background job with its progress and result."""
        return await self.run(operations.job(job_id))

    async def cancel_job(self, job_id: DocumentId) -> models.Job:
        """Cancel a background job that waits or runs; one that has ended stays as it is."""
        return await self.run(operations.cancel_job(job_id))

    async def follow_job(self, job_id: DocumentId) -> AsyncIterator[models.Job]:
        """The job now, after each change, and at its end. Raises ApiError, ConnectionFailed."""
        followed = operations.follow_job(job_id)
        try:
            async with self._http.stream(**transport.request(followed, self._seen, self._target)) as response:
                if not transport.is_stream(response):
                    await response.aread()
                    raise transport.refusal(response)
                async for line in response.aiter_lines():
                    if job := transport.job_of(line):
                        yield job
        except httpx.HTTPError as error:
            raise transport.failed(self._target, error) from error

    async def wait_for_job(
        self,
        job_id: DocumentId,
        *,
        timeout_s: float | None = None,
        on_progress: Callable[[models.Job], object] = lambda _job: None,
    ) -> models.Job:
        """The job once it has ended: `status` is done, failed or cancelled.

        Raises ApiError, ConnectionFailed, and JobTimeout if it has not ended after `timeout_s` seconds.
        """
        last: models.Job | None = None
        for pause_s in waiting.pauses(timeout_s):
            job = await self.job(job_id)
            if job != last:
                on_progress(job)
            if job.has_ended:
                return job
            last = job
            await asyncio.sleep(pause_s)
        raise JobTimeout(f"The job {job_id} had not ended after {timeout_s} seconds.")

    async def synonyms(self) -> models.Synonyms:
        """The groups of words and phrases that are searched for one another."""
        return await self.run(operations.synonyms())

    async def set_synonyms(self, groups: Sequence[Sequence[str] | Mapping[str, Any]]) -> models.SynonymCounts:
        """Replace all groups: each is a list of terms, or has `terms` and `expand_to`."""
        return await self.run(operations.set_synonyms(groups))

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

    async def tools_openapi(self) -> dict[str, Any]:
        """The tools as an OpenAPI document with one operation each."""
        return await self.run(operations.tools_openapi())

    async def health(self) -> models.Health:
        """Whether the process answers."""
        return await self.run(operations.health())

    async def ready(self) -> models.Readiness:
        """Whether searches can be served."""
        return await self.run(operations.ready())

    async def run(self, operation: Operation[T]) -> T:
        """Send an operation, and repeat it as `retrying` says. Raises ApiError, ConnectionFailed."""
        outcome = await self._send(operation)
        for otherwise in self._retries.waits():
            wait_s = retrying.wait_after(outcome, otherwise, repeatable=operation.may_be_repeated)
            if wait_s is None:
                break
            await asyncio.sleep(wait_s)
            outcome = await self._send(operation)
        if isinstance(outcome, httpx.HTTPError):
            raise transport.failed(self._target, outcome) from outcome
        return transport.result(operation, outcome)

    async def _send(self, operation: Operation[Any]) -> retrying.Outcome:
        try:
            response = await self._http.request(**transport.request(operation, self._seen, self._target))
        except httpx.HTTPError as error:
            return error
        return self._seen.note(response)

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
