"""Answers a question with the documents of a running service, with a pydantic-ai agent.

    pip install './client[pydantic-ai]' 'pydantic-ai-slim[openai]'
    python examples/pydantic_ai_agent.py "Why do the buoys not report every minute?"

Without OPENAI_API_KEY a scripted model searches for the question and quotes the best passage.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from stepwell_client import AsyncClient, pydantic_ai

INSTRUCTIONS = "Search the documents before you answer. Answer from the passages only, and cite their uri."


def scripted(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Search for the question, then quote the best passage."""
    last = messages[-1].parts[-1]
    if last.part_kind == "tool-return":
        best = json.loads(str(last.content))["results"][0]
        return ModelResponse([TextPart(f"{best['content']}\n({best['uri']})")])
    return ModelResponse([ToolCallPart("search_documents", {"query": getattr(last, "content", ""), "limit": 3})])


def model() -> Model | str:
    name = os.getenv("OPENAI_MODEL", "gpt-5-mini")
    return f"openai:{name}" if os.getenv("OPENAI_API_KEY") else FunctionModel(scripted)


async def answer(question: str) -> str:
    async with AsyncClient() as client:
        agent = Agent(model(), instructions=INSTRUCTIONS, toolsets=[await pydantic_ai.toolset(client)])
        return (await agent.run(question)).output


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]) or "Why do the buoys not report every minute?")))
