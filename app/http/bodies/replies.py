"""Builds and serialises JSON answers, outside the event loop where they are large."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Response
from pydantic import BaseModel
from pydantic_core import to_json

from app.concurrency import offload
from app.query.types import Answer

HIT_COST = 400
"""Cost of building and serialising a hit, in units of `offload.run`."""


def cost_of(answer: Answer) -> int:
    """The cost of building and serialising an answer, in units of `offload.run`."""
    return HIT_COST * sum(1 + len(hit.more) for hit in answer.hits)


async def json(size: int, build: Callable[[], BaseModel | Mapping[str, Any]], *, status: int = 200) -> Response:
    """What `build` returns as a response; `size` is about its length in characters."""
    content = await offload.run(size, _write, build)
    return Response(content, status, media_type="application/json")


def _write(build: Callable[[], BaseModel | Mapping[str, Any]]) -> bytes:
    return to_json(build())
