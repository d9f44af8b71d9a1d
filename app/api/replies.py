"""Builds and serialises JSON answers, outside the event loop where they are large."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Response
from pydantic import BaseModel

from app.pipelines import offload


async def json(size: int, build: Callable[[], BaseModel], *, status: int = 200) -> Response:
    """The model that `build` returns, as a response; `size` is about the answer's length in characters."""
    content = await offload.run(size, _written, build)
    return Response(content, status, media_type="application/json")


def _written(build: Callable[[], BaseModel]) -> str:
    return build().model_dump_json(by_alias=True)
