"""Describes each operation as a request and the model of its response, for the sync and the async client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from uuid import UUID

from pydantic import TypeAdapter

from stepwell_client import encoding, models, uploading
from stepwell_client.options import RankingOptions
from stepwell_client.uploading import File

T = TypeVar("T")
API = "/api/rag"


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """A request and the type of its response. `body` is sent as JSON, `content` as it is, `files` and `form` as a form.

    One that is `repeatable` changes nothing more if it is sent twice.
    """

    method: str
    path: str
    response: TypeAdapter[T]
    body: Any = None
    parameters: Mapping[str, Any] | None = None
    files: Sequence[tuple[str, tuple[str, uploading.UploadedFile]]] = ()
    form: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    content: bytes | None = None
    content_type: str = "application/json"

    @property
    def may_be_repeated(self) -> bool:
        """Whether the request may be sent again although it may have been carried out."""
        return self.repeatable or self.method in ("GET", "PUT")


def search(query: str | None, options: Mapping[str, Any]) -> Operation[models.Answer]:
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
    body = _searched(query, options)
    return Operation("POST", f"{API}/search/why", TypeAdapter(models.Placement), body, repeatable=True)


def similar(chunk_id: UUID | str | None, options: Mapping[str, Any]) -> Operation[models.Answer]:
    """Passages near a passage or a vector."""
    body = _given({"chunk_id": chunk_id, **options})
    return Operation("POST", f"{API}/similar", TypeAdapter(models.Answer), body, repeatable=True)


def add(content: str, options: Mapping[str, Any]) -> Operation[models.DocumentResult]:
    """Store a document."""
    body = {"content": content, **_given(options)}
    return Operation("POST", f"{API}/documents", TypeAdapter(models.DocumentResult), body, repeatable=True)


def add_page(url: str, options: Mapping[str, Any]) -> Operation[models.DocumentResults]:
    """Store the documents of a page or file that the service fetches."""
    body = {"url": url, **_given(options)}
    return Operation("POST", f"{API}/documents", TypeAdapter(models.DocumentResults), body, repeatable=True)


def add_many(body: bytes) -> Operation[models.DocumentResults]:
    """Store the documents of a JSON array."""
    adapter = TypeAdapter(models.DocumentResults)
    return Operation("POST", f"{API}/documents", adapter, content=body, repeatable=True)


def upload(
    files: Sequence[File], options: Mapping[str, Any], report: uploading.Progress
) -> Operation[models.DocumentResults]:
    """Store files, which are read while they are sent. Raises OSError."""
    form = {
        name: value if isinstance(value, str) else encoding.encoded(value).decode()
        for name, value in _given(options).items()
    }
    parts = uploading.parts(list(files), report)
    adapter = TypeAdapter(models.DocumentResults)
    return Operation("POST", f"{API}/documents/upload", adapter, files=parts, form=form, repeatable=True)


def get(document_id: UUID | str) -> Operation[models.Document]:
    """A document with its text."""
    return Operation("GET", f"{API}/documents/{document_id}", TypeAdapter(models.Document))


def documents(filters: Mapping[str, Any] | None, parameters: Mapping[str, Any]) -> Operation[models.DocumentPage]:
    """A page of documents."""
    given = _filtered(filters, parameters)
    return Operation("GET", f"{API}/documents", TypeAdapter(models.DocumentPage), parameters=given)


def change(document_id: UUID | str, changes: Mapping[str, Any]) -> Operation[models.DocumentResult]:
    """Change fields of a document; None in `changes` is sent as null."""
    return Operation("PATCH", f"{API}/documents/{document_id}", TypeAdapter(models.DocumentResult), dict(changes))


def delete_by_uri(uri: str) -> Operation[models.DocumentDeletion]:
    """Delete the document with a URI; the numbers of deleted rows."""
    return Operation("DELETE", f"{API}/documents", TypeAdapter(models.DocumentDeletion), parameters={"uri": uri})


def delete(document_id: UUID | str) -> Operation[models.DocumentDeletion]:
    """Delete a document; the numbers of deleted rows."""
    return Operation("DELETE", f"{API}/documents/{document_id}", TypeAdapter(models.DocumentDeletion))


def delete_matching(filters: Mapping[str, Any], *, dry_run: bool) -> Operation[models.DocumentsDeletion]:
    """Delete the documents that pass filters, or count them."""
    body = {"filters": dict(filters), "dry_run": dry_run}
    return Operation("POST", f"{API}/documents/delete", TypeAdapter(models.DocumentsDeletion), body)


def add_source(path: str, options: Mapping[str, Any]) -> Operation[models.AddedSource]:
    """Keep the documents of a folder in step with it."""
    return Operation("POST", f"{API}/sources", TypeAdapter(models.AddedSource), {"path": path, **_given(options)})


def sources(parameters: Mapping[str, Any]) -> Operation[models.SourcePage]:
    """A page of sources."""
    return Operation("GET", f"{API}/sources", TypeAdapter(models.SourcePage), parameters=_given(parameters))


def sync_source(source_id: UUID | str) -> Operation[models.QueuedSync]:
    """Queue a job that synchronises a source."""
    return Operation("POST", f"{API}/sources/{source_id}/sync", TypeAdapter(models.QueuedSync))


def delete_source(source_id: UUID | str) -> Operation[models.SourceDeletion]:
    """Delete a source with its documents; the numbers of deleted rows."""
    return Operation("DELETE", f"{API}/sources/{source_id}", TypeAdapter(models.SourceDeletion))


def synonyms() -> Operation[models.Synonyms]:
    """The groups of synonyms."""
    return Operation("GET", f"{API}/synonyms", TypeAdapter(models.Synonyms))


def set_synonyms(groups: Sequence[Sequence[str] | Mapping[str, Any]]) -> Operation[models.SynonymCounts]:
    """Replace the groups of synonyms; how many groups and terms are stored."""
    given = [dict(group) if isinstance(group, Mapping) else {"terms": list(group)} for group in groups]
    return Operation("PUT", f"{API}/synonyms", TypeAdapter(models.SynonymCounts), {"groups": given})


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


def replace(document_id: UUID | str, content: str, options: Mapping[str, Any]) -> Operation[models.DocumentResult]:
    """Replace a document."""
    body = {"content": content, **_given(options)}
    return Operation("PUT", f"{API}/documents/{document_id}", TypeAdapter(models.DocumentResult), body)


def chunks(document_id: UUID | str, parameters: Mapping[str, Any]) -> Operation[models.ChunkPage]:
    """A page of a document's chunks."""
    path = f"{API}/documents/{document_id}/chunks"
    return Operation("GET", path, TypeAdapter(models.ChunkPage), parameters=_given(parameters))


def reindex(filters: Mapping[str, Any] | None, *, dry_run: bool) -> Operation[models.DocumentsReindex]:
    """Cut the documents that pass filters again, or all."""
    body = {"all": True} if filters is None else {"filters": dict(filters)}
    adapter = TypeAdapter(models.DocumentsReindex)
    return Operation("POST", f"{API}/documents/reindex", adapter, {**body, "dry_run": dry_run})


def facets(filters: Mapping[str, Any] | None, parameters: Mapping[str, Any]) -> Operation[models.Facets]:
    """Keys of metadata."""
    given = _filtered(filters, parameters)
    return Operation("GET", f"{API}/facets", TypeAdapter(models.Facets), parameters=given)


def entities(parameters: Mapping[str, Any]) -> Operation[models.EntityPage]:
    """A page of entities."""
    return Operation("GET", f"{API}/entities", TypeAdapter(models.EntityPage), parameters=_given(parameters))


def add_entity(type: str, name: str, options: Mapping[str, Any]) -> Operation[models.Entity]:
    """Describe an entity."""
    body = {"type": type, "name": name, **_given(options)}
    return Operation("POST", f"{API}/entities", TypeAdapter(models.Entity), body)


def upsert_entities(entities: Iterable[Mapping[str, Any]]) -> Operation[models.EntityUpserts]:
    """Add or change many entities."""
    lines = b"".join(encoding.encoded(entity) + b"\n" for entity in entities)
    adapter, kind = TypeAdapter(models.EntityUpserts), "application/x-ndjson"
    return Operation("POST", f"{API}/entities/bulk", adapter, content=lines, content_type=kind, repeatable=True)


def search_entities(query: str, options: Mapping[str, Any]) -> Operation[models.EntityAnswer]:
    """Entities that a text names or describes."""
    body = {"query": query, **_given(options)}
    return Operation("POST", f"{API}/entities/search", TypeAdapter(models.EntityAnswer), body, repeatable=True)


def entity(entity_id: UUID | str) -> Operation[models.Entity]:
    """An entity."""
    return Operation("GET", f"{API}/entities/{entity_id}", TypeAdapter(models.Entity))


def change_entity(entity_id: UUID | str, changes: Mapping[str, Any]) -> Operation[models.Entity]:
    """Change fields of an entity; None in `changes` is sent as null."""
    return Operation("PATCH", f"{API}/entities/{entity_id}", TypeAdapter(models.Entity), dict(changes))


def merge_entities(entity_id: UUID | str, entity_ids: Iterable[UUID | str]) -> Operation[models.Entity]:
    """Let an entity take over others."""
    body = {"entity_ids": [str(one) for one in entity_ids]}
    return Operation("POST", f"{API}/entities/{entity_id}/merge", TypeAdapter(models.Entity), body)


def delete_entity(entity_id: UUID | str) -> Operation[models.EntityDeletion]:
    """Delete an entity; the numbers of deleted rows."""
    return Operation("DELETE", f"{API}/entities/{entity_id}", TypeAdapter(models.EntityDeletion))


def entity_documents(entity_id: UUID | str, parameters: Mapping[str, Any]) -> Operation[models.LinkedDocumentPage]:
    """A page of the documents that are linked to an entity."""
    path = f"{API}/entities/{entity_id}/documents"
    return Operation("GET", path, TypeAdapter(models.LinkedDocumentPage), parameters=_given(parameters))


def give_feedback(query: str, helpful: bool | None, passage: Mapping[str, Any]) -> Operation[models.Judgement]:
    """Say whether a passage helped."""
    body = {"query": query, "helpful": helpful, **_given(passage)}
    return Operation("POST", f"{API}/feedback", TypeAdapter(models.Judgement), body, repeatable=True)


def rerank(lists: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> Operation[models.MergedAnswer]:
    """Merge lists of hits."""
    body = {"lists": list(map(dict, lists)), **_given(options)}
    return Operation("POST", f"{API}/rerank", TypeAdapter(models.MergedAnswer), body, repeatable=True)


def source(source_id: UUID | str) -> Operation[models.Source]:
    """A source."""
    return Operation("GET", f"{API}/sources/{source_id}", TypeAdapter(models.Source))


def change_source(source_id: UUID | str, changes: Mapping[str, Any]) -> Operation[models.Source]:
    """Change a source."""
    return Operation("PATCH", f"{API}/sources/{source_id}", TypeAdapter(models.Source), dict(changes))


def tools_openapi() -> Operation[dict[str, Any]]:
    """The tools as an OpenAPI document."""
    return Operation("GET", f"{API}/tools/openapi.json", TypeAdapter(dict[str, Any]))


def health() -> Operation[models.Health]:
    """Whether the process answers."""
    return Operation("GET", "/healthz", TypeAdapter(models.Health))


def ready() -> Operation[models.Readiness]:
    """Whether searches can be served."""
    return Operation("GET", "/readyz", TypeAdapter(models.Readiness))


def _search(path: str, query: str | None, options: Mapping[str, Any]) -> Operation[models.Answer]:
    return Operation("POST", API + path, TypeAdapter(models.Answer), _searched(query, options), repeatable=True)


def _searched(query: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a search, in which the options that tune it stand in `ranking`."""
    given = _given({"query": query, **options})
    ranking = {name: given.pop(name) for name in RankingOptions.__annotations__ if name in given}
    return given | ({"ranking": ranking} if ranking else {})


def _filtered(filters: Mapping[str, Any] | None, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {**_given(parameters), **({} if filters is None else {"filters": encoding.encoded(filters).decode()})}


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
