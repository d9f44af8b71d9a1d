"""Reads the instructions of the Dockerfile."""

import json
import re
from pathlib import Path

TEXT = (Path(__file__).parents[1] / "Dockerfile").read_text()


def instructions() -> list[list[str]]:
    """Each instruction and its arguments; comments and line continuations are removed."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*$", "", TEXT, flags=re.MULTILINE))
    return [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]


def health_check() -> list[str]:
    """The command of the health check."""
    rest = next(rest for name, rest in instructions() if name == "HEALTHCHECK")
    command: list[str] = json.loads(rest.partition(" CMD ")[2])
    return command
