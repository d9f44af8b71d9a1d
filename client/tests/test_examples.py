"""Runs each example against a running service; one whose framework is missing is skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
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
