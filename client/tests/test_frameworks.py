"""Runs the lines of docs/agents.md against a service; a framework that is not installed is skipped."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import frameworks
import pytest
from stepwell_client import Client

NODE = Path(__file__).parents[2] / ".venv-adapters" / "vercel"
QUESTION = "When had the mortar of batch 3 hardened?"


@pytest.fixture(scope="module")
def offered(client: Client) -> set[str]:
    """The names of the tools that the service offers."""
    return {definition["name"] for definition in client.tools.definitions("mcp")}


def test_the_page_has_lines_for_each_framework_of_its_table() -> None:
    assert frameworks.FRAMEWORKS.keys() == {
        *("smolagents", "crewai", "autogen", "haystack", "dspy", "semantic-kernel", "agno", "vercel-ai-sdk")
    }


@pytest.mark.parametrize("name", [name for name, one in frameworks.FRAMEWORKS.items() if one.language == "python"])
async def test_a_framework_lists_the_tools_and_calls_one(name: str, url: str, offered: set[str]) -> None:
    lines = frameworks.FRAMEWORKS[name].lines
    if Path(sys.prefix).name != name:
        pytest.skip(f"{name} has an environment of its own")
    given: dict[str, Any] = {"url": f"{url}/mcp", "headers": {}, "question": QUESTION, "model": None}
    running = eval(compile(lines, str(frameworks.PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), given)
    if running is not None:
        await running
    assert set(given["names"]) == offered
    assert "batch 3 hardened in 5 days" in str(given["answer"])


async def test_fastmcp_makes_tools_of_the_openapi_document(client: Client, url: str, offered: set[str]) -> None:
    fastmcp, httpx2 = pytest.importorskip("fastmcp"), pytest.importorskip("httpx2")
    async with httpx2.AsyncClient(base_url=url) as http:
        server = fastmcp.FastMCP.from_openapi(openapi_spec=client.tools.openapi(), client=http)
        async with fastmcp.Client(server) as tools:
            assert {tool.name for tool in await tools.list_tools()} == offered
            answer = await tools.call_tool("search_documents", {"query": QUESTION})
    assert "batch 3 hardened in 5 days" in str(answer)


def test_the_vercel_ai_sdk_lists_the_tools_and_calls_one(url: str, offered: set[str]) -> None:
    if not NODE.is_dir():
        pytest.skip("the Vercel AI SDK is not installed")
    given = f"const url = {json.dumps(f'{url}/mcp')}, headers = {{}}, question = {json.dumps(QUESTION)};\n"
    script = given + frameworks.FRAMEWORKS["vercel-ai-sdk"].lines + "console.log(JSON.stringify({ names, answer }));\n"
    command = ["node", "--input-type=module", "--eval", script]
    run = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    answered = json.loads(run.stdout)
    assert set(answered["names"]) == offered
    assert "batch 3 hardened in 5 days" in json.dumps(answered["answer"])
