"""Defines the time limits of a search, and the deadline that enforces the overall one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from app import errors


@dataclass(frozen=True, slots=True)
class Budget:
    """Time limits in seconds: for the query embedding, a language model's call, a re-ranker's call, and the whole."""

    embed_s: float = 3.0
    whole_s: float = 10.0
    llm_s: float = 4.0
    rerank_s: float = 2.0


_is_limited: ContextVar[bool] = ContextVar("is_limited", default=False)


@asynccontextmanager
async def deadline(seconds: float, *, work: str = "search") -> AsyncIterator[None]:
    """Cancel the block after `seconds`, unless it is part of a block with a deadline, which began earlier.

    Raises DeadlineExceeded, which names the work.
    """
    if _is_limited.get():
        yield
        return
    token = _is_limited.set(True)
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise errors.DeadlineExceeded(f"The {work} did not finish within its time limit.") from error
    finally:
        _is_limited.reset(token)
