"""Runs each example, and the lines of the documentation, against a service; a missing framework is skipped."""

from __future__ import annotations

import ast
import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
AGENTS = EXAMPLES.parent / "docs" / "agents.md"
FRAMEWORKS = {
    "langchain_agent": "langchain_core",
    "llamaindex_agent": "llama_index.core",
    "pydantic_ai_agent": "pydantic_ai",
    "adk_agent": "google.adk",
    "openai_agents_agent": "agents",
}


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == FRAMEWORKS.keys()


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_example_answers_from_the_documents(name: str, url: str) -> None:
    pytest.importorskip(FRAMEWORKS[name])
    keys = ("OPENAI_API_KEY", "GOOGLE_API_KEY", "STEPWELL_API_KEY")
    env = {variable: value for variable, value in os.environ.items() if variable not in keys} | {"STEPWELL_URL": url}
    command = [sys.executable, EXAMPLES / f"{name}.py", "When had the mortar of batch 3 hardened?"]
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    assert "batch 3 hardened in 5 days" in run.stdout
    assert "3.md" in run.stdout


@pytest.mark.parametrize("name", FRAMEWORKS)
async def test_the_lines_of_the_documentation_answer_from_the_documents(
    name: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The classes of the framework and the scripted model are those of the example."""
    pytest.importorskip(FRAMEWORKS[name])
    monkeypatch.setenv("STEPWELL_URL", url)
    for key in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "STEPWELL_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    question = "When had the mortar of batch 3 hardened?"
    given: dict[str, Any] = {**runpy.run_path(str(EXAMPLES / f"{name}.py")), "question": question}
    model = given.get("model") or given["chat_model"]
    given["model"] = model(question) if inspect.signature(model).parameters else model()
    blocks = re.findall(r"^```python\n(.*?)^```", AGENTS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    [lines] = [
        block for block in blocks if re.search(rf"import .*\b{name.removesuffix('_agent')}$", block, re.MULTILINE)
    ]
    compiled = compile(lines, str(AGENTS), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(compiled, given)
    if running is not None:
        await running
    assert "batch 3 hardened in 5 days" in str(given["answer"])
