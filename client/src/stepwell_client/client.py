"""Sends operations to a service, synchronously and asynchronously, and retries those that it had no room for."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx

from stepwell_client import models, operations, retrying
from stepwell_client.errors import ApiError, ConnectionFailed
from stepwell_client.operations import Operation
from stepwell_client.options import (
    DocumentId,
    DocumentOptions,
    JobOptions,
    ListOptions,
    MultihopOptions,
    SearchOptions,
    SimilarOptions,
)
from stepwell_client.retrying import Retries

T = TypeVar("T")
DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT_S = 60.0


def _settings(url: str | None, api_key: str | None, timeout_s: float) -> dict[str, Any]:
    """The arguments of an HTTP client: STEPWELL_URL and STEPWELL_API_KEY stand in for what is not given."""
    key = api_key or os.getenv("STEPWELL_API_KEY")
    return {
        "base_url": url or os.getenv("STEPWELL_URL") or DEFAULT_URL,
        "headers": {"Authorization": f"Bearer {key}"} if key else {},
        "timeout": timeout_s,
    }


def _request(operation: Operation[Any]) -> dict[str, Any]:
    return {
        "method": operation.method,
        "url": operation.path,
        "params": operation.parameters,
        **({} if operation.body is None else {"json": operation.body}),
    }


def _result(operation: Operation[T], response: httpx.Response) -> T:
    if response.is_error:
        raise ApiError.of(response)
    return operation.response.validate_json(response.content)


class Client:
    """A synchronous client; use it as a context manager, or call `close`. It may be shared by threads.

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
        http: httpx.Client | None = None,
    ) -> None:
        self._owned = http is None
        self._http = http or httpx.Client(**_settings(url, api_key, timeout_s))
        self._retries = Retries(retries)

    def search(self, query: str, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search by vectors and by BM25."""
        return self.run(operations.search(query, options))

    def search_multihop(self, query: str, **options: Unpack[MultihopOptions]) -> models.Answer:
        """Search, follow names in the passages found to other documents, and merge."""
        return self.run(operations.search_multihop(query, options))

    def search_by_entity(self, query: str, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search the documents about the people, projects or teams of the query first."""
        return self.run(operations.search_by_entity(query, options))

    def similar(self, chunk_id: DocumentId, **options: Unpack[SimilarOptions]) -> models.Answer:
        """Passages with a similar meaning."""
        return self.run(operations.similar(chunk_id, options))

    def add(self, content: str, **options: Unpack[DocumentOptions]) -> models.DocumentResult:
        """Store a document; one with the same uri is replaced."""
        return self.run(operations.add(content, options))

    def add_many(self, documents: Sequence[Mapping[str, Any]]) -> models.DocumentResults:
        """Store up to 500 documents, each an object with `content` and the options of `add`."""
        return self.run(operations.add_many(documents))

    def get(self, document_id: DocumentId) -> models.Document:
        """A document with its text."""
        return self.run(operations.get(document_id))

    def documents(self, **options: Unpack[ListOptions]) -> models.DocumentPage:
        """A page of documents, newest first."""
        return self.run(operations.documents(options))

    def all_documents(self) -> Iterator[models.Document]:
        """All documents, newest first, read page by page."""
        cursor: str | None = None
        while True:
            page = self.run(operations.documents({"limit": 200, "cursor": cursor}))
            yield from page.documents
            if (cursor := page.next_cursor) is None:
                return

    def change(self, document_id: DocumentId, changes: Mapping[str, Any]) -> models.DocumentResult:
        """Change fields of a document by a JSON merge patch, in which None removes a value."""
        return self.run(operations.change(document_id, changes))

    def delete_by_uri(self, uri: str) -> dict[str, int]:
        """Delete the document with a uri; the numbers of deleted rows."""
        return self.run(operations.delete_by_uri(uri))

    def delete(self, document_id: DocumentId) -> dict[str, int]:
        """Delete a document; the numbers of deleted rows."""
        return self.run(operations.delete(document_id))

    def jobs(self, **options: Unpack[JobOptions]) -> models.JobPage:
        """A page of background jobs, newest first."""
        return self.run(operations.jobs(options))

    def job(self, job_id: DocumentId) -> models.Job:
        """A background job with its progress and result."""
        return self.run(operations.job(job_id))

    def cancel_job(self, job_id: DocumentId) -> models.Job:
        """Cancel a background job that waits or runs."""
        return self.run(operations.cancel_job(job_id))

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

    def run(self, operation: Operation[T]) -> T:
        """Send an operation, and repeat it while the service has no room. Raises ApiError, ConnectionFailed."""
        try:
            response = self._http.request(**_request(operation))
            for otherwise in self._retries.waits():
                wait_s = retrying.wait_after(response, otherwise)
                if wait_s is None:
                    break
                time.sleep(wait_s)
                response = self._http.request(**_request(operation))
        except httpx.HTTPError as error:
            raise ConnectionFailed(f"{self._http.base_url} did not answer: {type(error).__name__}.") from error
        return _result(operation, response)

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
        self._http = http or httpx.AsyncClient(**_settings(url, api_key, timeout_s))
        self._retries = Retries(retries)

    async def search(self, query: str, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search by vectors and by BM25."""
        return await self.run(operations.search(query, options))

    async def search_multihop(self, query: str, **options: Unpack[MultihopOptions]) -> models.Answer:
        """Search, follow names in the passages found to other documents, and merge."""
        return await self.run(operations.search_multihop(query, options))

    async def search_by_entity(self, query: str, **options: Unpack[SearchOptions]) -> models.Answer:
        """Search the documents about the people, projects or teams of the query first."""
        return await self.run(operations.search_by_entity(query, options))

    async def similar(self, chunk_id: DocumentId, **options: Unpack[SimilarOptions]) -> models.Answer:
        """Passages with a similar meaning."""
        return await self.run(operations.similar(chunk_id, options))

    async def add(self, content: str, **options: Unpack[DocumentOptions]) -> models.DocumentResult:
        """Store a document; one with the same uri is replaced."""
        return await self.run(operations.add(content, options))

    async def add_many(self, documents: Sequence[Mapping[str, Any]]) -> models.DocumentResults:
        """Store up to 500 documents, each an object with `content` and the options of `add`."""
        return await self.run(operations.add_many(documents))

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

    async def jobs(self, **options: Unpack[JobOptions]) -> models.JobPage:
        """A page of background jobs, newest first."""
        return await self.run(operations.jobs(options))

    async def job(self, job_id: DocumentId) -> models.Job:
        """A background job with its progress and result."""
        return await self.run(operations.job(job_id))

    async def cancel_job(self, job_id: DocumentId) -> models.Job:
        """Cancel a background job that waits or runs."""
        return await self.run(operations.cancel_job(job_id))

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
            response = await self._http.request(**_request(operation))
            for otherwise in self._retries.waits():
                wait_s = retrying.wait_after(response, otherwise)
                if wait_s is None:
                    break
                await asyncio.sleep(wait_s)
                response = await self._http.request(**_request(operation))
        except httpx.HTTPError as error:
            raise ConnectionFailed(f"{self._http.base_url} did not answer: {type(error).__name__}.") from error
        return _result(operation, response)

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
