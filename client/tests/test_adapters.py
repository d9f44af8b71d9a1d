"""Tests that each framework's tools and retrievers return the hits of the service; a missing framework is skipped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from stepwell_client import AsyncClient, Client

READING = {
    *("search_documents", "find_similar_chunks", "get_document"),
    *("list_documents", "list_entities", "list_facets", "knowledge_stats", "list_sources"),
}


Searches = dict[str, tuple[dict[str, Any], list[str]]]


def ids(text: str) -> list[str]:
    return [hit["chunk_id"] for hit in json.loads(text)["results"]]


async def test_langchain(
    url: str, client: Client, query: dict[str, Any], expected: list[str], searches: Searches
) -> None:
    pytest.importorskip("langchain_core")
    from stepwell_client import langchain

    async with AsyncClient(url) as asynchronous:
        tools = {tool.name: tool for tool in langchain.tools(client, asynchronous=asynchronous)}
        assert tools.keys() == READING
        for name, (arguments, hits) in searches.items():
            assert ids(tools[name].invoke(arguments)) == hits
            assert ids(await tools[name].ainvoke(arguments)) == hits
        assert "refused" in tools["search_documents"].invoke({"query": " "})
        assert tools["search_documents"].args_schema["required"] == ["query"]
        retriever = langchain.StepwellRetriever(client=client, asynchronous=asynchronous, options={"limit": 4})
        assert [document.id for document in retriever.invoke(query["query"])] == expected
        assert [document.id for document in await retriever.ainvoke(query["query"])] == expected


async def test_a_langchain_retriever_ignores_no_option_and_keeps_metadata(url: str, client: Client) -> None:
    pytest.importorskip("langchain_core")
    from stepwell_client import langchain

    client.documents.add(
        "Slaked lime rests for a week.", uri="week.md", metadata={"title": "Putty", "page": None, "n": 1}
    )
    retriever = langchain.StepwellRetriever(client=client, options={"limit": 4})
    only = {"metadata": {"n": 1}}
    async with AsyncClient(url) as asynchronous:
        both = langchain.StepwellRetriever(client=client, asynchronous=asynchronous)
        for found in (
            retriever.invoke("lime", filters=only),
            await retriever.ainvoke("lime", filters=only),
            await both.ainvoke("lime", filters=only),
        ):
            assert [(one.metadata["uri"], one.metadata["title"]) for one in found] == [("week.md", "Putty")]
    with pytest.raises(ValueError, match="search_kwargs"):
        langchain.StepwellRetriever(client=client, search_kwargs={"filter": only})
    with pytest.raises(TypeError, match="filter"):
        retriever.invoke("lime", filter=only)
    client.documents.delete_by_uri("week.md")


async def test_llamaindex(
    url: str, client: Client, query: dict[str, Any], expected: list[str], searches: Searches
) -> None:
    pytest.importorskip("llama_index.core")
    from stepwell_client import llamaindex

    async with AsyncClient(url) as asynchronous:
        tools = {tool.metadata.name: tool for tool in llamaindex.tools(client, asynchronous=asynchronous)}
        assert tools.keys() == READING
        for name, (arguments, hits) in searches.items():
            assert ids(tools[name].call(**arguments).content) == hits
            assert ids((await tools[name].acall(**arguments)).content) == hits
        assert tools["search_documents"].metadata.to_openai_tool()["function"]["parameters"]["required"] == ["query"]
        retriever = llamaindex.StepwellRetriever(client, asynchronous=asynchronous, limit=4)
        assert [node.node_id for node in retriever.retrieve(query["query"])] == expected
        assert [node.node_id for node in await retriever.aretrieve(query["query"])] == expected


async def test_pydantic_ai(url: str, searches: Searches) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from stepwell_client import pydantic_ai

    def scripted(messages: list[Any], info: AgentInfo) -> ModelResponse:
        """Calls the tool that the prompt names, then answers with its result."""
        assert {tool.name for tool in info.function_tools} == READING
        last = messages[-1].parts[-1]
        if last.part_kind == "tool-return":
            return ModelResponse([TextPart(last.content)])
        return ModelResponse([ToolCallPart(last.content, searches[last.content][0])])

    async with AsyncClient(url) as client:
        agent = Agent(FunctionModel(scripted), toolsets=[await pydantic_ai.toolset(client)])
        for name, (_arguments, hits) in searches.items():
            assert ids((await agent.run(name)).output) == hits


async def test_google_adk(url: str, searches: Searches) -> None:
    pytest.importorskip("google.adk")
    from google.adk.agents import LlmAgent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.openapi_tool import OpenAPIToolset
    from google.genai import types
    from stepwell_client import adk

    class Scripted(BaseLlm):
        """Calls the tool that the prompt names, then answers with its result."""

        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            last = llm_request.contents[-1].parts[-1]
            if last.function_response:
                part = types.Part(text=json.dumps(last.function_response.response))
            else:
                part = types.Part.from_function_call(name=last.text, args=searches[last.text][0])
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    async with AsyncClient(url) as client:
        of_document = OpenAPIToolset(spec_dict=await client.tools.openapi(), allow_private_network_access=True)
        for tools in (await adk.tools(client), [of_document]):
            agent = LlmAgent(name="reader", model=Scripted(model="scripted"), tools=tools)
            runner = InMemoryRunner(agent)
            for name, (_arguments, hits) in searches.items():
                events = await runner.run_debug(name, quiet=True, session_id=name)
                assert ids(events[-1].content.parts[-1].text) == hits


async def test_openai_agents(url: str, searches: Searches) -> None:
    pytest.importorskip("agents")
    from agents.tool_context import ToolContext
    from stepwell_client import openai_agents

    async with AsyncClient(url) as client:
        tools = {tool.name: tool for tool in await openai_agents.tools(client)}
        assert tools.keys() == READING
        for name, (given, hits) in searches.items():
            arguments = json.dumps(given)
            context = ToolContext(None, tool_name=name, tool_call_id="1", tool_arguments=arguments)
            assert ids(await tools[name].on_invoke_tool(context, arguments)) == hits
        for written in ('{"query": "lim', "[1]", '"lime"'):
            assert "refused" in await tools["search_documents"].on_invoke_tool(context, written)
        assert "documents" in await tools["knowledge_stats"].on_invoke_tool(context, "null")


def test_the_definitions_are_those_that_the_vendors_types_accept(client: Client) -> None:
    pydantic = pytest.importorskip("pydantic")
    openai, anthropic = pytest.importorskip("openai"), pytest.importorskip("anthropic")
    genai = pytest.importorskip("google.genai")
    for format, kind in (
        ("openai", openai.types.chat.ChatCompletionFunctionToolParam),
        ("openai-responses", openai.types.responses.FunctionToolParam),
        ("anthropic", anthropic.types.ToolParam),
        ("gemini", genai.types.FunctionDeclaration),
    ):
        for definition in client.tools.definitions(format):
            pydantic.TypeAdapter(kind).validate_python(definition)


def test_a_tool_that_the_key_may_not_call_is_refused_by_name(client: Client) -> None:
    langchain = pytest.importorskip("stepwell_client.langchain")
    with pytest.raises(ValueError, match="no_such_tool"):
        langchain.tools(client, names=["no_such_tool"])
    assert [tool.name for tool in langchain.tools(client, names=["get_document"])] == ["get_document"]
