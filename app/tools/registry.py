"""Lists the tools, and calls one by name with unvalidated arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rapidfuzz import process

from app import errors
from app.tools import document_tools, search_tools, source_tools
from app.tools.arguments import ToolArguments
from app.tools.context import ToolContext
from app.tools.results import (
    DocumentDeleted,
    DocumentList,
    DocumentStored,
    DocumentText,
    EntityEntries,
    KnowledgeStats,
    PassageList,
    ToolResult,
)

Handler = Callable[[Any, ToolContext], Awaitable[ToolResult]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what a model reads about it, the models of its arguments and result, and its handler.

    `scope` is the scope of the keys that may call it; only tools of the scope `write` change what is stored.
    """

    name: str
    title: str
    description: str
    arguments: type[ToolArguments]
    result: type[ToolResult]
    handler: Handler
    scope: Literal["search", "write"] = "search"


TOOLS = (
    Tool(
        "search_documents",
        "Search documents",
        "Search the user's documents for passages that answer a question or contain keywords. Use it first, for every "
        "question about facts, decisions, people, code or events that the documents may contain. Returns the best "
        "passages with title, uri and score; if none answers, rephrase the query with other words.",
        search_tools.SearchArguments,
        PassageList,
        search_tools.search_documents,
    ),
    Tool(
        "search_documents_multihop",
        "Search over several documents",
        "Search for a question whose answer is spread over several documents, such as: Who leads the team that owns "
        "the service that failed in March? It follows names from the first passages to others. Slower than "
        "search_documents.",
        search_tools.MultihopArguments,
        PassageList,
        search_tools.search_over_hops,
    ),
    Tool(
        "search_documents_by_entity",
        "Search documents of an entity",
        "Search the documents that are about a person, project, team or other entity named in the query, such as: "
        "What has Ana been working on? Use list_entities to find the exact name.",
        search_tools.EntitySearchArguments,
        PassageList,
        search_tools.search_by_entity,
    ),
    Tool(
        "find_similar_chunks",
        "Find similar passages",
        "Find passages with a similar meaning to one from an earlier result, for more on the same subject.",
        search_tools.SimilarArguments,
        PassageList,
        search_tools.find_similar,
    ),
    Tool(
        "get_document",
        "Read a document",
        "Read the text of a document, in parts of max_tokens. Use it when a passage from a search is not enough and "
        "the text around it is needed.",
        document_tools.GetDocumentArguments,
        DocumentText,
        document_tools.get_document,
    ),
    Tool(
        "list_documents",
        "List documents",
        "List the stored documents, newest first, without their text. To find passages use search_documents.",
        document_tools.ListDocumentsArguments,
        DocumentList,
        document_tools.list_documents,
    ),
    Tool(
        "list_entities",
        "List entities",
        "List the people, projects, teams and other entities that the documents mention, or find those with a similar "
        "name.",
        document_tools.ListEntitiesArguments,
        EntityEntries,
        document_tools.list_entities,
    ),
    Tool(
        "knowledge_stats",
        "Count stored documents",
        "Return the number of stored documents and passages, and their languages.",
        document_tools.StatsArguments,
        KnowledgeStats,
        document_tools.knowledge_stats,
    ),
    Tool(
        "add_document",
        "Store a document",
        "Store a text or Markdown document so that later searches find it. With the uri of a stored document it "
        "replaces that document. Store only what the user asked to keep.",
        document_tools.AddDocumentArguments,
        DocumentStored,
        document_tools.add_document,
        scope="write",
    ),
    Tool(
        "delete_document",
        "Delete a document",
        "Delete a document with all its passages. It cannot be undone: ask the user first.",
        document_tools.DeleteDocumentArguments,
        DocumentDeleted,
        document_tools.delete_document,
        scope="write",
    ),
    Tool(
        "list_sources",
        "List sources",
        "List the folders whose files are kept as documents, with the numbers of their files and documents.",
        source_tools.ListSourcesArguments,
        source_tools.SourceList,
        source_tools.list_sources,
    ),
    Tool(
        "add_source",
        "Add a folder",
        "Store the files of a folder or a file on the machine of the service, and keep them as a source that "
        "sync_source compares again. Only folders that the operator allows can be added. Add only what the user asked "
        "for.",
        source_tools.AddSourceArguments,
        source_tools.SourceSynced,
        source_tools.add_source,
        scope="write",
    ),
    Tool(
        "sync_source",
        "Synchronise a folder",
        "Compare a source with its folder, and store, rename and remove documents so that they are those of its files "
        "now. Use it when files have changed and the source is not watched.",
        source_tools.SyncSourceArguments,
        source_tools.SourceSynced,
        source_tools.sync_source,
        scope="write",
    ),
)
_BY_NAME = {tool.name: tool for tool in TOOLS}


def find(name: str) -> Tool:
    """The tool of this name. Raises NotFound, which names the nearest tool."""
    if (tool := _BY_NAME.get(name)) is not None:
        return tool
    nearest = process.extractOne(name, list(_BY_NAME), score_cutoff=60)
    hint = f"Did you mean {nearest[0]}?" if nearest else f"The tools are {', '.join(_BY_NAME)}."
    raise errors.NotFound(f"There is no such tool. {hint}")


def offered(scopes: Collection[str]) -> list[Tool]:
    """The tools that a key with these scopes may call."""
    return [tool for tool in TOOLS if {tool.scope, "admin"} & set(scopes)]


async def call(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
    """Validate the arguments, run the tool, and return its result as JSON values.

    Raises pydantic.ValidationError, and the errors of the pipelines: BadRequest, NotFound, Overloaded, …
    """
    given = tool.arguments.model_validate(arguments)
    return (await tool.handler(given, context.for_reading() if tool.scope == "search" else context)).compact()
