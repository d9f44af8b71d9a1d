"""Registers the tools in LlamaIndex, and searches as a LlamaIndex retriever. Needs the extra `llamaindex`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.tools import FunctionTool, ToolMetadata

from stepwell_client import agent_tools
from stepwell_client.async_client import AsyncClient
from stepwell_client.client import Client
from stepwell_client.models import Hit, ToolDefinition


class _Metadata(ToolMetadata):
    """The metadata of a tool whose arguments are given as a JSON Schema rather than as a pydantic model."""

    def __init__(self, tool: ToolDefinition) -> None:
        super().__init__(tool.description, tool.name, fn_schema=None)
        self._schema = tool.input_schema

    def get_parameters_dict(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self._schema

    @property
    def fn_schema_str(self) -> str:
        """The JSON Schema of the arguments as text, which agents without function calling put in their prompt."""
        return json.dumps(self._schema)


def tools(
    client: Client, *, asynchronous: AsyncClient | None = None, names: Collection[str] | None = None
) -> list[FunctionTool]:
    """The tools that only read, or those named. `asynchronous` serves agents that run in an event loop."""

    def made(tool: ToolDefinition) -> FunctionTool:
        def run(**arguments: Any) -> str:
            return agent_tools.call(client, tool.name, arguments)

        async def run_async(**arguments: Any) -> str:
            assert asynchronous is not None
            return await agent_tools.call_async(asynchronous, tool.name, arguments)

        return FunctionTool(run, metadata=_Metadata(tool), async_fn=run_async if asynchronous else None)

    return [made(tool) for tool in agent_tools.select(client.tools.list(), names)]


class StepwellRetriever(BaseRetriever):
    """Retrieves passages as nodes; `options` are those of `Client.search`, such as `limit` and `filters`."""

    def __init__(self, client: Client, *, asynchronous: AsyncClient | None = None, **options: Any) -> None:
        super().__init__()
        self._client = client
        self._asynchronous = asynchronous
        self._options = options

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return list(map(_node, self._client.search(query_bundle.query_str, **self._options).results))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._asynchronous is None:
            return await asyncio.to_thread(self._retrieve, query_bundle)
        answer = await self._asynchronous.search(query_bundle.query_str, **self._options)
        return list(map(_node, answer.results))


def _node(hit: Hit) -> NodeWithScore:
    read = {"title": hit.title, "uri": hit.uri, "page": hit.page, "headings": " > ".join(hit.heading_path)}
    unread = {
        **hit.metadata,
        "document_id": str(hit.document_id),
        "relevance": hit.relevance,
        "confidence": hit.confidence,
    }
    shown = {name: value for name, value in read.items() if value}
    node = TextNode(
        id_=str(hit.chunk_id),
        text=hit.text,
        metadata={**unread, **shown},
        # A model reads the text with the metadata, where ids cost tokens and say nothing.
        excluded_llm_metadata_keys=[name for name in unread if name not in shown],
        excluded_embed_metadata_keys=[name for name in unread if name not in shown],
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=str(hit.document_id))},
    )
    return NodeWithScore(node=node, score=hit.score)
