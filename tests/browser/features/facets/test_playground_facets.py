"""Tests in a real Chromium that the playground filters by values of metadata with their numbers."""

import json

import httpx
from playground_page import AWAY, DESKTOP, PHONE, STORED, Playground

SCRIPT = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


async def test_facets_filter_a_search_by_values_of_metadata_with_their_numbers(notes: Playground, url: str) -> None:
    page = notes.page
    await notes.search("who is on call", depth="fast")
    team = page.locator(".facet", has=page.get_by_text("team", exact=True))
    await team.locator("summary").click()
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        (facet,) = (await client.get("/api/rag/facets", params={"key": "team"})).json()["facets"]
    expected = [f"{one['value']}{one['documents']}" for one in facet["values"]]
    assert await team.locator("li").all_text_contents() == expected
    chosen = [facet["values"][0]["value"], facet["values"][1]["value"]]
    for value in chosen:
        async with page.expect_request("**/api/rag/search") as sent:
            await team.get_by_label(value).check()
    assert (await sent.value).post_data_json["filters"] == {"metadata": {"team": {"in": chosen}}}
    await page.locator("#answer:not([aria-busy])").wait_for()
    await team.get_by_text("2 chosen").wait_for()
    await team.locator("li").first.wait_for()
    assert sorted(await team.locator("li").all_text_contents()) == sorted(expected), "its own values do not reduce them"
    assert await page.evaluate("document.activeElement.dataset.facet") == json.dumps(
        ["metadata team", chosen[1]], separators=(",", ":")
    )
    for value in chosen:
        async with page.expect_request("**/api/rag/search") as sent:
            await page.get_by_role("button", name=f"Remove the filter team: {value}").click()
    assert "filters" not in (await sent.value).post_data_json
    # The last drawing is over: a click on a summary that is drawn anew meanwhile is lost.
    await team.locator("summary .note").wait_for()
    author = page.locator(".facet", has=page.get_by_text("author", exact=True))
    await author.locator("summary").click()
    await author.get_by_label("Find a value of author").fill("ines")
    await author.locator("li", has_text="Ines Brandauer").wait_for()
    await author.locator("li").nth(1).wait_for(state="detached")
    await page.locator("[name=filters]").fill('{"metadata": {"team": "firmware"}}')
    await notes.search("who is on call", depth="fast")
    await page.locator("#answer .message", has_text="did you mean Firmware?").wait_for()


async def test_documents_are_filtered_and_the_address_keeps_it(playground: Playground) -> None:
    page, rows = playground.page, playground.page.locator("#documents-list strong")
    await page.locator("nav a[href='#documents']").click()
    await page.locator("#documents-filters").evaluate("filters => filters.open = true")
    await page.locator("#documents-form .facet summary", has_text=f"team {STORED}").click()
    await page.locator("#documents-form").get_by_role("checkbox", name="Reef").check()
    await page.locator("#documents-list .row").nth(3).wait_for(state="detached")
    assert await rows.all_inner_texts() == ["Note 058", "Note 059", "Note 060"]
    for facet, value in (("Folder 3", "shelf/even"), ("File type 2", "txt")):  # with the counts of what was chosen
        opened = page.locator("#documents-form .facet", has=page.locator("summary", has_text=facet))
        await opened.evaluate("facet => facet.open = true")  # another test may have opened it
        await page.locator("#documents-form").get_by_role("checkbox", name=value).check()
    await page.locator("#documents-list .row").nth(1).wait_for(state="detached")
    assert await rows.all_inner_texts() == ["Note 060"]
    assert await page.locator("#documents-filters-set").inner_text() == "3 set"
    await page.reload()
    await page.locator("#documents-list .row").first.wait_for()
    assert await rows.all_inner_texts() == ["Note 060"]
    await page.get_by_role("button", name="Remove the filter team: Reef").click()
    await page.locator("#documents-list").get_by_text("Note 050").wait_for()


async def test_markup_in_keys_and_values_is_shown_as_text(playground: Playground, client: httpx.AsyncClient) -> None:
    page = playground.page
    metadata = {f"key {SCRIPT}": SCRIPT, "constructor": ["a", "b"], "k" * 60: "v"}
    stored = (await client.post("documents", json={"content": "Zorvex.", "metadata": metadata})).json()
    await playground.search('"zorvex"')
    await page.locator("#view-search").get_by_role("button", name="more keys").click()
    hostile = page.locator("#view-search .facet", has_text=f"key {SCRIPT}")
    await hostile.locator("summary").click()
    assert SCRIPT in await hostile.locator(".choices").inner_text()
    await page.set_viewport_size(PHONE)
    assert await playground.overflow() == 0
    await page.set_viewport_size(DESKTOP)
    others = page.locator("#view-search .facet", has_text="constructor")
    await others.locator("summary").click()
    for index in (0, 1):
        await others.get_by_role("checkbox").nth(index).check()
        await others.get_by_text(f"{index + 1} chosen").wait_for()
    await page.locator("#answer:not([aria-busy])").wait_for()
    assert await page.locator("main img, main script").count() == 0
    await client.delete(f"documents/{stored['document_id']}")


async def test_facets_that_fail_late_do_not_hide_those_of_newer_filters(notes: Playground) -> None:
    page = notes.page
    await page.locator("#options").evaluate("options => options.open = true")
    await page.locator("#options .facet").first.wait_for()
    released = await notes.hold("**/facets*", "2020-01-01", status=503, json=AWAY)
    date = page.locator("[name=created_after]")
    await date.fill("2020-01-01")
    async with page.expect_response("**/facets*2019*"):
        await date.fill("2019-01-01")
    async with page.expect_response(lambda response: response.status == 503):
        released.set()
    await notes.pause()
    assert await page.locator("#options .facets").is_visible()


async def test_values_that_cannot_be_found_are_said(notes: Playground) -> None:
    page = notes.page
    await page.locator("#options").evaluate("options => options.open = true")
    author = page.locator(".facet", has=page.get_by_text("author", exact=True))
    await author.evaluate("facet => facet.open = true")
    await page.route("**/facets*prefix*", lambda route: route.fulfill(status=503, json=AWAY))
    await author.get_by_label("Find a value of author").fill("ines")
    await author.get_by_text("The database is away.").wait_for()
