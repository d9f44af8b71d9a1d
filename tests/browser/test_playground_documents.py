"""Tests in a real Chromium of documents that the playground shows, changes, deletes and adds from a text."""

import asyncio

import httpx
import pytest
from playground_page import ASKS, AWAY, Playground
from playwright.async_api import Route

PASTE = """text => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    clipboardData.setData("text/html", `<p>${text}`);
    clipboardData.items.add(new File(["a picture"], "image.png", { type: "image/png" }));
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
}"""
MARKDOWN = """# The `Marks`

Lime
====

Sets **slowly** in `snake_case_` and snake_case_too,
see [the _wall_](https://example.org/a_b) and [here](../b.md).
- one
  goes on
  1. inner
- two

      code

| a | b \\| c |
|---|--:|
| 1 | *2* |

> quoted
> > twice

```py
# no heading
```

| a | c |
|---|---|
| 1 | 3 |
"""
DRAWN = [
    ["H2", "Lime"],
    ["P", "Sets slowly in snake_case_ and snake_case_too, see the wall and here."],
    ["UL", "one goes on\ninner\ntwo\ncode"],
    ["DIV", "a\tb | c\n1\t2"],
    ["BLOCKQUOTE", "quoted\ntwice"],
    ["PRE", "# no heading"],
    ["DIV", "a\tc\n1\t3"],
]
OUTLINE = "text => [...text.children].map(one => [one.tagName, one.innerText.trim().replace(/\\n+/g, '\\n')])"
DIRECTIONS = "texts => texts.map(text => getComputedStyle(text).direction)"


async def test_a_document_is_read_as_one_text_around_a_passage(playground, client) -> None:
    page = playground.page
    paragraph = "The 🐦 gauge of pier {} was levelled again, and its readings were compared with the old staff. "
    content = "\n\n".join(f"# Part {number}\n\n{paragraph.format(number) * 9}" for number in range(200))
    stored = (await client.post("documents", json={"uri": "long.md", "content": content})).json()
    path = f"documents/{stored['document_id']}"
    (chunk,) = (await client.get(f"{path}/chunks", params={"offset": 150, "limit": 1})).json()["chunks"]
    at_passage = f"{playground.url}/#document?id={stored['document_id']}&chunk={chunk['chunk_id']}"
    await page.goto(f"{at_passage}&at=150")
    await page.locator(".wanted:focus").wait_for()
    wanted = " ".join(await page.locator(".wanted").all_inner_texts())
    assert wanted.split() == [word for word in chunk["content"].split() if word != "#"]
    headings = page.locator(".text h2")
    assert 10 < await headings.count() < 150
    for name in ("Earlier text", "Later text"):
        while await page.get_by_role("button", name=name).is_visible():
            await page.get_by_role("button", name=name).click()
    await page.locator(".text > :focus").wait_for()
    assert await headings.all_inner_texts() == [f"Part {number}" for number in range(1, 200)]
    await page.goto(f"{at_passage}&at=3")
    await page.get_by_text("The passage is no longer where it was").wait_for()
    await client.delete(path)


async def test_a_document_that_comes_late_does_not_fail_over_another(playground, client) -> None:
    page = playground.page
    texts = [{"uri": f"{name}.md", "content": f"# {name}\n\nA text."} for name in ("pier", "weir")]
    late, other = [(await client.post("documents", json=one)).json()["document_id"] for one in texts]
    released = await playground.hold("**/documents/*", late, status=503, json=AWAY)
    await page.goto(f"{playground.url}/#document?id={late}")
    async with page.expect_response(f"**/documents/{late}"):
        await page.evaluate("to => (location.hash = to)", f"#document?id={other}")
        await page.locator("#document-title", has_text="weir").wait_for()
        released.set()
    await playground.pause()
    assert await page.locator("#document-message").inner_text() == ""
    for one in (late, other):
        await client.delete(f"documents/{one}")


async def test_markdown_is_drawn_and_plain_text_keeps_its_lines(playground, client) -> None:
    page = playground.page
    stored = (await client.post("documents", json={"uri": "marks.md", "content": MARKDOWN})).json()
    await page.goto(f"{playground.url}/#document?id={stored['document_id']}")
    await page.locator(".text h2").wait_for()
    assert await page.locator(".text").evaluate(OUTLINE) == DRAWN
    assert await page.locator(".text a").evaluate_all("all => all.map(one => one.href)") == ["https://example.org/a_b"]
    await playground.assert_accessible()
    await client.delete(f"documents/{stored['document_id']}")
    files = {"files": ("plain.txt", b"# no heading\n  in two lines")}
    (plain,) = (await client.post("documents", files=files)).json()["documents"]
    await page.goto(f"{playground.url}/#document?id={plain['document_id']}")
    await page.locator(".plain").wait_for()
    assert await page.locator(".plain").evaluate(OUTLINE) == [["P", "# no heading\n  in two lines"]]
    await client.delete(f"documents/{plain['document_id']}")


@pytest.mark.parametrize("method", ["DELETE", "PATCH"])
async def test_what_comes_of_a_document_that_was_left_is_not_shown_in_place_of_another(
    playground: Playground, client: httpx.AsyncClient, method: str
) -> None:
    page, answered = playground.page, asyncio.Event()
    texts = [{"uri": f"{name}.md", "content": f"# {name}\n\nA text."} for name in ("pier", "weir")]
    ids = [(await client.post("documents", json=one)).json()["document_id"] for one in texts]
    pier, weir = (f"#document?id={one}" for one in ids)

    async def hold(route: Route) -> None:
        if route.request.method == method:
            await answered.wait()
        await route.continue_()

    await page.route("**/api/rag/documents/*", hold)
    await page.goto(f"{playground.url}/{pier}")
    async with page.expect_response(lambda response: response.request.method == method):
        if method == "DELETE":
            await page.get_by_role("button", name="Delete").click()
            await page.locator("#confirm").get_by_role("button", name="Delete").click()
        else:
            await page.get_by_role("button", name="Edit").click()
            await page.get_by_label("Title", exact=True).fill("Jetty")
            await page.get_by_role("button", name="Save").click()
        await page.evaluate("to => (location.hash = to)", weir)
        await page.get_by_role("heading", name="weir").wait_for()
        answered.set()
    await page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 200))")
    assert await page.locator("#document-title").inner_text() == "weir"
    assert await page.locator("#document-message").inner_text() == ""
    await page.unroute("**/api/rag/documents/*")
    for one in ids:
        await client.delete(f"documents/{one}")


@pytest.mark.parametrize("text", ["[" + 30 * "![a](b.png) " + "]", "[a](" + 100_000 * " " + "b"])
async def test_marks_that_are_not_closed_do_not_stop_the_page(
    playground: Playground, client: httpx.AsyncClient, text: str
) -> None:
    stored = (await client.post("documents", json={"uri": "open.md", "content": f"# Open\n\n{text}"})).json()
    await playground.page.goto(f"{playground.url}/#document?id={stored['document_id']}")
    await playground.page.locator(".text p").wait_for()
    await client.delete(f"documents/{stored['document_id']}")


async def test_a_document_is_changed_and_deleted_where_it_is_read_and_edits_are_kept_until_they_are_saved(
    playground: Playground, client: httpx.AsyncClient
) -> None:
    page = playground.page
    metadata = {"team": "tide", "draft": True, "site": {"pier": 4, "old": 1}}
    document = {"uri": "staff.md", "content": "# Staff\n\nThe staff was levelled.", "metadata": metadata}
    stored = (await client.post("documents", json=document)).json()
    path, view = f"documents/{stored['document_id']}", f"{playground.url}/#document?id={stored['document_id']}"
    await page.goto(view)
    await page.get_by_role("button", name="Edit").click()
    await page.get_by_label("Metadata as JSON").fill("[1]")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("metadata: Must be a JSON object").wait_for()
    await page.get_by_label("Title", exact=True).fill("Tide staff")
    await page.get_by_label("Text").fill("# Staff\n\nThe staff was *replaced*.")
    assert await page.evaluate(ASKS)
    await page.locator("nav [data-view=entities]").click()
    await client.patch(path, json={"uri": "tide/staff.md"})
    await page.go_back()
    await page.get_by_text("changed by someone else").wait_for()
    assert await page.locator("#document [name=uri]").input_value() == "tide/staff.md"
    await page.get_by_label("Metadata as JSON").fill('{"team": "masonry", "site": {"pier": 4}, "year": 2026}')
    assert await page.get_by_label("Title", exact=True).input_value() == "Tide staff"
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Saved.").wait_for()
    assert not await page.evaluate(ASKS)
    changed = (await client.get(path)).json()
    assert changed["title"] == await page.locator("#document-title").inner_text() == "Tide staff"
    assert changed["metadata"] == {"team": "masonry", "site": {"pier": 4}, "year": 2026}
    assert changed["uri"] == "tide/staff.md", "what was not edited is not sent"
    assert await page.locator(".text em").inner_text() == "replaced"
    await page.get_by_role("button", name="Edit").click()
    assert await page.locator("#document-message").inner_text() == ""
    await page.get_by_label("Text").fill("Nothing.")
    await client.patch(path, json={"uri": "tide/rod.md"})
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Not saved. The document was changed by someone else").wait_for()
    assert "replaced" in (await client.get(path)).json()["content"]
    await page.get_by_role("button", name="Cancel").click()
    await page.get_by_role("button", name="Discard").click()
    await page.locator(".text em").wait_for()
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("button", name="Cancel").click()
    assert (await client.get(path)).status_code == 200
    await page.get_by_role("button", name="Delete").click()
    await page.locator("#confirm").get_by_role("button", name="Delete").click()
    await page.get_by_text("“Tide staff” and its chunks are deleted. All documents").wait_for()
    assert await page.evaluate("document.activeElement.textContent") == "Document deleted"
    assert await page.title() == "Document deleted · Stepwell"
    assert (await client.get(path)).status_code == 404


async def test_fields_take_nothing_while_they_are_saved(playground: Playground, client: httpx.AsyncClient) -> None:
    page = playground.page
    stored = (await client.post("documents", json={"uri": "lock.md", "content": "# Lock\n\nA text."})).json()
    await page.goto(f"{playground.url}/#document?id={stored['document_id']}")
    await page.get_by_role("button", name="Edit").click()
    await page.get_by_label("Title", exact=True).fill("Sluice")
    released = await playground.hold("**/documents/*", "PATCH")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_label("Text").press("a")
    assert await page.get_by_label("Text").input_value() == "# Lock\n\nA text."
    assert await page.get_by_role("button", name="Cancel").is_disabled()
    released.set()
    await page.get_by_text("Saved.").wait_for()
    await client.delete(f"documents/{stored['document_id']}")


async def test_a_new_document_that_was_left_does_not_take_the_place_of_another_view(playground, client) -> None:
    page = playground.page
    await page.goto(f"{playground.url}/#new")
    await page.get_by_label("Text").fill("Lime slakes.")
    released = await playground.hold("**/documents", "POST")
    async with page.expect_response("**/documents") as sent:
        await page.get_by_role("button", name="Save").click()
        await page.locator("nav [data-view=entities]").click()
        released.set()
    stored = await (await sent.value).json()
    await playground.pause()
    assert page.url.endswith("#entities")
    await client.delete(f"documents/{stored['document_id']}")


async def test_a_text_that_is_copied_in_word_becomes_a_document_that_its_first_words_name(playground, client) -> None:
    page = playground.page
    await page.locator("nav a[href='#documents']").click()
    await page.locator("#documents-title").wait_for()
    await page.evaluate(PASTE, "Tide tables come from the harbour office.\n\nThey are printed in December.")
    await page.locator("#new-title").wait_for()
    assert await page.evaluate(ASKS)
    await page.get_by_label("Metadata as JSON").fill('{"team": "tide"}')
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Added.").wait_for()
    name = "Tide tables come from the harbour office."
    assert await page.locator("#document-title").inner_text() == name
    await page.locator("nav a[href='#documents']").click()
    await page.locator("#documents-list").get_by_role("link", name=name).wait_for()
    (stored,) = [one for one in (await client.get("documents")).json()["documents"] if one["uri"] is None]
    assert (stored["title"], stored["metadata"]) == ("", {"team": "tide"})
    await page.locator("nav [data-view=search]").click()
    await playground.search("harbour office december")
    await page.locator("#hit-1 h3", has_text=name).wait_for()
    await client.delete(f"documents/{stored['document_id']}")


async def test_a_new_text_that_a_job_stores_is_said_to_be_accepted(playground: Playground) -> None:
    page = playground.page
    await page.goto(f"{playground.url}/#new")
    await page.route("**/api/rag/documents", lambda route: route.fulfill(json={"job_id": "a", "warnings": []}))
    await page.get_by_label("Text").fill("Lime slakes.")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("A job stores the text.").wait_for()


async def test_texts_run_in_the_direction_of_their_script(playground: Playground, client: httpx.AsyncClient) -> None:
    page = playground.page
    parts = "\n\n- حجر\n- Lime\n\n> جدار\n\n| حجر | 7 |\n|---|---|"
    content = f"جدار المرفأ مبني من الحجر الجيري quexby.{parts}"
    document = {"uri": "جدار.md", "title": "جدار المرفأ", "content": content, "language": "ar"}
    stored = (await client.post("documents", json=document)).json()
    cards = await playground.search("quexby")
    assert await cards.first.locator("h3, .snippet").evaluate_all(DIRECTIONS) == ["rtl", "rtl"]
    await cards.first.locator("h3 a").click()
    await page.locator(".text[lang=ar]").wait_for()
    shown = page.locator("#document-title, .text > p, .text li, blockquote, table")
    assert await shown.evaluate_all(DIRECTIONS) == ["rtl"] * 6
    # The mark between two facts follows the first, whatever its script.
    assert await page.locator(".document-head .facts > span:first-child").evaluate_all(DIRECTIONS) == ["ltr"]
    assert await page.locator("#query").evaluate_all(DIRECTIONS) == ["ltr"]
    await client.delete(f"documents/{stored['document_id']}")
