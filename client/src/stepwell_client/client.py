"""Sends operations to a service and retries those that it had no room for."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx

from stepwell_client import batches, models, operations, retrying, transport, waiting
from stepwell_client.errors import ApiError, JobTimeout, StepwellError
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


class Client:
    """A synchronous client; use it as a context manager, or call `close`. It may be shared by threads.

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
        http: httpx.Client | None = None,
    ) -> None:
        self._owned = http is None
        self._target = transport.Target.of(url, api_key, timeout_s, http)
        self._http = http or httpx.Client()
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

    def search(self, query: str | None = None, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search by vectors and by BM25; with `vector` the query may be left out."""
        return self.run(operations.search(query, options))

    def search_multihop(self, query: str, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search, follow names in the passages found to other documents, and merge."""
        return self.run(operations.search_multihop(query, options))

    def search_by_entity(self, query: str, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search the documents about the people, projects or teams of the query first."""
        return self.run(operations.search_by_entity(query, options))

    def why(self, query: str, **options: Unpack[WhyOptions]) -> models.Placement:
        """Where a passage stands in a search, what keeps it out of the answer, and what would bring it in."""
        return self.run(operations.why(query, options))

    def similar(self, chunk_id: DocumentId | None = None, **options: Unpack[SimilarOptions]) -> models.Answer:
        """Passages with a meaning similar to that of a passage, or near to a `vector`."""
        return self.run(operations.similar(chunk_id, options))

    def add(self, content: str, **options: Unpack[DocumentOptions]) -> models.DocumentResult:
        """Store a document; one with the same uri is replaced."""
        return self.run(operations.add(content, options))

    def add_page(self, url: str, **options: Unpack[PageFields]) -> models.DocumentResults:
        """Store the documents of a page or file that the service fetches, if its settings allow the host."""
        return self.run(operations.add_page(url, options))

    def add_many(
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
                    batched.stored(self.run(operations.add_many(body)))
                except ApiError as error:
                    batched.refused(error)
                on_progress(batched.done)
        except StepwellError as error:
            error.results = batched.results
            raise
        return batched.results

    def upload(
        self,
        files: Sequence[File],
        *,
        on_progress: Progress = lambda _sent, _total: None,
        **options: Unpack[UploadOptions],
    ) -> models.DocumentResults:
        """Store up to 100 files, each a path, or a name or relative path with its content.

        Files are read while they are sent; `on_progress` gets the bytes that were sent, and those of all files.
        """
        return self.run(operations.upload(files, options, on_progress))

    def get(self, document_id: DocumentId) -> models.Document:
        """A document with its text."""
        return self.run(operations.get(document_id))

    def documents(
        self, *, filters: Mapping[str, Any] | None = None, **options: Unpack[ListOptions]
    ) -> models.DocumentPage:
        """A page of documents, newest first."""
        return self.run(operations.documents(filters, options))

    def all_documents(
        self, *, filters: Mapping[str, Any] | None = None, **options: Unpack[ListOptions]
    ) -> Iterator[models.Document]:
        """All documents, or those of the options, newest first, read page by page."""
        given: ListOptions = {"limit": 200, **options}
        while True:
            page = self.run(operations.documents(filters, given))
            yield from page.documents
            if page.next_cursor is None:
                return
            given["cursor"] = page.next_cursor

    def replace(
        self, document_id: DocumentId, content: str, **options: Unpack[DocumentOptions]
    ) -> models.DocumentResult:
        """Replace a document; what is not given is removed."""
        return self.run(operations.replace(document_id, content, options))

    def chunks(self, document_id: DocumentId, **options: Unpack[ChunkOptions]) -> models.ChunkPage:
        """A page of a document's chunks, in order."""
        return self.run(operations.chunks(document_id, options))

    def reindex(self, filters: Mapping[str, Any] | None = None, *, dry_run: bool = False) -> models.DocumentsReindex:
        """Cut the documents that pass filters again, or all; with `dry_run` they are only counted."""
        return self.run(operations.reindex(filters, dry_run=dry_run))

    def facets(self, *, filters: Mapping[str, Any] | None = None, **options: Unpack[FacetOptions]) -> models.Facets:
        """The keys of metadata with types, values and numbers of documents."""
        return self.run(operations.facets(filters, options))

    def entities(self, **options: Unpack[EntityListOptions]) -> models.EntityPage:
        """A page of entities, by name."""
        return self.run(operations.entities(options))

    def all_entities(self, **options: Unpack[EntityListOptions]) -> Iterator[models.Entity]:
        """All entities, or those of the options, by name, read page by page."""
        given: EntityListOptions = {"limit": 200, **options}
        while True:
            page = self.run(operations.entities(given))
            yield from page.entities
            if page.next_cursor is None:
                return
            given["cursor"] = page.next_cursor

    def add_entity(self, type: str, name: str, **options: Unpack[EntityOptions]) -> models.Entity:
        """Describe a person, project or thing. A namesake of the same type needs an `entity_id` of its own."""
        return self.run(operations.add_entity(type, name, options))

    def upsert_entities(self, entities: Iterable[Mapping[str, Any]]) -> models.EntityUpserts:
        """Add or change many entities, each an object with `type`, `name` and the options of `add_entity`."""
        return self.run(operations.upsert_entities(entities))

    def search_entities(self, query: str, **options: Unpack[EntitySearchOptions]) -> models.EntityAnswer:
        """Entities that a text names or describes, best first."""
        return self.run(operations.search_entities(query, options))

    def entity(self, entity_id: DocumentId) -> models.Entity:
        """An entity."""
        return self.run(operations.entity(entity_id))

    def change_entity(self, entity_id: DocumentId, changes: Mapping[str, Any]) -> models.Entity:
        """Change fields of an entity by a JSON merge patch, in which None removes a value."""
        return self.run(operations.change_entity(entity_id, changes))

    def merge_entities(self, entity_id: DocumentId, entity_ids: Iterable[DocumentId]) -> models.Entity:
        """Let an entity take over the names, facts, members and teams of others, which are deleted."""
        return self.run(operations.merge_entities(entity_id, entity_ids))

    def delete_entity(self, entity_id: DocumentId) -> models.EntityDeletion:
        """Delete an entity; the numbers of deleted rows."""
        return self.run(operations.delete_entity(entity_id))

    def entity_documents(self, entity_id: DocumentId, **options: Unpack[PageOptions]) -> models.LinkedDocumentPage:
        """A page of the documents that are linked to an entity."""
        return self.run(operations.entity_documents(entity_id, options))

    def give_feedback(self, query: str, helpful: bool | None, **passage: Unpack[Passage]) -> models.Judgement:
        """Say whether a passage helped to answer a query; None takes it back."""
        return self.run(operations.give_feedback(query, helpful, passage))

    def rerank(self, lists: Sequence[Mapping[str, Any]], **options: Unpack[RerankOptions]) -> models.MergedAnswer:
        """Merge lists of hits into one order."""
        return self.run(operations.rerank(lists, options))

    def change(self, document_id: DocumentId, changes: Mapping[str, Any]) -> models.DocumentResult:
        """Change fields of a document by a JSON merge patch, in which None removes a value."""
        return self.run(operations.change(document_id, changes))

    def delete_by_uri(self, uri: str) -> models.DocumentDeletion:
        """Delete the document with a uri; the numbers of deleted rows."""
        return self.run(operations.delete_by_uri(uri))

    def delete(self, document_id: DocumentId) -> models.DocumentDeletion:
        """Delete a document; the numbers of deleted rows."""
        return self.run(operations.delete(document_id))

    def delete_matching(self, filters: Mapping[str, Any], *, dry_run: bool = False) -> models.DocumentsDeletion:
        """Delete the documents that pass the filters of a search; with `dry_run` they are only counted."""
        return self.run(operations.delete_matching(filters, dry_run=dry_run))

    def add_source(self, path: str, **options: Unpack[SourceOptions]) -> models.AddedSource:
        """Keep the documents of a folder of the service in step with it; the job of `job_id` stores them."""
        return self.run(operations.add_source(path, options))

    def sources(self, **options: Unpack[PageOptions]) -> models.SourcePage:
        """A page of sources, newest first."""
        return self.run(operations.sources(options))

    def all_sources(self) -> Iterator[models.Source]:
        """All sources, newest first, read page by page."""
        given: PageOptions = {"limit": 200}
        while True:
            page = self.run(operations.sources(given))
            yield from page.sources
            if page.next_cursor is None:
                return
            given["cursor"] = page.next_cursor

    def source(self, source_id: DocumentId) -> models.Source:
        """A source, by its id or name."""
        return self.run(operations.source(source_id))

    def change_source(self, source_id: DocumentId, changes: Mapping[str, Any]) -> models.Source:
        """Change a source, as in `{"watch": True}`."""
        return self.run(operations.change_source(source_id, changes))

    def sync_source(self, source_id: DocumentId) -> models.QueuedSync:
        """Queue a job that compares a source's folder with what is stored."""
        return self.run(operations.sync_source(source_id))

    def delete_source(self, source_id: DocumentId) -> models.SourceDeletion:
        """Delete a source with its documents; the numbers of deleted rows."""
        return self.run(operations.delete_source(source_id))

    def jobs(self, **options: Unpack[JobOptions]) -> models.JobPage:
        """A page of background jobs, newest first."""
        return self.run(operations.jobs(options))

    def all_jobs(self, **options: Unpack[JobOptions]) -> Iterator[models.Job]:
        """All background jobs, or those with a status, newest first, read page by page."""
        given: JobOptions = {"limit": 200, **options}
        while True:
            page = self.run(operations.jobs(given))
            yield from page.jobs
            if page.next_cursor is None:
                return
            given["cursor"] = page.next_cursor

    def job(self, job_id: DocumentId) -> models.Job:
        """A background job with its progress and result."""
        return self.run(operations.job(job_id))

    def cancel_job(self, job_id: DocumentId) -> models.Job:
        """Cancel a background job that waits or runs; one that has ended stays as it is."""
        return self.run(operations.cancel_job(job_id))

    def follow_job(self, job_id: DocumentId) -> Iterator[models.Job]:
        """The job now, after each change, and at its end. Raises ApiError, ConnectionFailed."""
        followed = operations.follow_job(job_id)
        try:
            with self._http.stream(**transport.request(followed, self._seen, self._target)) as response:
                if not transport.is_stream(response):
                    response.read()
                    raise transport.refusal(response)
                yield from filter(None, map(transport.job_of, response.iter_lines()))
        except httpx.HTTPError as error:
            raise transport.failed(self._target, error) from error

    def wait_for_job(
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
            job = self.job(job_id)
            if job != last:
                on_progress(job)
            if job.has_ended:
                return job
            last = job
            time.sleep(pause_s)
        raise JobTimeout(f"The job {job_id} had not ended after {timeout_s} seconds.")

    def synonyms(self) -> models.Synonyms:
        """The groups of words and phrases that are searched for one another."""
        return self.run(operations.synonyms())

    def set_synonyms(self, groups: Sequence[Sequence[str] | Mapping[str, Any]]) -> models.SynonymCounts:
        """Replace all groups: each is a list of terms, or has `terms` and `expand_to`."""
        return self.run(operations.set_synonyms(groups))

    def stats(self) -> models.Stats:
        """Numbers of what is stored."""
        return self.run(operations.stats())

    def tools(self) -> list[models.ToolDefinition]:
        """The tools that the key may call."""
        return self.run(operations.tools())

    def tool_definitions(self, format: str = "openai") -> list[dict[str, Any]]:
        """The tools for `openai`, `openai-responses`, `anthropic`, `gemini` or `mcp`."""
        return self.run(operations.definitions(format))

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool with the arguments that a model chose."""
        return self.run(operations.call_tool(name, arguments))

    def tools_openapi(self) -> dict[str, Any]:
        """The tools as an OpenAPI document with one operation each."""
        return self.run(operations.tools_openapi())

    def health(self) -> models.Health:
        """Whether the process answers."""
        return self.run(operations.health())

    def ready(self) -> models.Readiness:
        """Whether searches can be served."""
        return self.run(operations.ready())

    def run(self, operation: Operation[T]) -> T:
        """Send an operation, and repeat it as `retrying` says. Raises ApiError, ConnectionFailed."""
        outcome = self._send(operation)
        for otherwise in self._retries.waits():
            wait_s = retrying.wait_after(outcome, otherwise, repeatable=operation.may_be_repeated)
            if wait_s is None:
                break
            time.sleep(wait_s)
            outcome = self._send(operation)
        if isinstance(outcome, httpx.HTTPError):
            raise transport.failed(self._target, outcome) from outcome
        return transport.result(operation, outcome)

    def _send(self, operation: Operation[Any]) -> retrying.Outcome:
        try:
            response = self._http.request(**transport.request(operation, self._seen, self._target))
        except httpx.HTTPError as error:
            return error
        return self._seen.note(response)

    def close(self) -> None:
        """Close the connections."""
        if self._owned:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
