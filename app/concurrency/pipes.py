"""Encodes messages between the service and a process with limits, and prepares such a process.

A message is its length in four bytes, then JSON in UTF-8; bytes that the message announces may follow it. JSON and not
pickle, because the service must not trust a process that reads hostile files.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

LENGTH_BYTES = 4
NICENESS = 10
"""How far the priority of such a process is below the service's, which answers requests meanwhile."""


def encode(message: dict[str, Any]) -> bytes:
    """A message with its length."""
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":"), default=str).encode()
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def decode(body: bytes) -> dict[str, Any]:
    """The message in the bytes after its length. Raises ValueError, TypeError."""
    return dict(json.loads(body))


def prepare() -> tuple[BinaryIO, BinaryIO]:
    """Lower the priority of this process and discard what libraries print; returns where it reads and writes."""
    import resource  # not on every system on which the service runs

    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(NICENESS)
    return source, target


def limit_memory(size: int) -> None:
    """Limit the address space of this process to so many bytes."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


def read(source: BinaryIO) -> dict[str, Any] | None:
    """The next message; None at the end."""
    length = source.read(LENGTH_BYTES)
    return decode(source.read(int.from_bytes(length, "big"))) if length else None


def write(target: BinaryIO, message: dict[str, Any], content: bytes = b"") -> None:
    """Write a message, and the bytes that it announces."""
    target.write(encode(message))
    target.write(content)
