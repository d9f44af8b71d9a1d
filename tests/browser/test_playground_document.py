"""Tests of the playground's view of a document in a real Chromium."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx
import pytest
from playground_page import Playground

SCRIPT = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
DIRECTIONS = "texts => texts.map(text => getComputedStyle(text).direction)"


@pytest.fixture(scope="session")
def template(wide_template: str) -> str:
    """The database is empty at first, for vectors of the length that the fake embedder has."""
    return wide_template


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, timeout=60) as opened:
        yield opened


async def test_a_document_is_read_in_pages_around_a_passage(playground: Playground, client: httpx.AsyncClient) -> None:
    page = playground.page
    paragraph = "The tide gauge of pier {} was levelled again, and its readings were compared with the old staff. "
    content = "\n\n".join(f"# Part {number}\n\n{paragraph.format(number) * 4}" for number in range(100))
    stored = (await client.post("/api/rag/documents", json={"uri": "long.md", "content": content})).json()
    total, path = stored["chunk_count"], f"/api/rag/documents/{stored['document_id']}"
    (chunk,) = (await client.get(f"{path}/chunks", params={"offset": 60, "limit": 1})).json()["chunks"]
    at_passage = f"{playground.url}/#document?id={stored['document_id']}&chunk={chunk['chunk_id']}"
    await page.goto(f"{at_passage}&at=60")
    await page.locator(".chunk-wanted:focus").wait_for()
    shown = page.locator(".chunk .where span:first-child")
    assert await shown.all_inner_texts() == [f"Chunk {number}" for number in range(56, 96)]
    await page.get_by_role("button", name="Later chunks").click()
    await page.get_by_text(f"Chunk {total}", exact=True).wait_for()
    while await page.get_by_role("button", name="Earlier chunks").is_visible():
        await page.get_by_role("button", name="Earlier chunks").click()
        await page.locator(".chunks:not([aria-busy])").wait_for()
    assert await shown.all_inner_texts() == [f"Chunk {number}" for number in range(1, total + 1)]
    await page.goto(at_passage)
    await page.locator(".chunk-wanted:focus .where").get_by_text("Chunk 61").wait_for()
    await client.delete(path)


async def test_a_document_is_edited_and_deleted_where_it_is_read(
    playground: Playground, client: httpx.AsyncClient
) -> None:
    page = playground.page
    metadata = {"team": "tide", "draft": True, "site": {"pier": 4, "old": 1}}
    document = {"uri": "staff.md", "content": "# Staff\n\nThe staff was levelled.", "metadata": metadata}
    stored = (await client.post("/api/rag/documents", json=document)).json()
    path = f"/api/rag/documents/{stored['document_id']}"
    await page.goto(f"{playground.url}/#document?id={stored['document_id']}")
    await page.get_by_role("button", name="Edit").click()
    await page.get_by_label("Metadata as JSON").fill("[1]")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("metadata: Must be a JSON object").wait_for()
    await page.get_by_label("Title", exact=True).fill("Tide staff")
    await page.get_by_label("Metadata as JSON").fill('{"team": "masonry", "site": {"pier": 4}, "year": 2026}')
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Saved.").wait_for()
    changed = (await client.get(path)).json()
    assert changed["title"] == await page.locator("#document-title").inner_text() == "Tide staff"
    assert changed["metadata"] == {"team": "masonry", "site": {"pier": 4}, "year": 2026}
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("button", name="Cancel").click()
    assert (await client.get(path)).status_code == 200
    await page.get_by_role("button", name="Delete").click()
    await page.locator("#confirm").get_by_role("button", name="Delete").click()
    await page.locator("#view-documents").wait_for()
    assert (await client.get(path)).status_code == 404


async def test_html_in_a_document_is_text_in_its_view_its_form_and_the_facets(
    playground: Playground, client: httpx.AsyncClient
) -> None:
    page = playground.page
    metadata = {f"key {SCRIPT}": SCRIPT, "constructor": ["a", "b"], "__proto__x": {"a": SCRIPT}}
    document = {"uri": f"x/{SCRIPT}", "title": f"Title {SCRIPT}", "content": f"# {SCRIPT}\n\nZorvex {SCRIPT} ends."}
    stored = (await client.post("/api/rag/documents", json={**document, "metadata": metadata})).json()
    cards = await playground.search("zorvex")
    hostile = page.locator(".facet", has_text=f"key {SCRIPT}")
    await hostile.locator("summary").click()
    assert SCRIPT in await hostile.locator(".facet-values").inner_text()
    others = page.locator(".facet", has_text="constructor")
    await others.locator("summary").click()
    for index in (0, 1):
        await others.get_by_role("checkbox").nth(index).check()
        await others.get_by_text(f"{index + 1} chosen").wait_for()
    await page.locator("#answer:not([aria-busy])").wait_for()
    await cards.first.locator("h3 a").click()
    await page.locator(".chunk").wait_for()
    assert await page.locator("#document-title").inner_text() == f"Title {SCRIPT}"
    assert SCRIPT in await page.locator(".document-head .metadata").inner_text()
    assert f"Zorvex {SCRIPT} ends." in await page.locator(".chunk").inner_text()
    await page.get_by_role("button", name="Edit").click()
    assert json.loads(await page.get_by_label("Metadata as JSON").input_value()) == metadata
    await page.get_by_role("button", name="Delete").click()
    assert f"Title {SCRIPT}" in await page.locator("#confirm-text").inner_text()
    await page.keyboard.press("Escape")
    assert await page.locator("main img, main script, dialog img").count() == 0
    assert await page.title() == "Stepwell playground"
    await client.delete(f"/api/rag/documents/{stored['document_id']}")


async def test_texts_run_in_the_direction_of_their_script(playground: Playground, client: httpx.AsyncClient) -> None:
    page = playground.page
    document = {"uri": "wall.md", "title": "جدار المرفأ", "content": "جدار المرفأ مبني من الحجر الجيري quexby."}
    stored = (await client.post("/api/rag/documents", json=document)).json()
    cards = await playground.search("quexby")
    assert await cards.first.locator("h3, .snippet").evaluate_all(DIRECTIONS) == ["rtl", "rtl"]
    await cards.first.locator("h3 a").click()
    await page.locator(".chunk").wait_for()
    assert await page.locator("#document-title, .chunk .passage").evaluate_all(DIRECTIONS) == ["rtl", "rtl"]
    assert await page.locator("#query").evaluate_all(DIRECTIONS) == ["ltr"]
    await client.delete(f"/api/rag/documents/{stored['document_id']}")
