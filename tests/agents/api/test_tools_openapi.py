"""Tests the small OpenAPI document of the tools."""

from __future__ import annotations

import json

from api_caller import Caller
from openapi_spec_validator import validate

from app.agents import registry, tool_formats
from app.kinds import COMPAT_TOOLS, OPTIONAL_TOOLS

MOST_BYTES = 24 * 1024


async def test_the_document_has_one_typed_operation_a_tool_that_can_be_called(caller: Caller) -> None:
    document = (await caller.client.get("/api/rag/tools/openapi.json")).json()
    validate(document)
    operations = {item["post"]["operationId"]: path for path, item in document["paths"].items()}
    assert list(operations) == [
        tool.name for tool in registry.list_offered({"search", "write"}, optional=OPTIONAL_TOOLS)
    ]
    assert document["servers"] == [{"url": "http://localhost"}]
    answer = await caller.client.post(operations["search_documents"], json={"query": "lime"})
    assert answer.json()["results"] == []
    assert (await caller.client.post(operations["knowledge_stats"])).json()["documents"] == 0
    refused = await caller.client.post(operations["search_documents"])
    assert [error["field"] for error in refused.json()["errors"]] == ["query"]


def test_the_document_of_all_tools_is_small() -> None:
    tools = registry.list_offered(["admin"], optional=(*OPTIONAL_TOOLS, *COMPAT_TOOLS))
    document = tool_formats.openapi_document(tools, server="https://stepwell.example")
    assert len(json.dumps(document, separators=(",", ":"))) < MOST_BYTES
