"""Answers a question with the documents of a running service, with a LlamaIndex agent.

    pip install './client[llamaindex]' llama-index-llms-openai
    python examples/llamaindex_agent.py "Why do the buoys not report every minute?"

Without OPENAI_API_KEY a scripted model searches for the question and quotes the best passage.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.llms import LLM, ChatMessage, CompletionResponse, CustomLLM, LLMMetadata
from stepwell_client import AsyncClient, Client, llamaindex

INSTRUCTIONS = "Search the documents before you answer. Answer from the passages only, and cite their uri."


class ScriptedModel(CustomLLM):
    """Searches for the question, then quotes the best passage."""

    question: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted")

    def complete(self, prompt: str, formatted: bool = False, **_options: Any) -> CompletionResponse:
        _, _, observed = prompt.rpartition("Observation: ")
        if observed.startswith("{"):
            best = json.JSONDecoder().raw_decode(observed)[0]["results"][0]
            text = f"Thought: I can answer.\nAnswer: {best['content']}\n({best['uri']})"
        else:
            arguments = json.dumps({"query": self.question, "limit": 3})
            text = f"Thought: I need passages.\nAction: search_documents\nAction Input: {arguments}"
        return CompletionResponse(text=text)

    def stream_complete(self, prompt: str, formatted: bool = False, **options: Any) -> Any:
        yield self.complete(prompt, formatted, **options)


def model(question: str) -> LLM:
    if not os.getenv("OPENAI_API_KEY"):
        return ScriptedModel(question=question)
    from llama_index.llms.openai import OpenAI

    return OpenAI(model=os.getenv("OPENAI_MODEL", "gpt-5-mini"))


async def answer(question: str) -> str:
    async with AsyncClient() as asynchronous:
        with Client() as client:
            tools = llamaindex.tools(client, asynchronous=asynchronous)
        agent = ReActAgent(tools=tools, llm=model(question), system_prompt=INSTRUCTIONS, streaming=False)
        reply: ChatMessage = (await agent.run(question)).response
        return str(reply.content)


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]) or "Why do the buoys not report every minute?")))
