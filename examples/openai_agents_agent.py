"""Answers a question with the documents of a running service, with an agent of the OpenAI Agents SDK.

    pip install './client[openai-agents]'
    python examples/openai_agents_agent.py "Why do the buoys not report every minute?"

Without OPENAI_API_KEY a scripted model searches for the question and quotes the best passage.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from stepwell_client import AsyncClient, openai_agents

INSTRUCTIONS = "Search the documents before you answer. Answer from the passages only, and cite their uri."


class ScriptedModel(Model):
    """Searches for the question, then quotes the best passage."""

    async def get_response(self, system_instructions: Any, input: Any, *_args: Any, **_options: Any) -> ModelResponse:
        last = input[-1] if isinstance(input, list) else {"content": input}
        if "output" in last:
            best = json.loads(last["output"])["results"][0]
            text = ResponseOutputText(text=f"{best['content']}\n({best['uri']})", type="output_text", annotations=[])
            reply: Any = ResponseOutputMessage(
                id="2", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            arguments = json.dumps({"query": last["content"], "limit": 3})
            reply = ResponseFunctionToolCall(
                call_id="1", name="search_documents", arguments=arguments, type="function_call"
            )
        return ModelResponse(output=[reply], usage=Usage(), response_id=None)

    def stream_response(self, *_args: Any, **_options: Any) -> Any:
        raise NotImplementedError("The scripted model does not stream.")


def model() -> Model | str:
    if os.getenv("OPENAI_API_KEY"):
        return os.getenv("OPENAI_MODEL", "gpt-5-mini")
    set_tracing_disabled(True)
    return ScriptedModel()


async def answer(question: str) -> str:
    async with AsyncClient() as client:
        tools = list(await openai_agents.tools(client))
        agent = Agent(name="reader", instructions=INSTRUCTIONS, model=model(), tools=tools)
        return str((await Runner.run(agent, question)).final_output)


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]) or "Why do the buoys not report every minute?")))
