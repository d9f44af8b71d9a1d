"""Answers a question with the documents of a running service, with a LangChain model that calls tools.

    pip install './client[langchain]' langchain-openai
    python examples/langchain_agent.py "Why do the buoys not report every minute?"

Without OPENAI_API_KEY a scripted model searches for the question and quotes the best passage.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from stepwell_client import Client, langchain

INSTRUCTIONS = "Search the documents before you answer. Answer from the passages only, and cite their uri."
TURNS = 6


class ScriptedModel(BaseChatModel):
    """Searches for the question, then quotes the best passage."""

    _llm_type = "scripted"

    def bind_tools(self, tools: Any, **_options: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_args: Any, **_options: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            best = json.loads(str(last.content))["results"][0]
            message = AIMessage(f"{best['content']}\n({best['uri']})")
        else:
            call = {"name": "search_documents", "args": {"query": last.content, "limit": 3}, "id": "1"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


def chat_model() -> BaseChatModel:
    if not os.getenv("OPENAI_API_KEY"):
        return ScriptedModel()
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=os.getenv("OPENAI_MODEL", "gpt-5-mini"))


def answer(question: str) -> str:
    with Client() as client:
        tools = {tool.name: tool for tool in langchain.tools(client)}
        model = chat_model().bind_tools(list(tools.values()))
        messages: list[BaseMessage] = [SystemMessage(INSTRUCTIONS), HumanMessage(question)]
        for _turn in range(TURNS):
            reply = model.invoke(messages)
            messages.append(reply)
            if not reply.tool_calls:
                return str(reply.text)
            messages += [tools[call["name"]].invoke(call) for call in reply.tool_calls]
    raise SystemExit("The model has not answered.")


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:]) or "Why do the buoys not report every minute?"))
