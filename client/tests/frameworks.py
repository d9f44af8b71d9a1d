"""Reads the lines of docs/agents.md.

Run as a program it prints the names of the Python frameworks, or with a name what the framework is installed with.
"""

# ruff: noqa: T201

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
SECTION = re.compile(
    r"^### (?P<title>[^\n]+)\n\n```sh\n(?:pip|npm) install (?P<packages>[^\n]+)\n```\n\n"
    r"```(?P<language>python|js)\n(?P<lines>.*?)^```",
    re.MULTILINE | re.DOTALL,
)


class Framework(NamedTuple):
    """The packages and the lines of a framework."""

    packages: list[str]
    language: str
    lines: str


FRAMEWORKS = {
    found["title"].lower().replace(" ", "-"): Framework(
        shlex.split(found["packages"]), found["language"], found["lines"]
    )
    for found in SECTION.finditer(PAGE.read_text(encoding="utf-8"))
}

if __name__ == "__main__":
    if sys.argv[1:]:
        print(*FRAMEWORKS[sys.argv[1]].packages)
    else:
        print(*(name for name, framework in FRAMEWORKS.items() if framework.language == "python"))
