"""Tests that the definitions of the tools are what strict model APIs accept, and are the committed ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema
import pytest

from app.agents import registry, tool_formats
from app.agents.results import ToolPassage
from app.kinds import COMPAT_TOOLS, OPTIONAL_TOOLS
from app.serving import openapi
from app.tools import Tool

COMMITTED = Path(__file__).parents[2] / "openapi"


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a schema."""
    if isinstance(schema, dict):
        yield schema
    children = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for child in children:
        yield from nodes(child)


@pytest.mark.parametrize("contract", ["tools", "mcp"])
def test_the_committed_definitions_are_those_of_the_registry(contract: openapi.Contract) -> None:
    committed = (COMMITTED / f"{contract}.json").read_text(encoding="utf-8")
    assert committed == openapi.text(contract), "run: make openapi"


@pytest.mark.parametrize("tool", registry.list_all(), ids=lambda tool: tool.name)
def test_a_definition_is_what_every_model_api_accepts(tool: Tool) -> None:
    definition = tool_formats.define(tool, "mcp")
    for schema in (definition["inputSchema"], definition["outputSchema"]):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert not [node for node in nodes(schema) if {"$ref", "$defs", "anyOf", "oneOf", "allOf"} & node.keys()]
    for argument in definition["inputSchema"]["properties"].values():
        assert isinstance(argument["type"], str)
        assert argument["description"]
        if argument["type"] == "integer":
            assert {"minimum", "maximum", "default"} <= argument.keys()
    assert re.fullmatch(r"[a-z_]{1,64}", tool.name)
    assert len(tool.description) <= 1024
    hints = definition["annotations"]
    assert hints["readOnlyHint"] is (tool.scope == "search" and not tool.stores)
    assert hints["destructiveHint"] is (tool.scope == "write")


def test_a_key_is_offered_the_tools_of_its_scopes() -> None:
    def names(*scopes: str) -> set[str]:
        return {tool.name for tool in registry.list_offered(scopes)}

    assert {tool.name for tool in registry.list_all() if tool.is_optional} == {*OPTIONAL_TOOLS, *COMPAT_TOOLS}
    always = [tool for tool in registry.list_all() if not tool.is_optional]
    assert names("search") == {tool.name for tool in always if tool.scope == "search"}
    assert names("write") == set()
    assert names("admin") == names("search")
    writing = registry.list_offered(["write"], optional=OPTIONAL_TOOLS)
    assert {tool.name for tool in writing} == {"add_document", "delete_document", "add_source", "sync_source"}
    assert names("metrics") == set()


def test_each_format_has_the_fields_that_its_api_reads() -> None:
    tool = registry.find("search_documents")
    schema = tool_formats.define(tool, "mcp")["inputSchema"]
    assert tool_formats.define(tool, "openai")["function"]["parameters"] == schema
    assert tool_formats.define(tool, "openai-responses")["parameters"] == schema
    assert tool_formats.define(tool, "openai-responses")["strict"] is False
    assert tool_formats.define(tool, "anthropic")["input_schema"] == schema
    assert tool_formats.define(tool, "gemini")["parameters_json_schema"] == schema


def test_the_definitions_of_the_default_reading_tools_and_a_passage_stay_small() -> None:
    # 1,564 tokens of o200k_base for eight tools.
    definitions = [tool_formats.define(tool, "openai")["function"] for tool in registry.list_offered({"search"})]
    assert len(json.dumps(definitions, separators=(",", ":"))) < 7_200
    passage = ToolPassage(chunk_id=UUID(int=1), uri="a.md", start=100, content="")
    assert set(passage.compact()) == {"chunk_id", "uri", "start", "content"}
