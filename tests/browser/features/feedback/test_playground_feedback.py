"""Tests in a real Chromium that hits of the playground are judged by thumbs."""

from app.feedback import store as feedback

QUESTION = "How do I get my money back for a train fare and a hotel?"


async def test_a_thumb_stores_a_judgement_and_a_second_click_takes_it_back(notes, services) -> None:
    cards = await notes.search(QUESTION)
    opened = str(await cards.first.locator("a").first.get_attribute("href"))
    states = []
    for name in ("Helpful", "Not helpful", "Not helpful"):
        async with notes.page.expect_response("**/api/rag/feedback"):
            await cards.first.get_by_role("button", name=name, exact=True).click()
        await cards.first.locator(".thumb:not([disabled]):focus", has_text=name).wait_for()
        chosen = cards.first.locator(".thumb[aria-pressed=true]")
        pressed = await chosen.evaluate_all("all => all.map(one => one.textContent)")
        async with services.db.reading("local") as reading:
            stored = [one async for one in feedback.list_all(reading, days=1)]
        assert all(one.query == QUESTION and str(one.document_id) in opened for one in stored)
        states.append((pressed, [one.helpful for one in stored]))
    assert states == [(["Helpful"], [True]), (["Not helpful"], [False]), ([], [])]
