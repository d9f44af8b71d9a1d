"""Tests in a real Chromium that the playground explains where a document stands."""

import json

import httpx
from playground_page import Playground


async def test_why_not_shows_where_a_document_stands_and_what_kept_it_out(notes: Playground, url: str) -> None:
    query, uri = "Why do the buoys not report every minute?", "sample/howto/reset-gannet.md"
    await notes.search(query)
    panel = notes.page.locator(".why-not")
    await panel.locator("summary").click()
    await panel.get_by_label("URI of a stored document").fill(uri)
    await notes.page.keyboard.press("Enter")
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        asked = await client.post("/api/rag/search/why", json={"query": query, "uri": uri, "depth": "auto"})
        expected = asked.raise_for_status().json()
    verdict = panel.locator("[data-kept-out-by]")
    assert await verdict.get_attribute("data-kept-out-by") == expected["kept_out_by"]
    assert await panel.locator(".placement-reason").inner_text() == expected["reason"]
    assert json.loads(await panel.locator(".placement code").inner_text()) == expected["change"]
    facts = await panel.locator(".facts span").all_inner_texts()
    assert facts[0] == expected["title"]
    assert facts[1].startswith(f"number {expected['legs']['vector']['rank']} by meaning")
    await panel.get_by_label("URI of a stored document").fill("no/such.md")
    await panel.get_by_role("button", name="Explain").click()
    await panel.get_by_text("No such passage.").wait_for()
    await notes.assert_accessible()


async def test_a_document_is_asked_about_once_at_a_time(notes: Playground) -> None:
    await notes.search("Why do the buoys not report every minute?")
    panel = notes.page.locator(".why-not")
    await panel.locator("summary").click()
    uri = panel.get_by_label("URI of a stored document")
    await uri.fill("sample/products/gannet.md")
    released = await notes.hold("**/search/why", "gannet.md")
    async with notes.page.expect_response("**/search/why"):
        await panel.get_by_role("button", name="Explain").click()
        await uri.fill("sample/howto/travel-claims.md")
        await uri.press("Enter")
        await notes.pause()
        assert await panel.locator(".placement").count() == 0
        released.set()
    await panel.locator(".facts", has_text="Gannet G3").wait_for()
