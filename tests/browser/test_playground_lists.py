"""Tests of the playground's lists of documents and entities in a real Chromium."""

from playground_page import AWAY, STORED, Playground
from playwright.async_api import Page, Route


async def titles(page: Page) -> list[str]:
    return await page.locator("#documents-list strong").all_inner_texts()


async def test_documents_are_walked_page_by_page_with_a_constant_number_of_rows(page: Page) -> None:
    await page.locator("nav a[href='#documents']").click()
    await page.locator("#documents-title:focus").wait_for()
    seen: list[str] = []
    for number, rows in ((1, 50), (2, STORED - 50)):
        await page.locator("#documents-pages").get_by_text(f"Page {number}, {rows} shown", exact=True).wait_for()
        await page.locator(".row:first-child", has_text=f"Note {len(seen) + 1:03}").wait_for()
        seen += await titles(page)
        assert await page.locator("#documents-list .row").count() <= 50
        if number == 1:
            await page.locator("#documents-pages").get_by_role("button", name="Next").click()
    assert seen == [f"Note {number:03}" for number in range(1, STORED + 1)]
    assert await page.locator("#documents-pages").get_by_role("button", name="Next").is_disabled()
    await page.locator("#documents-pages button:focus", has_text="Previous").wait_for()
    await page.locator("#documents-list a").last.click()
    await page.locator(".text").wait_for()
    await page.go_back()
    await page.locator("#documents-list a:focus", has_text=seen[-1]).wait_for()
    await page.locator("#documents-pages").get_by_role("button", name="Previous").click()
    link = page.locator("#documents-list a", has_text="Note 001")
    await link.wait_for()
    assert str(await link.get_attribute("href")).startswith("#document?id=")


async def test_documents_are_searched_and_sorted_and_the_address_keeps_it(page: Page) -> None:
    await page.locator("nav a[href='#documents']").click()
    await page.locator("#documents-form [name=query]").fill("odd note 01")
    await page.locator("#documents-list").get_by_text("Note 019").wait_for()
    names = {number: f"note {STORED - number:03} shelf/odd/{number:03}" for number in range(1, STORED, 2)}
    odd = [f"Note {STORED - number:03}" for number, name in sorted(names.items(), reverse=True) if "01" in name]
    await page.locator("#documents-list .row").nth(len(odd)).wait_for(state="detached")
    assert await titles(page) == odd
    await page.get_by_role("status").get_by_text(f"Page 1, {len(odd)} shown").wait_for()
    await page.locator("#documents-form [name=sort]").select_option("oldest")
    await page.locator("#documents-list .row:first-child", has_text=odd[-1]).wait_for()
    assert await titles(page) == odd[::-1]
    await page.reload()
    await page.locator("#documents-list .row").first.wait_for()
    assert await titles(page) == odd[::-1]
    assert await page.locator("#documents-form [name=sort]").input_value() == "oldest"


async def test_what_was_typed_last_does_not_change_the_address_of_another_view(playground: Playground) -> None:
    page = playground.page
    await page.locator("nav a[href='#documents']").click()
    await page.locator("#documents-list a").first.wait_for()
    await page.locator("#documents-form [name=query]").fill("odd")
    await page.evaluate("document.querySelector('#documents-list a').click()")
    await page.locator("#document-title").wait_for()
    await playground.pause()
    assert "#document?" in page.url


async def test_a_list_says_that_nothing_matches_while_filters_are_offered(playground: Playground) -> None:
    page = playground.page
    await page.locator("#documents-filters").evaluate("filters => filters.open = false")
    await page.goto(f"{playground.url}/#documents?query=nosuchname")
    await page.get_by_text("No document matches.").wait_for()
    await page.locator("#documents-filters summary").first.click()
    await playground.pause()
    assert await page.get_by_text("No document matches.").is_visible()


async def test_selected_documents_are_deleted_and_what_fails_is_said_and_can_be_repeated(page, client) -> None:
    documents = [{"uri": f"gone/{number}", "title": f"Gone {number}", "content": "Sand."} for number in range(3)]
    (await client.post("documents", json=documents)).raise_for_status()

    async def failing(route: Route) -> None:
        problem = {"status": 503, "title": "Overloaded", "detail": "Too much at once.", "code": "overloaded"}
        await route.fulfill(status=503, json=problem)

    await page.goto(f"{page.url.partition('#')[0]}#documents?query=gone")
    await page.get_by_label("Select Gone 1").check()
    assert await page.locator("#documents-bulk [role=status]").inner_text() == "1 selected"
    await page.get_by_label("Select this page").check()
    assert await page.locator("#documents-bulk [role=status]").inner_text() == "3 selected"
    (gone,) = (await client.get("documents", params={"uri": "gone/2"})).json()["documents"]
    await client.delete(f"documents/{gone['document_id']}")
    await page.get_by_role("button", name="Delete selected").click()
    assert await page.locator("#confirm-text").inner_text() == "3 documents with their chunks are removed for good."
    await page.route("**/documents/delete", failing, times=1)
    await page.get_by_role("button", name="Delete 3 documents").click()
    await page.get_by_text("Too much at once.").wait_for()
    await page.get_by_role("button", name="Delete selected").click()
    await page.get_by_role("button", name="Delete 3 documents").click()
    await page.get_by_text("2 of 3 deleted.").wait_for()
    assert await page.locator("#documents-list .row").count() == 0


async def test_entities_are_added_changed_merged_found_with_their_documents_and_deleted(page, client) -> None:
    crew = {"uri": "crew", "content": "Crew.", "metadata": {"author": "B. Okafor"}}
    (await client.post("documents", json=crew)).raise_for_status()
    await page.locator("nav a[href='#entities']").click()
    await page.get_by_role("button", name="New entity").click()
    dialog = page.locator("#entity-dialog")
    await dialog.get_by_label("Name", exact=True).fill("Ben Okafor")
    await dialog.get_by_label("Type").fill("Not a type")
    await dialog.get_by_role("button", name="Save").click()
    await dialog.locator(".problem").wait_for()
    assert await dialog.get_by_label("Type").get_attribute("aria-invalid") == "true"
    await dialog.get_by_label("Type").fill("person")
    await dialog.get_by_label("Facts").fill("Ben splices ropes.\n\nBen sails.")
    await dialog.get_by_role("button", name="Save").click()
    await page.get_by_text("Added Ben Okafor").wait_for()
    await page.get_by_role("button", name="Edit Ben Okafor").click()
    await page.locator("#entity-title", has_text="Edit Ben Okafor").wait_for()
    assert await dialog.get_by_label("Facts").input_value() == "Ben splices ropes.\nBen sails."
    await dialog.get_by_label("Role").fill("rigger")
    await dialog.get_by_label("Other names").fill("bokafor")
    async with page.expect_request("**/entities/*") as changed:
        await dialog.get_by_role("button", name="Save").click()
    request = await changed.value
    assert (request.method, request.post_data_json) == ("PATCH", {"aliases": ["bokafor"], "role": "rigger"})
    await page.locator("#entities-list .row", has_text="also bokafor").wait_for()
    await page.get_by_label("Select B. Okafor").check()
    assert await page.get_by_role("button", name="Merge", exact=True).is_disabled()
    await page.get_by_label("Select Ben Okafor").check()
    await page.get_by_role("button", name="Merge", exact=True).click()
    await page.get_by_role("button", name="Merge into Ben Okafor").click()
    await page.get_by_text("Merged 2 entities into Ben Okafor.").wait_for()
    await page.locator("#entities-list .row", has_text="also bokafor, B. Okafor").wait_for()
    rope = {"uri": "rope.md", "content": "Ben Okafor spliced the rope."}
    (await client.post("documents", json=rope)).raise_for_status()
    await page.locator("#entities-query").fill("b. okafor")
    await page.locator("#entities-query").press("Enter")
    await page.locator("#entities-list .row", has_text="by name, 1.00").first.wait_for()
    assert await page.locator("#entities-list strong").all_inner_texts() == ["Ben Okafor"]
    await page.locator("#entities-list .row summary").click()
    await page.locator("#entities-list .row").get_by_role("link", name="rope.md", exact=True).wait_for()
    await page.get_by_role("button", name="Delete Ben Okafor").click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_text("Deleted Ben Okafor.").wait_for()


async def test_selected_entities_stay_selected_where_another_list_does_not_come(page: Page, client) -> None:
    for name in ("Aud Okafor", "Ben Okafor"):
        (await client.post("entities", json={"type": "person", "name": name})).raise_for_status()
    await page.locator("nav a[href='#entities']").click()
    for name in ("Aud Okafor", "Ben Okafor"):
        await page.get_by_label(f"Select {name}").check()
    await page.route("**/entities/search", lambda route: route.fulfill(status=503, json=AWAY))
    await page.locator("#entities-query").fill("okafor")
    await page.locator("#entities-query").press("Enter")
    await page.locator("#entities-message .problem").wait_for()
    await page.get_by_role("button", name="Merge", exact=True).click()
    assert "“Aud Okafor”" in await page.locator("#confirm-text").inner_text()
    await page.keyboard.press("Escape")
    await page.unroute("**/entities/search")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/search") else None)
    await page.locator("#entities-query").press("Enter")
    await page.locator("#entities-bulk").wait_for(state="hidden")
    assert len(sent) == 1, "Enter searches once"
    for entity in (await client.get("entities", params={"type": "person"})).json()["entities"]:
        await client.delete(f"entities/{entity['entity_id']}")


async def test_axe_finds_no_violation_in_lists_and_dialogs_at_390_and_1280_pixels(playground, page, client, tmp_path):
    aud = {"type": "person", "name": "Aud Okafor", "aliases": ["aokafor"], "role": "rigger"}
    (await client.post("entities", json=aud)).raise_for_status()
    (tmp_path / "note.md").write_text("# Note")
    (tmp_path / "bad.pdf").write_text("%PDF-1.4 broken")
    await page.goto(f"{page.url.partition('#')[0]}#documents?query=note+03&file_types=md")
    await page.locator("#files").set_input_files([tmp_path / "note.md", tmp_path / "bad.pdf"])
    await page.get_by_text("1 of 2 files are stored.").wait_for()
    await page.locator("#documents-all").check()
    for view in ("documents", "entities", "new"):
        if view != "documents":
            await page.goto(f"{page.url.partition('#')[0]}#{view}?query=aud+okafor")
        await page.locator(f"#{view}-list .row, #view-{view} form textarea").first.wait_for()
        if view == "entities":
            await page.locator("#entities-list .row input").first.check()
            await page.get_by_role("button", name="New entity").click()
        await playground.assert_accessible()
        if view == "entities":
            await page.keyboard.press("Escape")
    await page.locator("nav a[href='#documents']").click()
    await page.locator("#uploads-clear").click()
