"""Defines the tools that list, read, store and delete documents, list entities and count what is stored."""

from __future__ import annotations

import bisect
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated
from uuid import UUID

from pydantic import Field
from rapidfuzz import fuzz, process

from app import errors, limits
from app.agents import tool_results
from app.database.filter_types import DocumentFilter, Filters
from app.documents import operations as documents
from app.documents.store.documents import DocumentSource
from app.documents.storing import ingest, large_documents
from app.documents.types import IngestResult, Upload
from app.entities import operations as entities
from app.entities.types import EntityFilter
from app.query import answer_hints
from app.requests import cursors, field_types, filter_models
from app.search.steps.entity_guidance import entity_search
from app.text.words import languages
from app.tools import NOTICE, ToolArguments, ToolContext, clamped, tool

MAX_CONTENT = 1_000_000
RESOURCE = "stepwell://documents/"
"""Beginning of the URIs that documents have as resources over MCP."""
MAX_CHARACTERS_PER_TOKEN = 8
NO_DOCUMENT = (
    "No document has this id or uri: take uri or document_id of a passage, or list_documents finds some by words."
)
_CURSOR = "Value of `next_cursor` of the previous page."
Cursor = Annotated[str, Field(max_length=cursors.MAX_LENGTH)]


class ListDocumentsArguments(ToolArguments):
    """Arguments of a listing of documents."""

    query: Annotated[field_types.NameLike, Field(max_length=limits.MAX_ENTITY_NAME)] | None = Field(
        None, description="Words that title and uri must contain."
    )
    uri: Annotated[str, Field(max_length=limits.MAX_URI)] | None = Field(
        None, description="Only the document with this uri."
    )
    metadata: filter_models.MetadataFilter = Field(default_factory=dict, description=filter_models.IN_SEARCHES)
    limit: Annotated[int, *clamped(1, limits.MAX_LISTED_BY_TOOL)] = Field(20, description="Documents per page.")
    cursor: Cursor | None = Field(None, description=_CURSOR)


class GetDocumentArguments(ToolArguments):
    """Arguments for reading a document's text."""

    document_id: Annotated[str, Field(min_length=1, max_length=limits.MAX_URI)] = Field(
        description="Id or uri of the document, or the chunk_id of a passage to begin there."
    )
    start: Annotated[int, *clamped(0, 2**31 - 1)] = Field(
        0, description="Offset in characters; `next_start` of the previous part, or less than the `start` of a passage."
    )
    page: Annotated[int, *clamped(0, 2**31 - 1)] = Field(
        0, description="Page of a PDF, or slide, to begin at, from 1; 0: none."
    )
    max_tokens: Annotated[int, *clamped(100, 20_000)] = Field(4_000, description="Approximate size of the part.")


class AddDocumentArguments(ToolArguments):
    """Arguments for storing a document."""

    content: Annotated[str, Field(max_length=MAX_CONTENT)] = Field(
        description="Text of the document, plain or Markdown; empty if it is a title alone."
    )
    title: Annotated[str, Field(max_length=limits.MAX_TITLE)] | None = Field(
        None, description="Title; by default the first heading of the text."
    )
    uri: Annotated[str, Field(min_length=1, max_length=limits.MAX_URI)] | None = Field(
        None, description="Identifier such as a path or URL; a document with this uri or document_id is replaced."
    )
    metadata: field_types.Metadata = Field(default_factory=dict, description="JSON object that searches can filter by.")


class DeleteDocumentArguments(ToolArguments):
    """Arguments for deleting a document."""

    document_id: Annotated[str, Field(min_length=1, max_length=limits.MAX_URI)] = Field(
        description="Id or uri of the document."
    )


class ListEntitiesArguments(ToolArguments):
    """Arguments of a listing of entities."""

    query: Annotated[field_types.NameLike, Field(min_length=1, max_length=limits.MAX_ENTITY_NAME)] | None = Field(
        None, description="Name, role or description to find, best first."
    )
    type: Annotated[str, Field(max_length=limits.MAX_ENTITY_TYPE)] | None = Field(
        None, description="Only entities of this type, such as person, project or team."
    )
    limit: Annotated[int, *clamped(1, limits.MAX_LISTED_BY_TOOL)] = Field(20, description="Entities per page.")
    cursor: Cursor | None = Field(None, description=_CURSOR + " Not with `query`.")


class StatsArguments(ToolArguments):
    """The statistics take no arguments."""


async def list_documents(given: ListDocumentsArguments, context: ToolContext) -> tool_results.DocumentList:
    """A page of the user's documents, newest first."""
    after = cursors.read(given.cursor, cursors.moment) if given.cursor else None
    only = DocumentFilter(given.uri, tuple((given.query or "").split()), Filters(metadata=given.metadata or None))
    rows = await documents.page(context.user_id, db=context.services.db, limit=given.limit + 1, after=after, only=only)
    shown, more = cursors.cut(rows, given.limit, lambda one: cursors.make(one.created_at, one.document_id))
    show = tool_results.ToolDocument.show
    return tool_results.DocumentList(
        notice=NOTICE if any(one.content for one in shown) else None,
        documents=[show(one, metadata=tool_results.shorten(one.metadata), beginning=one.content) for one in shown],
        next_cursor=more,
        no_results_because=None if rows or after else await _nothing_listed(only, context),
    )


async def _nothing_listed(only: DocumentFilter, context: ToolContext) -> str | None:
    """The sentences that say what to change in the filters, the uri or the words; None if there is nothing to say."""
    missed = await answer_hints.find_missed(only.filters, context.user_id, db=context.services.db)
    found = answer_hints.sentences(missed)
    if only.uri is not None and not found:
        found.append("No document has this uri: `query` finds documents by words of theirs.")
    elif only.words and not found:
        found.append("No title and uri have all these words: use fewer, or search_documents for what texts say.")
    return " ".join(found) or None


async def get_document(given: GetDocumentArguments, context: ToolContext) -> tool_results.DocumentText:
    """A part of a document's text. Raises NotFound."""
    source, of_chunk = await _find(given.document_id, context)
    content, pages = source.document.content or "", source.page_starts
    start = given.start or (pages[min(given.page, len(pages)) - 1] if given.page and pages else of_chunk)
    rest = content[start : start + MAX_CHARACTERS_PER_TOKEN * given.max_tokens]
    text = rest[: tool_results.cut(rest, given.max_tokens)]
    end = start + len(text)
    metadata = source.document.metadata
    return tool_results.DocumentText.show(
        source.document,
        metadata=tool_results.shorten(metadata) if given.start else metadata,  # a model that reads on has it
        content=text,
        start=start,
        page=bisect.bisect_right(pages, start) or None,
        next_start=end if end < len(content) else None,
    )


async def _find(given: str, context: ToolContext) -> tuple[DocumentSource, int]:
    """The document with this id or uri, or the document and offset of the passage with this id. Raises NotFound."""
    user_id, db = context.user_id, context.services.db
    if (key := as_uuid(given)) is not None:
        with suppress(errors.NotFound):  # a uri may look like an id
            return await documents.get_containing(key, user_id, db=db)
    found = await documents.page(user_id, db=db, limit=1, after=None, only=DocumentFilter(given))
    if not found:
        raise errors.NotFound(NO_DOCUMENT, field="document_id")
    return await documents.get_containing(found[0].document_id, user_id, db=db)


def as_uuid(given: str) -> UUID | None:
    """The id that a text is, alone or as the URI of a resource; None if it is none."""
    with suppress(ValueError):
        return UUID(given.removeprefix(RESOURCE))
    return None


async def add_document(given: AddDocumentArguments, context: ToolContext) -> tool_results.DocumentStored:
    """Store a document; one with the same uri is replaced."""
    upload = Upload(given.content, title=given.title, uri=given.uri, metadata=given.metadata)
    stored = await context.admission.upload(partial(_store, upload, context))
    return tool_results.DocumentStored.show(stored)


async def _store(upload: Upload, context: ToolContext) -> IngestResult:
    """Store an upload. If its uri is the id of a document, which results have in place of a uri, it replaces that."""
    user_id, use = context.user_id, context.services
    if (key := as_uuid(upload.uri or "")) is not None:
        with suppress(errors.NotFound):  # a uri may look like an id
            put = await ingest.replace(key, replace(upload, uri=None), user_id, use)
            return await large_documents.settle(put, user_id, use) if put.job_id else put
    return await ingest.store_one(upload, user_id, use, ingest.IN_TOOL)


async def delete_document(given: DeleteDocumentArguments, context: ToolContext) -> tool_results.DocumentDeleted:
    """Delete a document with its passages. Raises NotFound."""
    deleted, db = None, context.services.db
    if (key := as_uuid(given.document_id)) is not None:
        with suppress(errors.NotFound):
            deleted = await documents.delete(key, context.user_id, db=db, actor=context.actor)
    if deleted is None:
        try:
            deleted = await documents.delete_by_uri(given.document_id, context.user_id, db=db, actor=context.actor)
        except errors.NotFound:
            raise errors.NotFound(NO_DOCUMENT, field="document_id") from None
    return tool_results.DocumentDeleted(documents_deleted=deleted.documents, chunks_deleted=deleted.chunks)


async def list_entities(given: ListEntitiesArguments, context: ToolContext) -> tool_results.EntityEntries:
    """Lists entities by name, or finds the entities that a text names or describes."""
    db = context.services.db
    if given.query is not None:
        if given.cursor is not None:
            raise errors.BadRequest("Leave `cursor` out: with `query` the result is one page.", field="cursor")
        query = entity_search.EntitySearchRequest.model_construct(query=given.query, limit=given.limit, type=given.type)
        answer = await context.admission.search(partial(entity_search.run, query, context.user_id, context.services))
        matches = {match.entity_id: match for match in answer.entities}
        stored = {one.entity_id: one for one in await entities.of_ids(list(matches), context.user_id, db=db)}
        found = [
            tool_results.ToolEntity.show(stored[key], score=round(match.score, 2), matched_by=match.matched_by)
            for key, match in matches.items()
            if key in stored
        ]
        degraded, more = list(answer.degraded) or None, None
    else:
        after = cursors.read(given.cursor, cursors.name) if given.cursor else None
        only = EntityFilter(given.type, None)
        rows = await entities.page(context.user_id, db=db, limit=given.limit + 1, after=after, only=only)
        shown, more = cursors.cut(rows, given.limit, lambda one: cursors.make(one.name, one.entity_id))
        found, degraded = [tool_results.ToolEntity.show(entity) for entity in shown], None
    reason = None if found else await _no_type(given, context)
    return tool_results.EntityEntries(entities=found, no_results_because=reason, degraded=degraded, next_cursor=more)


async def _no_type(given: ListEntitiesArguments, context: ToolContext) -> str | None:
    """The sentence for a requested type that no entity has; None if there is nothing to say."""
    if given.type is None or given.type in (known := await entities.types(context.user_id, db=context.services.db)):
        return None
    if not known:
        return "There are no entities."
    near = process.extractOne(given.type, known, scorer=fuzz.ratio, score_cutoff=75)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"No entity has this type.{meant} The types are {', '.join(known)}."


async def knowledge_stats(given: StatsArguments, context: ToolContext) -> tool_results.KnowledgeStats:
    """Counts documents and chunks, and returns their languages and the embedding model."""
    stored = await documents.stats(context.user_id, db=context.services.db)
    by_language: Counter[str] = Counter()
    for config, chunks in stored.languages.items():
        by_language[config if config in languages.CODES else "other"] += chunks
    return tool_results.KnowledgeStats.show(stored, languages=dict(by_language))


TOOLS = (
    tool(
        get_document,
        "Read a document",
        "Read the text and metadata of a document, in parts of max_tokens. Use it when a passage from a search is not "
        "enough and the text around it is needed.",
    ),
    tool(
        list_documents,
        "List documents",
        "List stored documents without their text, newest first. To find passages use search_documents.",
    ),
    tool(
        list_entities,
        "List entities",
        "List the people, projects, teams and other entities that the documents mention, or find some by name or "
        "meaning.",
    ),
    tool(
        knowledge_stats,
        "Count stored documents",
        "Return the number of stored documents and passages, and their languages.",
    ),
    tool(
        add_document,
        "Store a document",
        "Store a text or Markdown document so that later searches find it. With the uri or id of a stored document it "
        "replaces that document. Store only what the user asked to keep.",
        scope="write",
    ),
    tool(
        delete_document,
        "Delete a document",
        "Delete a document with all its passages. It cannot be undone: ask the user first.",
        scope="write",
    ),
)
