"""Defines the tools that search passages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Annotated
from uuid import UUID

from pydantic import Field

from app import errors, limits
from app.agents.document_and_entity_tools import NO_DOCUMENT, as_uuid
from app.agents.tool_results import PassageList
from app.concurrency.limiter import Released
from app.database.filter_types import Filters
from app.documents import operations as documents
from app.enums import Depth, Mode
from app.query import answer_hints
from app.query.search_request import SearchRequest, SimilarRequest
from app.query.search_types import Answer
from app.requests import field_types, filter_models
from app.search import search, similar, source_names
from app.tools import ToolArguments, ToolContext, clamped, tool


class Question(ToolArguments):
    """What to search for."""

    query: field_types.QueryText = Field(
        description="A question in natural language, or keywords. Quotes match a phrase, +word requires a word and "
        "-word excludes one; AND, OR, NOT, (groups), prefix* and title:word make conditions."
    )
    limit: Annotated[int, *clamped(1, limits.MAX_HITS)] = Field(5, description="Maximum number of passages.")


_DocumentKey = Annotated[str, Field(max_length=limits.MAX_URI)]
_SourceKey = Annotated[str, Field(min_length=1, max_length=limits.MAX_SOURCE_NAME)]


class FilterArguments(ToolArguments):
    """The arguments that restrict a search to some documents."""

    metadata: filter_models.MetadataFilter = Field(default_factory=dict, description=filter_models.IN_SEARCHES)
    document_ids: Annotated[list[_DocumentKey], Field(max_length=100)] | None = Field(
        None, description="Only these documents, by id or uri."
    )
    sources: Annotated[list[_SourceKey], Field(max_length=50)] | None = Field(
        None, description="Only documents of these sources, by name or id."
    )
    created_after: field_types.Moment | None = Field(
        None, description="Only documents created then or later, such as 2026-01-31."
    )
    created_before: field_types.Moment | None = Field(None, description="Only documents created before then.")
    max_tokens: Annotated[int, *clamped(100, 20_000)] = Field(
        3_000, description="Approximate size of the result; what does not fit is left out."
    )

    async def filters(self, context: ToolContext) -> Filters:
        """The filters as a core type. URIs and sources are looked up in the database. Raises NotFound, Conflict."""
        return Filters(
            document_ids=await self._document_ids(context),
            source_ids=await self._source_ids(context),
            metadata=self.metadata or None,
            created_after=self.created_after,
            created_before=self.created_before,
        )

    async def _document_ids(self, context: ToolContext) -> tuple[UUID, ...] | None:
        if self.document_ids is None:
            return None
        of_uris = await documents.ids_of_uris(self.document_ids, context.user_id, db=context.services.db)
        found = []
        for number, given in enumerate(self.document_ids):
            if (key := of_uris.get(given) or as_uuid(given)) is None:
                raise errors.NotFound(NO_DOCUMENT, field=f"document_ids[{number}]")
            found.append(key)
        # The id of a passage means its document: of one with a uri, a passage shows no other id.
        return (*found, *await documents.ids_of_chunks(found, context.user_id, db=context.services.db))

    async def _source_ids(self, context: ToolContext) -> tuple[UUID, ...] | None:
        if self.sources is None:
            return None
        try:
            return tuple(await source_names.find(self.sources, context.user_id, db=context.services.db))
        except errors.NotFound as error:
            raise errors.NotFound(str(error), field="sources") from error


class SearchArguments(FilterArguments, Question):
    """Arguments of a search by a question or keywords."""

    snippets: bool = Field(False, description="Return only the best one to three sentences of each passage.")
    metadata: filter_models.MetadataFilter = Field(
        default_factory=dict,
        description='Values of the documents\' metadata by key, such as {"team": "tide"}, or operators: '
        f'{{"year": {{"gte": 2020}}}} with {filter_models.KNOWN}. list_facets has the keys.',
    )
    folder: filter_models.UriPart | None = Field(None, description="Only documents in this folder, at any depth.")
    mode: Mode = Field(
        "auto", description="How to match: by meaning and by words (auto, hybrid), only by meaning, or only by words."
    )
    depth: Depth = Field(
        "auto",
        description="One search (fast), or following names through several documents (thorough), for at most "
        f"{limits.MAX_MULTIHOP_HITS} passages; auto does so if one search does not find all that the query names.",
    )


class Neighbours(ToolArguments):
    """The passage whose neighbours are searched."""

    chunk_id: UUID = Field(description="Id of a passage, from the result of a search.")
    limit: Annotated[int, *clamped(1, limits.MAX_HITS)] = Field(5, description="Maximum number of passages.")


class SimilarArguments(FilterArguments, Neighbours):
    """Arguments of a search for similar passages."""


async def search_documents(given: SearchArguments, context: ToolContext) -> PassageList:
    """Search by vectors and by BM25, once or over several hops."""
    most = limits.MAX_MULTIHOP_HITS if given.depth == "thorough" else limits.MAX_HITS
    filters = replace(await given.filters(context), folder=given.folder)
    query = SearchRequest(
        query=given.query,
        limit=min(given.limit, most),
        mode=given.mode,
        depth=given.depth,
        filters=filters,
        detail="compact" if given.snippets else "full",
    )
    run = partial(search.run, query, context.user_id, context.services)
    return await _run(run, filters, context, max_tokens=given.max_tokens)


async def find_similar_chunks(given: SimilarArguments, context: ToolContext) -> PassageList:
    """The passages nearest to a passage."""
    filters = await given.filters(context)
    query = SimilarRequest(chunk_id=given.chunk_id, limit=given.limit, filters=filters)

    async def run(_turn: Released) -> Answer:
        return await similar.run(query, context.user_id, context.services)

    return await _run(run, filters, context, max_tokens=given.max_tokens)


async def _run(
    run: Callable[[Released], Awaitable[Answer]], filters: Filters, context: ToolContext, *, max_tokens: int
) -> PassageList:
    """Run a search once it is admitted, and trim its passages to the requested size."""
    answer = await context.admission.search(run)
    answer = await answer_hints.complete(answer, filters, context.user_id, db=context.services.db)
    shown = {hit.candidate.document_id for hit in answer.hits}
    days = await documents.creation_days(shown, context.user_id, db=context.services.db)
    return PassageList.of(answer, days, max_tokens=max_tokens)


TOOLS = (
    tool(
        search_documents,
        "Search documents",
        "Search the user's documents for passages that answer a question or contain keywords. Use it first, for every "
        "question about facts, decisions, people, projects, code or events that the documents may contain, also for "
        "what somebody has done: name the person. Returns the best passages with title and uri; if none answers, "
        "rephrase the query with other words.",
        is_search=True,
    ),
    tool(
        find_similar_chunks,
        "Find similar passages",
        "Find passages with a similar meaning to one from an earlier result, for more on the same subject.",
        is_search=True,
    ),
)
