"""Tests of the playground's documents, entities, key and policy in a real Chromium."""

import asyncio
import json
from pathlib import Path
from uuid import uuid4

import harness
import httpx
import made_files
import pytest
from playground_page import Playground
from playwright.async_api import BrowserContext, Route

from app.database.transactions import Database
from app.documents.storing import large_documents
from app.web import pages

SCRIPT = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
HOSTILE = f"# {SCRIPT}\n\n[a](javascript:document.title='owned') ![b](//x/y.png)\n\nZorvex {SCRIPT} ends."
CHOOSE = """([name, content]) => {
    const chosen = new DataTransfer();
    chosen.items.add(new File([content], name));
    document.getElementById("files").files = chosen.files;
    document.getElementById("files").dispatchEvent(new Event("change"));
}"""
PASTE = """text => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
}"""
ASKS = "!dispatchEvent(new Event('beforeunload', { cancelable: true }))"
"""Whether the browser would ask before the page is closed."""
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
"""
DRAWN = [
    ["H2", "Lime"],
    ["P", "Sets slowly in snake_case_ and snake_case_too, see the wall and here."],
    ["UL", "one goes on\ninner\ntwo\ncode"],
    ["DIV", "a\tb | c\n1\t2"],
    ["BLOCKQUOTE", "quoted\ntwice"],
    ["PRE", "# no heading"],
]
OUTLINE = "text => [...text.children].map(one => [one.tagName, one.innerText.trim().replace(/\\n+/g, '\\n')])"
DIRECTIONS = "texts => texts.map(text => getComputedStyle(text).direction)"
EVERYTHING_STORED = """async () => JSON.stringify({
    local: {...localStorage}, session: {...sessionStorage}, cookie: document.cookie, url: location.href,
    history: history.state, databases: await indexedDB.databases(), caches: await caches.keys(), name: window.name,
    html: document.documentElement.outerHTML,
})"""


async def test_markup_in_texts_metadata_names_and_files_is_shown_as_text_everywhere(playground, client) -> None:
    page = playground.page
    document = {"uri": f"x/{SCRIPT}", "title": f"Title {SCRIPT}", "content": HOSTILE}
    metadata = {f"key {SCRIPT}": SCRIPT, "author": f"Zorvex {SCRIPT}"}
    stored = (await client.post("documents", json={**document, "metadata": metadata})).json()
    entity = {"type": "person", "name": f"Aard {SCRIPT}", "role": SCRIPT, "aliases": [f"Zz {SCRIPT}"]}
    named = (await client.post("entities", json=entity)).raise_for_status().json()
    cards = await playground.search('"zorvex" img onerror ends')
    assert await cards.first.locator("h3").inner_text() == f"Title {SCRIPT}"
    assert await cards.first.locator(".uri").inner_text() == f"x/{SCRIPT}"
    assert f"Zorvex {SCRIPT}" in await cards.first.locator(".snippet").inner_text()
    await cards.first.locator("h3 a").click()
    await page.locator(".text").wait_for()
    assert await page.locator("#document-title").inner_text() == f"Title {SCRIPT}"
    assert await page.title() == f"Title {SCRIPT} · Stepwell"
    assert SCRIPT in await page.locator(".document-head .metadata").inner_text()
    assert f"Zorvex {SCRIPT} ends." in await page.locator(".text").inner_text()
    assert await page.locator(".text a").count() == 0
    await page.get_by_role("button", name="Edit").click()
    assert json.loads(await page.get_by_label("Metadata as JSON").input_value()) == metadata
    await page.get_by_role("button", name="Cancel").click()
    await page.locator("#view-document").get_by_role("button", name="Delete").click()
    assert f"Title {SCRIPT}" in await page.locator("#confirm-text").inner_text()
    await page.keyboard.press("Escape")
    await page.goto(f"{playground.url}/#documents?query=onerror&folder={SCRIPT}")
    await page.get_by_role("button", name="Remove the filter folder").click()
    await page.locator("#documents").get_by_text(f"Title {SCRIPT}").wait_for()
    await page.get_by_label(f"Select Title {SCRIPT}").wait_for()
    await page.evaluate(CHOOSE, [f"{SCRIPT}.bin", "\0\x01"])
    await page.locator("#uploads .row[data-state=failed]", has_text="onerror").wait_for()
    await page.locator("#uploads-clear").click()
    await page.locator("nav [data-view=entities]").click()
    await page.get_by_role("button", name="Edit Aard").click()
    await page.locator("#entity-title", has_text="onerror").wait_for()
    await page.locator("#entity-dialog").get_by_role("button", name="Cancel").click()
    assert await page.locator("main img, main script, dialog img").count() == 0
    assert await page.title() == "Entities · Stepwell"
    await client.delete(f"documents/{stored['document_id']}")
    await client.delete(f"entities/{named['entity_id']}")


async def test_the_page_works_without_the_features_that_may_be_left_out(context: BrowserContext, url: str) -> None:
    opened = Playground(await context.new_page(), url)
    await opened.page.route(
        "**/features/features.js", lambda route: route.fulfill(body="", content_type="text/javascript")
    )
    await opened.open()
    assert await (await opened.search("lime mortar")).count() == 5
    await opened.page.goto(f"{url}/#documents")
    await opened.page.locator("#documents .row").first.wait_for()
    assert await opened.texts(".facet, .thumbs, .why-not") == []
    assert opened.violations() == []
    await opened.page.close()


async def test_the_page_loads_every_file_of_its_folder_and_its_policy_stops_what_it_does_not_hold(open_page, url):
    opened = await open_page("/playground")
    async with httpx.AsyncClient(base_url=url) as client:
        assert (await client.get("/playground")).headers["content-security-policy"] == pages.POLICY
    loaded = {path.rpartition("/")[2] for path in opened.requested if "/playground/assets/" in path}
    assert loaded == {"tables.js"} | {path.name for path in pages.PLAYGROUND.rglob("*.*")} - {"index.html"}
    attacks = (
        "document.body.innerHTML = '<b>owned</b>'",
        "const b = document.querySelector('button'); b.setAttribute('onclick', 'document.title = 1'); b.click()",
        "document.body.append(Object.assign(document.createElement('script'), {text: 'document.title = 1'}))",
        "document.body.append(Object.assign(document.createElement('img'), {src: 'http://localhost:1/'}))",
        "await fetch('http://localhost:1/')",
    )
    for number, attack in enumerate(attacks, 1):
        await opened.page.evaluate(f"async () => {{ try {{ {attack} }} catch {{}} }}")
        assert len([line for line in opened.logged if line.startswith("error")]) >= number, attack
    assert await opened.page.title() == "Search · Stepwell"
    assert [failure for failure in opened.refused if failure != "csp"] == []
    opened.logged.clear()
    opened.requested.clear()


async def test_without_a_key_the_page_says_what_to_do_and_with_one_it_works_and_stores_it_nowhere(
    open_page, keyed_url: str, database: Database
) -> None:
    opened = await open_page(at=keyed_url)
    page = opened.page
    assert "This service needs a key" in await page.locator("#access").inner_text()
    await opened.search("mortar")
    assert "This service needs a key" in await page.locator("#answer").inner_text()
    await page.locator("#answer").get_by_role("button", name="Enter a key").click()
    await page.locator("#key:focus").wait_for()
    await page.keyboard.type("sk_wrong")
    await page.keyboard.press("Tab")
    await page.locator("#access").get_by_text("does not accept this key").wait_for()
    user = harness.new_user()
    key = await harness.create_key(database, user)
    async with httpx.AsyncClient(base_url=keyed_url, headers={"X-API-Key": key}) as client:
        stored = await client.post("/api/rag/documents", json={"content": "# Lime mortar\n\nLime sets slowly."})
        assert stored.status_code == 201
    await page.locator("#key").fill(key)
    await page.locator("#key").press("Tab")
    await page.locator(".card h3", has_text="Lime mortar").wait_for()
    await page.get_by_text("This request as a command").click()
    assert "Bearer $STEPWELL_API_KEY" in await page.locator(".code pre").first.inner_text()
    assert key not in await page.evaluate(EVERYTHING_STORED)
    assert not [line for line in [*opened.logged, *opened.requested] if key in line]
    await page.reload()
    await page.locator("#answer .message").wait_for()
    assert await page.locator("#key").input_value() == ""


async def test_an_uploaded_file_is_listed_found_and_deleted(playground: Playground, tmp_path: Path) -> None:
    word = f"quillon{uuid4().hex[:6]}"
    path = tmp_path / "Harbour log.md"
    path.write_text(f"# Harbour log\n\nThe {word} was oiled on Monday.")
    assert "Stored, 1 chunk" in await playground.upload(path)
    listed = playground.page.locator("#documents .row", has_text="Harbour log.md")
    await listed.wait_for()
    await playground.page.locator("nav [data-view=search]").click()
    cards = await playground.search(word)
    assert await cards.first.locator("mark").inner_text() == word
    await playground.page.locator("nav a[href='#documents']").click()
    await listed.get_by_label("Select Harbour log").check()
    await playground.page.get_by_role("button", name="Delete selected").click()
    await playground.page.get_by_role("button", name="Cancel", exact=True).click()
    await playground.page.get_by_role("button", name="Delete selected").click()
    await playground.page.get_by_role("button", name="Delete 1 document").click()
    await listed.wait_for(state="detached")
    await playground.page.locator("#documents-title:focus").wait_for()
    await playground.page.locator("#uploads-clear").click()


async def test_a_large_file_is_followed_until_it_is_stored_and_each_warning_is_in_its_row_once(
    playground: Playground, client: httpx.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "name;note\n" + "".join(f"row {number};gr\xfc\xdfe vom K\xf6nig {number}\n" for number in range(9))
    (table := tmp_path / "rows.csv").write_bytes(rows.encode("latin-1"))
    front = "---\ntitle: [broken\n---\n\nLime sets slowly."
    (packed := tmp_path / "packed.zip").write_bytes(made_files.archive({"in/bad.md": front.encode()}))
    (large := tmp_path / "large.md").write_text(front + "\n\nLime is slaked." * 200)
    shown = await playground.upload(table)
    assert "Stored, 9 chunks" in shown
    assert shown.count("Windows-1252") == 1
    assert "in/bad.md: frontmatter" in await playground.upload(packed)
    monkeypatch.setattr(large_documents, "LARGE", 2_000)
    shown = await playground.upload(large)
    stored = (await client.get("documents", params={"limit": 12})).json()["documents"]
    (chunks,) = [one["chunk_count"] for one in stored if one["uri"] == "large.md"]
    assert shown.count("frontmatter") == 1
    assert f"Stored, {chunks} chunks" in shown
    await playground.page.locator("#uploads-clear").click()
    ids = [one["document_id"] for one in stored if str(one["uri"]).startswith(("rows.", "packed.", "large."))]
    await client.post("documents/delete", json={"filters": {"document_ids": ids}})


async def test_the_page_asks_before_it_is_closed_while_a_file_is_sent(playground, client, tmp_path) -> None:
    page, held = playground.page, asyncio.Event()
    (path := tmp_path / "slow.md").write_text("Lime sets slowly.")

    async def hold(route: Route) -> None:
        await held.wait()
        await route.continue_()

    await page.route("**/documents/upload", hold)
    await page.locator("nav a[href='#documents']").click()
    await page.locator("#files").set_input_files(path)
    await page.locator("#uploads .row", has_text="slow.md").wait_for()
    assert await page.evaluate(ASKS)
    held.set()
    await page.locator("#uploads .row[data-state=done]", has_text="slow.md").wait_for()
    assert not await page.evaluate(ASKS), "nothing is sent"
    await page.locator("#uploads-clear").click()
    await client.delete("documents", params={"uri": "slow.md"})


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
    assert await headings.all_inner_texts() == [f"Part {number}" for number in range(1, 200)]
    await page.goto(f"{at_passage}&at=3")
    await page.get_by_text("The passage is no longer where it was").wait_for()
    await client.delete(path)


async def test_markdown_is_drawn_and_plain_text_keeps_its_lines(playground, client) -> None:
    page = playground.page
    stored = (await client.post("documents", json={"uri": "marks.md", "content": MARKDOWN})).json()
    await page.goto(f"{playground.url}/#document?id={stored['document_id']}")
    await page.locator(".text h2").wait_for()
    assert await page.locator(".text").evaluate(OUTLINE) == DRAWN
    assert await page.locator(".text a").evaluate_all("all => all.map(one => one.href)") == ["https://example.org/a_b"]
    await client.delete(f"documents/{stored['document_id']}")
    files = {"files": ("plain.txt", b"# no heading\n  in two lines")}
    (plain,) = (await client.post("documents", files=files)).json()["documents"]
    await page.goto(f"{playground.url}/#document?id={plain['document_id']}")
    await page.locator(".plain").wait_for()
    assert await page.locator(".plain").evaluate(OUTLINE) == [["P", "# no heading\n  in two lines"]]
    await client.delete(f"documents/{plain['document_id']}")


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
    await page.get_by_label("Text").fill("Nothing.")
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


async def test_a_pasted_text_becomes_a_document_that_its_first_words_name(playground, client) -> None:
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
    await page.locator("#documents").get_by_role("link", name=name).wait_for()
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
    document = {"uri": "wall.md", "title": "جدار المرفأ", "content": "جدار المرفأ مبني من الحجر الجيري quexby."}
    stored = (await client.post("documents", json=document)).json()
    cards = await playground.search("quexby")
    assert await cards.first.locator("h3, .snippet").evaluate_all(DIRECTIONS) == ["rtl", "rtl"]
    await cards.first.locator("h3 a").click()
    await page.locator(".text").wait_for()
    assert await page.locator("#document-title, .text p").evaluate_all(DIRECTIONS) == ["rtl", "rtl"]
    assert await page.locator("#query").evaluate_all(DIRECTIONS) == ["ltr"]
    await client.delete(f"documents/{stored['document_id']}")
