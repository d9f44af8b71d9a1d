"""Overlaps the steps of a pipeline of async generators: each works ahead while the next one uses its results.

Results keep the order of the items. An error of a step is raised where its result is awaited. Closing the last
generator of a pipeline cancels the steps in progress and closes the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


async def each(
    items: AsyncGenerator[Item, None], step: Callable[[Item], Awaitable[Result]]
) -> AsyncGenerator[Result, None]:
    """The result of a step for each item."""
    async with aclosing(items):
        async for item in items:
            yield await step(item)


async def several(
    items: AsyncGenerator[Item, None], step: Callable[[Item], Awaitable[Result]], *, at_once: int
) -> AsyncGenerator[Result, None]:
    """The result of a step for each item, of which up to `at_once` are worked on at the same time."""
    running = deque[asyncio.Future[Result]]()
    try:
        async with aclosing(items):
            async for item in items:
                running.append(asyncio.ensure_future(step(item)))
                if len(running) == at_once:
                    yield await _first(running)
            while running:
                yield await _first(running)
    finally:
        for work in running:
            work.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _first(running: deque[asyncio.Future[Result]]) -> Result:
    result = await running[0]
    running.popleft()
    return result


async def ahead(items: AsyncGenerator[Item, None]) -> AsyncGenerator[Item, None]:
    """The items, of which one waits and the next is made while one is used."""
    ready: asyncio.Queue[Item | None] = asyncio.Queue(maxsize=1)

    async def make() -> None:
        async with aclosing(items):
            async for item in items:
                await ready.put(item)
        await ready.put(None)

    making = asyncio.create_task(make())
    try:
        while (item := await _next(ready, making)) is not None:
            yield item
    finally:
        making.cancel()
        await asyncio.gather(making, return_exceptions=True)


async def _next(ready: asyncio.Queue[Item | None], making: asyncio.Task[None]) -> Item | None:
    """The next item, None after the last. Raises the exception of the task that makes them."""
    getting = asyncio.ensure_future(ready.get())
    await asyncio.wait({getting, making}, return_when=asyncio.FIRST_COMPLETED)
    if not getting.done() and making.exception() is not None:
        getting.cancel()
        await making
    return await getting
