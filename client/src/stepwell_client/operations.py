"""Describes each operation as a request and the model of its response, for the sync and the async client."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import UUID

from pydantic import TypeAdapter

from stepwell_client import models

T = TypeVar("T")
API = "/api/rag"
File = Path | str | tuple[str, bytes]
"""A path of a file, which is stored under its name, or a name or relative path with the content."""


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """A request and the type of its response. `body` is sent as JSON, `files` and `form` as a multipart form."""

    method: str
    path: str
    response: TypeAdapter[T]
    body: Any = None
    parameters: Mapping[str, Any] | None = None
    files: Sequence[tuple[str, tuple[str, bytes]]] = ()
    form: Mapping[str, str] = field(default_factory=dict)


def search(query: str, options: Mapping[str, Any]) -> Operation[models.Answer]:
    """Hybrid search."""
    return _search("/search", query, options)


def search_multihop(query: str, options: Mapping[str, Any]) -> Operation[models.Answer]:
    """Search over several hops."""
    return _search("/search/multihop", query, options)


def search_by_entity(query: str, options: Mapping[str, Any]) -> Operation[models.Answer]:
    """Search documents linked to the entities of the query."""
    return _search("/search/two-pass", query, options)


def why(query: str, options: Mapping[str, Any]) -> Operation[models.Placement]:
    """Where a passage stands in a search."""
    body = {"query": query, **_given(options)}
    return Operation("POST", f"{API}/search/why", TypeAdapter(models.Placement), body)


def similar(chunk_id: UUID | str, options: Mapping[str, Any]) -> Operation[models.Answer]:
    """Passages near a passage."""
    body = {"chunk_id": str(chunk_id), **_given(options)}
    return Operation("POST", f"{API}/similar", TypeAdapter(models.Answer), body)


def add(content: str, options: Mapping[str, Any]) -> Operation[models.DocumentResult]:
    """Store a document."""
    body = {"content": content, **_given(options)}
    return Operation("POST", f"{API}/documents", TypeAdapter(models.DocumentResult), body)


def add_many(documents: Sequence[Mapping[str, Any]]) -> Operation[models.DocumentResults]:
    """Store several documents."""
    return Operation("POST", f"{API}/documents", TypeAdapter(models.DocumentResults), list(map(dict, documents)))


def upload(files: Sequence[File], options: Mapping[str, Any]) -> Operation[models.DocumentResults]:
    """Store files, which are read here. Raises OSError."""
    form = {name: value if isinstance(value, str) else json.dumps(value) for name, value in _given(options).items()}
    parts = [
        ("files", file if isinstance(file, tuple) else (Path(file).name, Path(file).read_bytes())) for file in files
    ]
    return Operation("POST", f"{API}/documents/upload", TypeAdapter(models.DocumentResults), files=parts, form=form)


def get(document_id: UUID | str) -> Operation[models.Document]:
    """A document with its text."""
    return Operation("GET", f"{API}/documents/{document_id}", TypeAdapter(models.Document))


def documents(parameters: Mapping[str, Any]) -> Operation[models.DocumentPage]:
    """A page of documents."""
    return Operation("GET", f"{API}/documents", TypeAdapter(models.DocumentPage), parameters=_given(parameters))


def change(document_id: UUID | str, changes: Mapping[str, Any]) -> Operation[models.DocumentResult]:
    """Change fields of a document; None in `changes` is sent as null."""
    return Operation("PATCH", f"{API}/documents/{document_id}", TypeAdapter(models.DocumentResult), dict(changes))


def delete_by_uri(uri: str) -> Operation[dict[str, int]]:
    """Delete the document with a URI; the numbers of deleted rows."""
    return Operation("DELETE", f"{API}/documents", TypeAdapter(dict[str, int]), parameters={"uri": uri})


def delete(document_id: UUID | str) -> Operation[dict[str, int]]:
    """Delete a document; the numbers of deleted rows."""
    return Operation("DELETE", f"{API}/documents/{document_id}", TypeAdapter(dict[str, int]))


def delete_matching(filters: Mapping[str, Any], *, dry_run: bool) -> Operation[models.DocumentsDeletion]:
    """Delete the documents that pass filters, or count them."""
    body = {"filters": dict(filters), "dry_run": dry_run}
    return Operation("POST", f"{API}/documents/delete", TypeAdapter(models.DocumentsDeletion), body)


def add_source(path: str, options: Mapping[str, Any]) -> Operation[models.Source]:
    """Keep the documents of a folder in step with it."""
    return Operation("POST", f"{API}/sources", TypeAdapter(models.Source), {"path": path, **_given(options)})


def sources(parameters: Mapping[str, Any]) -> Operation[models.SourcePage]:
    """A page of sources."""
    return Operation("GET", f"{API}/sources", TypeAdapter(models.SourcePage), parameters=_given(parameters))


def sync_source(source_id: UUID | str) -> Operation[models.QueuedSync]:
    """Queue a job that synchronises a source."""
    return Operation("POST", f"{API}/sources/{source_id}/sync", TypeAdapter(models.QueuedSync))


def delete_source(source_id: UUID | str) -> Operation[dict[str, Any]]:
    """Delete a source with its documents; the numbers of deleted rows."""
    return Operation("DELETE", f"{API}/sources/{source_id}", TypeAdapter(dict[str, Any]))


def jobs(parameters: Mapping[str, Any]) -> Operation[models.JobPage]:
    """A page of background jobs."""
    return Operation("GET", f"{API}/jobs", TypeAdapter(models.JobPage), parameters=_given(parameters))


def job(job_id: UUID | str) -> Operation[models.Job]:
    """A background job."""
    return Operation("GET", f"{API}/jobs/{job_id}", TypeAdapter(models.Job))


def follow_job(job_id: UUID | str) -> Operation[models.Job]:
    """A background job as server-sent events."""
    return Operation("GET", f"{API}/jobs/{job_id}/events", TypeAdapter(models.Job))


def cancel_job(job_id: UUID | str) -> Operation[models.Job]:
    """Cancel a background job."""
    return Operation("POST", f"{API}/jobs/{job_id}/cancel", TypeAdapter(models.Job))


def stats() -> Operation[models.Stats]:
    """Numbers of what is stored."""
    return Operation("GET", f"{API}/stats", TypeAdapter(models.Stats))


def tools() -> Operation[list[models.ToolDefinition]]:
    """The tools that the key may call."""
    adapter = TypeAdapter(list[models.ToolDefinition])
    return Operation("GET", f"{API}/tools", adapter, parameters={"format": "mcp"})


def definitions(format: str) -> Operation[list[dict[str, Any]]]:
    """The tools as definitions of a model API."""
    return Operation("GET", f"{API}/tools", TypeAdapter(list[dict[str, Any]]), parameters={"format": format})


def call_tool(name: str, arguments: Mapping[str, Any]) -> Operation[dict[str, Any]]:
    """Call a tool."""
    return Operation("POST", f"{API}/tools/{name}", TypeAdapter(dict[str, Any]), dict(arguments))


def _search(path: str, query: str, options: Mapping[str, Any]) -> Operation[models.Answer]:
    return Operation("POST", API + path, TypeAdapter(models.Answer), {"query": query, **_given(options)})


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _named(file: File) -> tuple[str, bytes]:
    return file if isinstance(file, tuple) else (Path(file).name, Path(file).read_bytes())
