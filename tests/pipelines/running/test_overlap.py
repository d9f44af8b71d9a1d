"""Steps of a pipeline overlap, keep the order of the items, and end together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from app.pipelines.running import overlap


async def _numbers(count: int, closed: list[str]) -> AsyncGenerator[int, None]:
    try:
        for number in range(count):
            yield number
    finally:
        closed.append("numbers")


async def test_results_keep_the_order_of_the_items_whichever_ends_first() -> None:
    second_began = asyncio.Event()

    async def step(number: int) -> int:
        if number % 2:
            second_began.set()
        else:
            second_began.clear()
            await second_began.wait()
        return -number

    closed: list[str] = []
    results = overlap.ahead(overlap.several(_numbers(6, closed), step, at_once=2))
    assert [result async for result in results] == [0, -1, -2, -3, -4, -5]
    assert closed == ["numbers"]


async def test_the_next_item_is_made_while_one_is_used() -> None:
    made: list[int] = []

    async def make(number: int) -> int:
        made.append(number)
        return number

    items = overlap.ahead(overlap.each(_numbers(9, []), make))
    assert await anext(items) == 0
    while len(made) < 3:  # noqa: ASYNC110 - the items are made by a task
        await asyncio.sleep(0)
    assert made == [0, 1, 2]
    await items.aclose()
    assert made == [0, 1, 2]


@pytest.mark.parametrize("at_once", [1, 2])
async def test_an_error_of_a_step_is_raised_after_the_results_before_it(at_once: int) -> None:
    async def step(number: int) -> int:
        if number == 2:
            raise ValueError("two")
        return number

    results = overlap.ahead(overlap.several(_numbers(9, []), step, at_once=at_once))
    assert [await anext(results), await anext(results)] == [0, 1]
    with pytest.raises(ValueError, match="two"):
        await anext(results)


async def test_closing_the_last_generator_cancels_the_steps_in_progress_and_closes_the_others() -> None:
    closed: list[str] = []
    begun: set[int] = set()

    async def step(number: int) -> int:
        begun.add(number)
        if number:
            try:
                await asyncio.Event().wait()
            finally:
                closed.append(f"step {number}")
        return number

    results = overlap.ahead(overlap.several(_numbers(9, closed), step, at_once=2))
    assert await anext(results) == 0
    while len(begun) < 3:  # noqa: ASYNC110 - a task begins the steps
        await asyncio.sleep(0)
    await results.aclose()
    assert sorted(closed) == ["numbers", "step 1", "step 2"]
