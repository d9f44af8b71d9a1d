"""Drives the playground in a page of a real Chromium, and records what the page logs and requests."""

import asyncio
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.async_api import Locator, Page, Route, ViewportSize

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--renderer-process-limit=1",
)
PATIENCE_MS = 60_000
AWAY = {"status": 503, "title": "Unavailable", "detail": "The database is away.", "code": "unavailable"}
"""What a service answers whose database is away."""
STORED = 60
"""How many documents the user of the shelf has at first."""
PHONE = ViewportSize(width=390, height=844)
DESKTOP = ViewportSize(width=1280, height=720)
SCREENS: dict[Literal["light", "dark"], ViewportSize] = {"light": PHONE, "dark": DESKTOP}
AXE_RUN = "axe.run({resultTypes: ['violations']})"
FAILED_RESPONSE = "Failed to load resource"
"""How Chromium logs a response with an error status, which some tests provoke."""
ASKS = "!dispatchEvent(new Event('beforeunload', { cancelable: true }))"
"""Whether the browser would ask before the page is closed."""


@dataclass(slots=True)
class Playground:
    """The page, at the address of a service."""

    page: Page
    url: str
    logged: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    refused: list[str | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda message: self.logged.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.logged.append(f"error: {error}"))
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("requestfailed", lambda request: self.refused.append(request.failure))

    def violations(self) -> list[str]:
        """Errors and warnings, such as those of the Content-Security-Policy, and requests to other origins."""
        errors = [line for line in self.logged if line.startswith(("error", "warning")) and FAILED_RESPONSE not in line]
        return errors + [url for url in self.requested if not url.startswith(f"{self.url}/")]

    async def open(self, path: str = "/") -> None:
        """Opens the page and waits for what it shows first."""
        await self.page.goto(f"{self.url}{path}")
        await self.page.locator(".welcome, #access .message, .row, .card, .text").first.wait_for()

    async def start_again(self) -> None:
        """Shows where to begin, with all options as at first and nothing of what was listed and selected before."""
        await self.page.goto(f"{self.url}/#search")
        await self.page.evaluate("for (const list of document.querySelectorAll('[id$=-list]')) list.replaceChildren()")
        await self.page.locator("#options-reset").click()

    async def search(self, query: str, **controls: str) -> Locator:
        """Types a query, sets selects by name, presses Enter; the cards of the hits."""
        await self.page.locator(".ranking").evaluate("(panel, open) => panel.open ||= open", bool(controls))
        for name, value in controls.items():
            await self.page.locator(f"select[name={name}]").select_option(value)
        await self.page.locator("#query").fill(query)
        async with self.page.expect_response("**/api/rag/search"):
            await self.page.locator("#query").press("Enter")
        await self.page.locator("#answer:not([aria-busy])").wait_for()
        return self.page.locator(".card")

    async def hold(self, pattern: str, words: str = "", **answer: Any) -> asyncio.Event:
        """Holds requests with these words until the event is set; then the service, or `answer`, answers them."""
        released = asyncio.Event()

        async def held(route: Route) -> None:
            request = route.request
            if words not in f"{request.method} {request.url} {request.post_data}":
                return await route.continue_()
            await released.wait()
            return await (route.fulfill(**answer) if answer else route.continue_())

        await self.page.route(pattern, held)
        return released

    async def pause(self) -> None:
        """Waits while the page shows what has come."""
        await self.page.wait_for_timeout(300)

    async def upload(self, path: Path) -> str:
        """Chooses a file, and returns what its row says once it is stored or refused."""
        await self.page.locator("nav a[href='#documents']").click()
        await self.page.locator("#files").set_input_files(path)
        row = self.page.locator("#uploads .row[data-state]", has_text=path.name)
        await row.wait_for()
        return await row.inner_text()

    async def assert_accessible(self) -> None:
        """Asserts that axe-core finds nothing and nothing scrolls sideways on a phone in light, a desktop in dark."""
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(AXE_SCRIPT)
        for color_scheme, size in SCREENS.items():
            await self.page.emulate_media(color_scheme=color_scheme)
            await self.page.set_viewport_size(size)
            results = AxeResults(await self.page.evaluate(AXE_RUN))
            assert results.violations_count == 0, results.generate_report()
            assert await self.overflow() == 0, size

    async def texts(self, selector: str) -> list[str]:
        """The texts of all elements of a selector."""
        return await self.page.locator(selector).all_inner_texts()

    async def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        width: Any = await self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return int(width)
