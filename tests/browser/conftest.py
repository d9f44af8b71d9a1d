"""Starts one headless Chromium, and a service with the sample notes on a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import harness
import pytest
from playground_page import CHROMIUM, FLAGS, PATIENCE_MS, Playground
from playwright.async_api import Browser, async_playwright

from app.config import Settings
from app.pipelines.running.services import Services
from app.store.connection.transactions import Database


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips the tests of this folder where no Chromium is installed."""
    if CHROMIUM is None:
        for item in items:
            if "browser" in item.path.parent.name:
                item.add_marker(pytest.mark.skip(reason="No Chromium is installed (Debian's package is `chromium`)."))


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        await started.close()


@pytest.fixture(scope="module")
async def services(database: Database) -> Services:
    """What the service runs with."""
    return await harness.services(database)


@pytest.fixture(scope="module")
async def url(services: Services) -> AsyncIterator[str]:
    """The address of a service without keys."""
    async with harness.running(Settings(auth="none"), services) as app, harness.listening(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
async def shared_page(browser: Browser, url: str) -> AsyncIterator[Playground]:
    """A page that the tests of a module share, in a window of a desktop."""
    async with await browser.new_context() as context:
        context.set_default_timeout(PATIENCE_MS)
        shared = Playground(await context.new_page(), url)
        await shared.open()
        yield shared


@pytest.fixture
async def playground(shared_page: Playground) -> AsyncIterator[Playground]:
    """The shared page with its options as at first; afterwards checks that it kept to its policy."""
    await shared_page.page.goto(f"{shared_page.url}/#search")
    await shared_page.page.locator("#options-reset").click()
    yield shared_page
    assert shared_page.violations() == []


@pytest.fixture
async def open_page(browser: Browser, url: str) -> AsyncIterator[Callable[..., Awaitable[Playground]]]:
    """Opens the playground with options of a browser context; afterwards checks that each page kept to its policy."""
    opened: list[Playground] = []
    async with AsyncExitStack() as stack:

        async def open_playground(path: str = "/", at: str = url, **options: Any) -> Playground:
            context = await stack.enter_async_context(await browser.new_context(**options))
            context.set_default_timeout(PATIENCE_MS)
            playground = Playground(await context.new_page(), at)
            opened.append(playground)
            await playground.open(path)
            return playground

        yield open_playground
        assert [violation for playground in opened for violation in playground.violations()] == []
