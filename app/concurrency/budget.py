"""Defines the time limits of a search, and the deadline that enforces the overall one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app import errors


@dataclass(frozen=True, slots=True)
class Budget:
    """Time limits in seconds: for the query embedding, a language model's call, a re-ranker's call, and the whole."""

    embed_s: float = 3.0
    whole_s: float = 10.0
    llm_s: float = 4.0
    rerank_s: float = 2.0


@asynccontextmanager
async def deadline(seconds: float) -> AsyncIterator[None]:
    """Cancel the block after `seconds`. Raises DeadlineExceeded."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise errors.DeadlineExceeded("The search did not finish within its time limit.") from error
