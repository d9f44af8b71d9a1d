"""Tests that the definitions of the tools are what strict model APIs accept, and are the committed ones."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import jsonschema
import pytest

from app.agents import registry, tool_formats
from app.agents.tool_results import ToolPassage
from app.serving import contract_command
from app.tools import Tool

COMMITTED = Path(__file__).parents[2] / "openapi"


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a schema."""
    if isinstance(schema, dict):
        yield schema
    children = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for child in children:
        yield from nodes(child)


@pytest.mark.parametrize("contract", [name for name in get_args(contract_command.Contract) if name != "api"])
def test_the_committed_definitions_are_those_of_the_registry(contract: contract_command.Contract) -> None:
    committed = (COMMITTED / f"{contract}.json").read_text(encoding="utf-8")
    assert committed == contract_command.text(contract), "run: make openapi"


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


def test_the_definitions_of_the_default_reading_tools_and_a_passage_stay_small() -> None:
    # 1,669 tokens of o200k_base for eight tools.
    definitions = [tool_formats.define(tool, "openai")["function"] for tool in registry.list_offered({"search"})]
    assert len(json.dumps(definitions, separators=(",", ":"))) < 7_200
    passage = ToolPassage(chunk_id=UUID(int=1), uri="a.md", start=100, content="")
    assert set(passage.compact()) == {"chunk_id", "uri", "start", "content"}


def test_a_definition_names_only_tools_that_exist() -> None:
    texts = json.dumps([tool_formats.define(tool, "mcp") for tool in registry.list_all()])
    verbs = {tool.name.partition("_")[0] for tool in registry.list_all()}
    named = {name for name in re.findall(r"[a-z]+_[a-z_]+(?=[ .,:])", texts) if name.partition("_")[0] in verbs}
    assert named <= {tool.name for tool in registry.list_all()}
