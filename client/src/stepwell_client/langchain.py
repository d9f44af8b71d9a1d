"""Registers the tools in LangChain, and searches as a LangChain retriever. Needs the extra `langchain`."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from langchain_core.tools import StructuredTool
from pydantic import ConfigDict, Field

from stepwell_client import agent_tools
from stepwell_client.async_client import AsyncClient
from stepwell_client.client import Client
from stepwell_client.models import Hit


def tools(
    client: Client, *, asynchronous: AsyncClient | None = None, names: Collection[str] | None = None
) -> list[StructuredTool]:
    """The tools that only read, or those named. `asynchronous` serves agents that run in an event loop."""

    def made(name: str, description: str, schema: dict[str, Any]) -> StructuredTool:
        def run(**arguments: Any) -> str:
            return agent_tools.call(client, name, arguments)

        async def run_async(**arguments: Any) -> str:
            assert asynchronous is not None
            return await agent_tools.call_async(asynchronous, name, arguments)

        return StructuredTool(
            name=name,
            description=description,
            args_schema=schema,
            func=run,
            coroutine=run_async if asynchronous else None,
        )

    selected = agent_tools.select(client.tools.list(), names)
    return [made(tool.name, tool.description, tool.input_schema) for tool in selected]


class StepwellRetriever(BaseRetriever):
    """Retrieves passages as documents; `options` are those of `Client.search`, such as `limit` and `filters`.

    Options of one call take precedence: `retriever.invoke(question, limit=2)`.
    """

    # An argument that is ignored, such as `search_kwargs`, may be a filter.
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    client: Client
    asynchronous: AsyncClient | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return list(map(_document, self.client.search(query, **{**self.options, **options}).results))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        if self.asynchronous is None:
            search = partial(self._get_relevant_documents, run_manager=run_manager.get_sync(), **options)
            return await run_in_executor(None, search, query)
        return list(map(_document, (await self.asynchronous.search(query, **{**self.options, **options})).results))


def _document(hit: Hit) -> Document:
    own = {
        "document_id": str(hit.document_id),
        "title": hit.title,
        "uri": hit.uri,
        "page": hit.page,
        "heading_path": hit.heading_path,
        "score": hit.score,
        "relevance": hit.relevance,
        "confidence": hit.confidence,
    }
    known = {name: value for name, value in own.items() if value not in (None, "", [])}
    # What the hit does not have, such as a title, may stand in the metadata.
    return Document(id=str(hit.chunk_id), page_content=hit.text, metadata={**own, **hit.metadata, **known})
