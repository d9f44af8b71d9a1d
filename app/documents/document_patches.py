"""Applies a patch to a stored document: changes its text or attributes. Fields that a patch does not name are kept.

A patch is applied to the version that is read, and written only if that version is still stored, so that no concurrent
change is lost. Chunks are cut and embedded again only if the text, the title or the language changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from app import errors
from app.concurrency import offload
from app.documents.store import documents
from app.documents.store.documents import DocumentSource
from app.documents.storing import document_drafts, document_writes, large_documents
from app.documents.types import CleanDocument, Document, DocumentDraft, IngestResult, Upload
from app.entities.linking import gazetteer_cache, mention_refresh
from app.enums import Json, StoreStatus
from app.query import model_replacement
from app.requests import field_types
from app.services import Services
from app.text.names import metadata_names, names
from app.text.structure import structure
from app.text.words import cleaning

ATTEMPTS = 16
"""How often a patch is tried while other requests change the document. At each attempt one of these requests succeeds,
so this is the number of requests that a user may have at once."""


async def apply(document_id: UUID, patch: Json, user_id: str, services: Services) -> IngestResult:
    """Apply a JSON merge patch (RFC 7396) with fields of an upload to a document. Null means the default.

    Raises NotFound, Conflict, BadRequest with the field, ProviderError, DatabaseUnavailable; then nothing is stored.
    """

    for _attempt in range(ATTEMPTS):
        async with large_documents.reading_stored(document_id, user_id, services) as reading:
            source = await documents.source(reading, document_id)
            await gazetteer_cache.current(reading)
        patched = _patch(source, patch, services.chunking_options.language)
        field_types.expect_metadata(dict(patched.metadata))
        result = await _store(source, patched, user_id, services)
        if result is not None:
            return result
    raise errors.Conflict("The document is being changed by other requests: read it, then send the change again.")


def merge(value: Json, patch: Json) -> dict[str, Any]:
    """Applies a JSON merge patch: null removes a key, objects are merged, other values are replaced."""
    result = dict(value)
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        elif isinstance(change, Mapping):
            old = result.get(key)
            result[key] = merge(old if isinstance(old, Mapping) else {}, change)
        else:
            result[key] = change
    return result


def clean_document(source: DocumentSource) -> CleanDocument:
    """A stored document as it was given. It has a creation time only if one was given; the hash shows that."""
    stored = source.document
    undated = CleanDocument(
        content=stored.content or "",
        title=stored.title,
        uri=stored.uri,
        metadata=stored.metadata,
        config=stored.language,
        created_at=None,
        markdown=bool(stored.markdown),
        page_starts=source.page_starts,
    )
    if document_drafts.attributes_hash(undated) == source.attributes_hash:
        return undated
    return dataclasses.replace(undated, created_at=stored.created_at)


def _patch(source: DocumentSource, patch: Json, language: str | None) -> CleanDocument:
    """Applies the patch to the document. Raises BadRequest with the field.

    `language` is the language of documents that name none; None means that it is detected.
    """
    document = clean_document(source)
    if "content" in patch:
        sent = document_drafts.resolve(Upload(str(patch["content"]), markdown=document.markdown))
        metadata = {**document.metadata, **sent.metadata}
        document = dataclasses.replace(
            document, content=sent.content, metadata=metadata, page_starts=(), warnings=sent.warnings
        )
    if "metadata" in patch:
        metadata = {} if patch["metadata"] is None else merge(document.metadata, patch["metadata"])
        document = dataclasses.replace(document, metadata=metadata)
    if "title" in patch:
        heading = structure.title(document.content) if document.markdown else None
        filename = document.metadata.get("filename")
        of_file = document_drafts.title_of_file(filename) if isinstance(filename, str) else ""
        title = patch["title"] or heading or of_file
        document = dataclasses.replace(document, title=document_drafts.clean_title(title))
    if not document.content:
        _check_title(document, patch)
    if "language" in patch:
        named = patch["language"] or language
        config = document_drafts.default_config(document.content, document.title, language=named)
        document = dataclasses.replace(document, config=config)
    changed = {name: patch[name] for name in ("uri", "created_at") if name in patch}
    if "uri" in changed:
        changed["uri"] = document_drafts.stored_uri(changed["uri"])
    return dataclasses.replace(document, **changed)


def _check_title(document: CleanDocument, patch: Json) -> None:
    """Raises BadRequest if a patched document has neither text nor title. A file name does not count as title."""
    if "title" in patch and cleaning.is_blank(patch["title"] or ""):
        raise errors.BadRequest("A document without text needs a title.", field="title")
    own = patch.get("title") or document_drafts.embedded_title(document.title, document.metadata.get("filename"))
    if "content" in patch and cleaning.is_blank(own):
        raise errors.BadRequest(errors.BLANK_CONTENT, field="content", code="blank_content")


async def _store(
    source: DocumentSource, patched: CleanDocument, user_id: str, services: Services
) -> IngestResult | None:
    """Store the patched document; None if `source` is no longer the stored version."""
    draft = document_drafts.hash_document(patched)
    if (draft.identity, draft.attributes_hash, draft.content_hash) == source.version[:3]:
        return _result(source, draft, "unchanged", 0)
    stored = source.document
    if (_titles(draft), draft.config, draft.content, draft.markdown) == (
        _titles(stored),
        stored.language,
        stored.content,
        stored.markdown,
    ):
        return await _store_attributes(source, draft, user_id, services)
    return await model_replacement.run(
        services.embedder, services.db, lambda: _store_text(source, draft, user_id, services)
    )


def _titles(document: DocumentDraft | Document) -> tuple[str, str]:
    """The title of a document as indexed and as embedded."""
    filename = document.metadata.get("filename")
    return (
        document_drafts.indexed_title(document.title, filename),
        document_drafts.embedded_title(document.title, filename),
    )


async def _store_attributes(
    source: DocumentSource, draft: DocumentDraft, user_id: str, services: Services
) -> IngestResult | None:
    document_id = source.document.document_id
    async with services.db.writing(user_id, checked=True) as writing:
        if await documents.change(writing, source, draft, vectors_by_key=None) is None:
            return None
        keys = services.chunking_options.entity_keys
        if _names(draft, keys) != _names(source.document, keys):
            await mention_refresh.relink(writing, document_id, keys=keys)
    return _result(source, draft, "changed", 0)


def _names(document: DocumentDraft | Document, keys: Sequence[str]) -> tuple[str, list[metadata_names.Tag]]:
    """What of a document's attributes links it to entities."""
    title = names.title_name(document.title)
    return document.title, metadata_names.of_document(title, document.metadata, (), keys)


async def _store_text(
    source: DocumentSource, uncut: DocumentDraft, user_id: str, services: Services
) -> IngestResult | None:
    large_documents.check_length(len(uncut.content))
    cut = partial(
        large_documents.cut_unless_large, uncut, model=services.embedder.model, options=services.chunking_options
    )
    draft = await offload.run_stoppable(len(uncut.content), cut)
    if draft.is_large:
        return await large_documents.queue_change(draft, user_id, services, source=source)
    found = await document_writes.find_vectors(document_writes.texts([draft]), user_id, services)
    async with services.db.writing(user_id, checked=True) as writing:
        if not await document_writes.change(writing, source, draft, found, services.chunking_options):
            return None
    return _result(source, draft, "changed", len(found.computed))


def _result(source: DocumentSource, draft: DocumentDraft, status: StoreStatus, embedded: int) -> IngestResult:
    chunk_count = len(draft.chunks) or source.document.chunk_count
    return IngestResult.of(draft, source.document.document_id, status, chunk_count=chunk_count, embedded=embedded)
