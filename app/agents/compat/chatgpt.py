"""Defines the tools `search` and `fetch` in the form that ChatGPT's connectors and its deep research expect."""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from uuid import UUID

from pydantic import Field

from app import errors
from app.documents import operations as documents
from app.query.search_request import Group, Ranking, SearchRequest
from app.requests import field_types
from app.search import search as pipeline
from app.tools import NOTICE, ToolArguments, ToolContext, ToolResult, tool

PART = 100_000
"""Characters of a document that one call returns."""
HITS = 10
_PLACE = re.compile(r"(?P<id>[0-9a-fA-F-]{32,36})(?:@(?P<start>[0-9]{1,9}))?")


class SearchedText(ToolArguments):
    """What to search for."""

    query: field_types.QueryText = Field(description="A question in natural language, or keywords.")


class FetchedDocument(ToolArguments):
    """Which document to read."""

    id: str = Field(max_length=64, description="The id of a result of search.")


class FoundDocument(ToolResult):
    """A document that a search found."""

    id: str = Field(description="Id for fetch.")
    title: str = Field(description="Title of the document.")
    url: str = Field(description="URL of the document, for citations.")
    text: str = Field(description="The best passage.")


class FoundDocuments(ToolResult):
    """The documents that a search found, best first."""

    results: list[FoundDocument] = Field(description="Documents, best first.")


class DocumentContent(ToolResult):
    """A document with its text."""

    id: str = Field(description="Id of the document.")
    title: str = Field(description="Title of the document.")
    text: str = Field(description="Text of the document.")
    url: str = Field(description="URL of the document, for citations.")
    metadata: dict[str, Any] = Field(description="Metadata; `continues_at` is the id of the rest of a long document.")


async def search(given: SearchedText, context: ToolContext) -> FoundDocuments:
    """Search, and return each document once."""
    query = SearchRequest(query=given.query, limit=HITS, ranking=Ranking(group=Group(size=1)))
    answer = await context.admission.search(partial(pipeline.run, query, context.user_id, context.services))
    results = []
    for one in (hit.candidate for hit in answer.hits):
        document_id = str(one.document_id)
        title = one.title or one.uri or document_id
        results.append(FoundDocument(id=document_id, title=title, url=_url(one.uri, one.document_id), text=one.content))
    return FoundDocuments(results=results)


async def fetch(given: FetchedDocument, context: ToolContext) -> DocumentContent:
    """The text of a document, or the rest of it. Raises NotFound."""
    place = _PLACE.fullmatch(given.id)
    try:
        document_id, start = UUID(place["id"]) if place else None, int((place and place["start"]) or 0)
    except ValueError:
        document_id, start = None, 0
    if document_id is None:
        raise errors.NotFound("There is no such document: pass an id from a result of search.")
    document = await documents.get(document_id, context.user_id, db=context.services.db)
    content = document.content or ""
    end = start + PART
    rest = {"continues_at": f"{document_id}@{end}"} if end < len(content) else {}
    return DocumentContent(
        id=given.id,
        title=document.title or document.uri or str(document_id),
        text=content[start:end],
        url=_url(document.uri, document_id),
        metadata={**document.metadata, "notice": NOTICE, **rest},
    )


def _url(uri: str | None, document_id: UUID) -> str:
    """The URI of a document if it is a URL, else the URI of the document in Stepwell."""
    return uri if uri and uri.startswith(("http://", "https://")) else f"stepwell://documents/{document_id}"


TOOLS = (
    tool(search, "Search", "Search the user's documents.", is_search=True),
    tool(fetch, "Fetch", "Read a document that search has found."),
)
