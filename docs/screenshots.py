"""Makes the screenshots of the playground in docs/images, on a service of its own with the sample notes.

    make screenshots

Needs Chromium, as the tests in tests/browser do.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import Browser, FloatRect, Locator, Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
MAX_BYTES = 150_000
START_S = 120.0
MARGIN = 12
DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
PERSON = "What has cliffclarke been working on?"
HOPS = "Which musical instrument does the author of the backfill guide play?"
OUTSIDE = "What is the capital of France?"
BUOYS = "Why do the buoys not report every minute?"


def main() -> None:
    """Take every screenshot."""
    IMAGES.mkdir(exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with serving() as url, sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        for name, take in SCREENSHOTS.items():
            image = IMAGES / f"{name}.png"
            image.write_bytes(take(browser, url))
            print(f"{image.name}: {image.stat().st_size:,} bytes")
            if image.stat().st_size > MAX_BYTES:
                raise SystemExit(f"{image.name} has more than {MAX_BYTES:,} bytes.")
        browser.close()


@contextmanager
def serving() -> Iterator[str]:
    """The address of a service with the sample notes, once it recognises the names in them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # root starts the embedded Postgres as another account
        command = [sys.executable, "-m", "app", "demo", "--port", url.rpartition(":")[2], "--data-dir", folder]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_S
            while not recognises_names(url):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("The service did not start: run `stepwell demo`.")
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()
            process.wait()


def recognises_names(url: str) -> bool:
    """Whether the service answers, and guides a search by a name."""
    try:
        answer = httpx.post(f"{url}/api/rag/search", json={"query": PERSON, "ranking": {"guidance": {"mode": "force"}}})
        return answer.status_code == 200 and bool(answer.json()["pass1_entities"])
    except httpx.TransportError:
        return False


def search(browser: Browser, url: str) -> bytes:
    """An answer that an entity guides."""
    page = opened(browser, url, DESKTOP)
    ask(page, PERSON)
    return page.screenshot()


def why(browser: Browser, url: str) -> bytes:
    """The components of a score."""
    page = opened(browser, url, DESKTOP)
    ask(page, PERSON)
    card = page.locator(".card").nth(1)
    card.locator(".why summary").click()
    card.locator(".parts").wait_for()
    return framed(page, card)


def hops(browser: Browser, url: str) -> bytes:
    """The last hits of several hops and the graph below them, in the dark scheme."""
    page = opened(browser, url, {**DESKTOP, "height": 720}, "dark")
    page.locator("[name=depth]").select_option("thorough")
    ask(page, HOPS)
    page.locator(".graph").evaluate("graph => graph.scrollIntoView({ block: 'end' })")
    return page.screenshot()


def documents(browser: Browser, url: str) -> bytes:
    """Documents that are selected from a filtered list."""
    page = opened(browser, url, DESKTOP)
    page.goto(f"{url}/#documents?sort=title&metadata=%7B%22team%22%3A%5B%22Firmware%22%5D%7D")
    for place in range(3):
        page.locator("#documents-list .row input").nth(place).check()
    page.evaluate("scrollTo(0, 265)")
    return page.screenshot()


def document(browser: Browser, url: str) -> bytes:
    """A document at a passage, in the dark scheme."""
    page = opened(browser, url, DESKTOP, "dark")
    ask(page, BUOYS)
    page.locator(".card h3 a").first.click()
    page.locator(".wanted").first.wait_for()
    return page.screenshot()


def why_not(browser: Browser, url: str) -> bytes:
    """Why a document is not in an answer."""
    page = opened(browser, url, DESKTOP)
    ask(page, BUOYS)
    panel = page.locator(".why-not")
    panel.locator("summary").click()
    panel.get_by_label("Path or URI of a stored document").fill("sample/howto/reset-gannet.md")
    panel.get_by_role("button", name="Explain").click()
    panel.locator(".placement").wait_for()
    return framed(page, panel)


def phone(browser: Browser, url: str) -> bytes:
    """A question that the notes do not answer, on a phone."""
    page = opened(browser, url, PHONE)
    ask(page, OUTSIDE)
    return page.screenshot()


def opened(browser: Browser, url: str, size: dict[str, int], scheme: str = "light") -> Page:
    """The playground in a new window, before the first search."""
    page = browser.new_context(viewport=size, color_scheme=scheme).new_page()
    page.goto(url)
    page.locator(".samples").wait_for()
    return page


def ask(page: Page, query: str) -> None:
    """Search, and take the focus off the field."""
    page.locator("#query").fill(query)
    page.locator("#query").press("Enter")
    page.locator("#answer-title").wait_for()
    page.locator("#query").blur()


def framed(page: Page, part: Locator) -> bytes:
    """A part of the page with a margin."""
    page.evaluate("scrollTo(0, 0)")
    box = part.bounding_box()
    assert box is not None
    clip = FloatRect(
        x=box["x"] - MARGIN, y=box["y"] - MARGIN, width=box["width"] + 2 * MARGIN, height=box["height"] + 2 * MARGIN
    )
    return page.screenshot(full_page=True, clip=clip)


SCREENSHOTS = {
    "search": search,
    "why": why,
    "hops": hops,
    "why-not": why_not,
    "document": document,
    "documents": documents,
    "phone": phone,
}


if __name__ == "__main__":
    main()
