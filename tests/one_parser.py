"""Lets the parsers of a module's tests use one process after the other: to load the libraries takes a process long."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from app.concurrency.limited_process import LimitedProcess
from app.parsing.process import Parser


@pytest.fixture(scope="module", autouse=True)
async def one_parser() -> AsyncIterator[None]:
    """Keeps the process of a parser that ends for the next one, but for commands, which have loops of their own."""
    loop = asyncio.get_running_loop()
    idle: list[LimitedProcess] = []
    begin, end = Parser.__init__, Parser.__aexit__

    def take(parser: Parser, *given: object, **options: object) -> None:
        begin(parser, *given, **options)  # type: ignore[arg-type]
        if idle and asyncio.get_running_loop() is loop:
            parser._process = idle.pop()

    async def leave(parser: Parser, *raised: object) -> None:
        if asyncio.get_running_loop() is loop:
            idle.append(parser._process)
        else:
            await end(parser, *raised)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parser, "__init__", take)
        patch.setattr(Parser, "__aexit__", leave)
        yield
    for process in idle:
        await process.stop()
