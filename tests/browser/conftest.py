"""Starts one headless Chromium and one database for the whole folder, with two services on sockets.

One service has no keys and the sample notes, with the offline model. The other wants keys, and embeds at no cost; its
page sends the key of a user who has a shelf of small documents.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import harness
import httpx
import pytest
from playground_page import CHROMIUM, FLAGS, PATIENCE_MS, STORED, Playground
from playwright.async_api import BrowserContext, Page, async_playwright

from app.database import transactions
from app.database.transactions import Database
from app.entities.linking import mention_refresh
from app.models.protocols import Embedder
from app.services import Services
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips the tests of this folder where no Chromium is installed."""
    if CHROMIUM is None:
        for item in items:
            if "browser" in item.path.parts:
                item.add_marker(pytest.mark.skip(reason="No Chromium is installed (Debian's package is `chromium`)."))


@pytest.fixture(scope="session")
async def context() -> AsyncIterator[BrowserContext]:
    """What all pages share: in a context of its own a page would fetch and compile every module again."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        async with await browser.new_context() as opened:
            opened.set_default_timeout(PATIENCE_MS)
            yield opened
        await browser.close()


@pytest.fixture(scope="session")
async def database(new_database, demo_template) -> AsyncIterator[transactions.Database]:
    """The folder's database, which holds what `stepwell demo` stores."""
    address = await new_database(demo_template)
    opened = transactions.connect(address.service_dsn, pool_size=4, pool_wait_s=30.0)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
async def services(database: Database, offline_embedder: Embedder) -> Services:
    """What the service without keys runs with: the offline model, for which relevance is calibrated."""
    opened = await harness.services(database, offline_embedder)
    await mention_refresh.settle("local", opened)  # so that no job changes the notes while a test turns pages
    return opened


@pytest.fixture(scope="session")
async def url(services: Services) -> AsyncIterator[str]:
    """The address of the service without keys."""
    async with harness.running(Settings(auth="none"), services) as app, harness.listening(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
async def keyed_url(services: Services) -> AsyncIterator[str]:
    """The address of the service that wants keys."""
    fake = replace(services, embedder=FakeEmbedder())
    async with harness.running(Settings(auth="api_key"), fake) as app, harness.listening(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
async def client(keyed_url: str, database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service with keys, as a user with sixty documents."""
    key = await harness.create_key(database, harness.new_user())
    async with httpx.AsyncClient(base_url=f"{keyed_url}/api/rag/", headers={"X-API-Key": key}, timeout=60) as opened:
        documents = [
            {
                "uri": f"shelf/{'even' if number % 2 == 0 else 'odd'}/{number:03}.{'md' if number % 10 else 'txt'}",
                "title": f"Note {STORED - number:03}",
                "content": f"Lime {number}.",
                "metadata": {"team": "Reef" if number < 3 else "Tide"},
                "created_at": f"2024-01-01T00:{number // 60:02}:{number % 60:02}Z",
            }
            for number in range(STORED)
        ]
        (await opened.post("documents", json=documents)).raise_for_status()
        yield opened


@pytest.fixture(scope="session")
async def notes_page(context: BrowserContext, url: str) -> Playground:
    """A page of the sample notes that tests share."""
    return await _opened(context, url)


@pytest.fixture(scope="session")
async def shelf_page(context: BrowserContext, keyed_url: str, client: httpx.AsyncClient) -> Playground:
    """A page of the user with sixty documents that tests share; Chromium sends the key."""
    return await _opened(context, keyed_url, headers={"X-API-Key": client.headers["X-API-Key"]})


async def _opened(
    context: BrowserContext, url: str, path: str = "/", *, headers: dict[str, str] | None = None
) -> Playground:
    opened = Playground(await context.new_page(), url)
    await opened.page.set_extra_http_headers(headers or {})
    await opened.open(path)
    return opened


@pytest.fixture
async def notes(notes_page: Playground) -> AsyncIterator[Playground]:
    """The page of the sample notes as at first; afterwards checks that it kept to its policy."""
    await notes_page.start_again()
    yield notes_page
    await notes_page.page.unroute_all(behavior="ignoreErrors")
    assert notes_page.violations() == []


@pytest.fixture
async def playground(shelf_page: Playground) -> AsyncIterator[Playground]:
    """The page of the shelf as at first; afterwards checks that it kept to its policy."""
    await shelf_page.start_again()
    yield shelf_page
    await shelf_page.page.unroute_all(behavior="ignoreErrors")
    assert shelf_page.violations() == []


@pytest.fixture
async def open_page(context: BrowserContext, url: str) -> AsyncIterator[Callable[..., Awaitable[Playground]]]:
    """Opens another page; afterwards checks that each kept to its policy, and closes them."""
    opened: list[Playground] = []

    async def open_playground(path: str = "/", at: str = url) -> Playground:
        opened.append(await _opened(context, at, path))
        return opened[-1]

    yield open_playground
    for playground in opened:
        assert playground.violations() == []
        await playground.page.close()


@pytest.fixture
async def page(playground: Playground, client: httpx.AsyncClient) -> Page:
    """The page that the tests share."""
    return playground.page
