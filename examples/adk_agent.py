"""Answers a question with the documents of a running service, with an agent of Google's Agent Development Kit.

    pip install './client[adk]'
    python examples/adk_agent.py "Why do the buoys not report every minute?"

Without GOOGLE_API_KEY a scripted model searches for the question and quotes the best passage.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from stepwell_client import AsyncClient, adk

INSTRUCTIONS = "Search the documents before you answer. Answer from the passages only, and cite their uri."


class ScriptedModel(BaseLlm):
    """Searches for the question, then quotes the best passage."""

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncIterator[LlmResponse]:
        last = llm_request.contents[-1].parts[-1]
        if last.function_response:
            best = last.function_response.response["results"][0]
            part = types.Part(text=f"{best['content']}\n({best['uri']})")
        else:
            part = types.Part.from_function_call(name="search_documents", args={"query": last.text, "limit": 3})
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def model() -> BaseLlm | str:
    return os.getenv("GEMINI_MODEL", "gemini-2.5-flash") if os.getenv("GOOGLE_API_KEY") else ScriptedModel(model="-")


async def answer(question: str) -> str:
    async with AsyncClient() as client:
        agent = LlmAgent(name="reader", model=model(), instruction=INSTRUCTIONS, tools=await adk.tools(client))
        events = await InMemoryRunner(agent).run_debug(question, quiet=True)
        return "".join(part.text or "" for part in events[-1].content.parts)


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]) or "Why do the buoys not report every minute?")))
