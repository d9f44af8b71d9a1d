"""Tests in a real Chromium of the playground as a page: what it loads, what its policy stops, its key and problems."""

import asyncio
import json

import harness
import httpx
from playground_page import AWAY, Playground
from playwright.async_api import BrowserContext, Page, Route

from app.database.transactions import Database
from app.web import pages

SCRIPT = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
HOSTILE = f"# {SCRIPT}\n\n[a](javascript:document.title='owned') ![b](//x/y.png)\n\nZorvex {SCRIPT} ends."
CHOOSE = """([name, content]) => {
    const chosen = new DataTransfer();
    chosen.items.add(new File([content], name));
    document.getElementById("files").files = chosen.files;
    document.getElementById("files").dispatchEvent(new Event("change"));
}"""
COUNT_ALERTS = """() => {
    window.alerts = 0;
    const alertsOf = ({ addedNodes }) => [...addedNodes].filter((node) => node.role === "alert").length;
    const watched = new MutationObserver((changes) => changes.forEach((change) => (alerts += alertsOf(change))));
    watched.observe(document.body, { subtree: true, childList: true });
}"""
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
    assert json.loads(await page.locator("#document [name=metadata]").input_value()) == metadata
    await page.get_by_role("button", name="Cancel").click()
    await page.locator("#view-document").get_by_role("button", name="Delete").click()
    assert f"Title {SCRIPT}" in await page.locator("#confirm-text").inner_text()
    await page.keyboard.press("Escape")
    await page.goto(f"{playground.url}/#documents?query=onerror&folder={SCRIPT}")
    await page.get_by_role("button", name="Remove the filter folder").click()
    await page.locator("#documents-list").get_by_text(f"Title {SCRIPT}").wait_for()
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
    await opened.page.locator("#documents-list .row").first.wait_for()
    assert await opened.texts(".facet, .thumbs, .why-not") == []
    assert opened.violations() == []
    await opened.page.close()


async def test_the_page_loads_every_file_of_its_folder_and_its_policy_stops_what_it_does_not_hold(open_page, url):
    opened = await open_page("/playground")
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
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
    assert "This service needs a key" in await page.locator("#answer [role=alert]").inner_text()
    await page.locator("#answer").get_by_role("button", name="Enter a key").click()
    await page.locator("#key:focus").wait_for()
    await page.keyboard.press("Escape")
    await page.locator("#key-menu:not([open]) summary:focus").wait_for()
    await page.keyboard.press("Enter")
    await page.locator("#key").focus()
    await page.keyboard.type("sk_wrong")
    await page.keyboard.press("Tab")
    await page.locator("#access").get_by_text("does not accept this key").wait_for()
    user = harness.new_user()
    key = await harness.create_key(database, user)
    async with httpx.AsyncClient(base_url=keyed_url, headers={"X-API-Key": key}, timeout=60) as client:
        stored = await client.post("/api/rag/documents", json={"content": "# Lime mortar\n\nLime sets slowly."})
        assert stored.status_code == 201
    await page.locator("#key").fill(key)
    await page.locator("#key").press("Tab")
    await page.locator(".card h3", has_text="Lime mortar").wait_for()
    await page.get_by_text("This request as a command").click()
    assert "Bearer $STEPWELL_API_KEY" in await page.get_by_label("curl").input_value()
    assert key not in await page.evaluate(EVERYTHING_STORED)
    assert not [line for line in [*opened.logged, *opened.requested] if key in line]
    await page.locator("#key-menu summary").click()
    await page.locator("#key").fill("")
    await page.locator("#key").press("Enter")
    await page.locator("#answer .message").wait_for()
    assert await page.locator(".card").count() == 0, "what the key has shown goes with it"
    await page.locator("nav [data-view=documents]").click()
    await page.locator("#key-menu summary").click()
    await page.locator("#key").fill(key)
    await page.locator("#key").press("Enter")
    await page.locator("#key-menu:not([open]) summary:focus").wait_for()


async def test_nothing_that_one_key_has_shown_stays_when_another_is_typed_nor_are_its_files_sent(
    open_page, keyed_url: str, client: httpx.AsyncClient
) -> None:
    opened = await open_page(at=keyed_url)
    page = opened.page
    await page.get_by_role("button", name="Enter a key").click()
    await page.locator("#key").fill(client.headers["X-API-Key"])
    await page.locator("#key").press("Enter")
    assert await (await opened.search("lime")).count() > 0
    await page.goto(f"{keyed_url}/#documents?folder=shelf/even/")
    await page.locator("#documents-list .row input").first.check()
    await page.locator("#documents-filters .facet").first.wait_for()
    released = await opened.hold("**/documents/upload", status=500, json={"title": "Failed"})
    files = [{"name": name, "mimeType": "text/plain", "buffer": b"Lime."} for name in ("a.txt", "b.txt")]
    await page.locator("#files").set_input_files(files)
    await page.locator("#uploads .row").wait_for()
    await page.locator("#key-menu summary").click()
    await page.locator("#key").fill("sk_wrong")
    await page.locator("#key").press("Enter")
    await page.locator("#access").get_by_text("does not accept this key").wait_for()
    shown = "#documents-list .row, .card, .facet, #stats:not(:empty), .bulk:not([hidden])"
    assert await page.locator(shown).count() == 0
    released.set()
    await page.get_by_text("0 of 2 files are stored. The others were not sent.").wait_for()


async def test_what_is_typed_before_the_scripts_have_come_stays_and_enter_does_not_stop_them(
    context: BrowserContext, url: str
) -> None:
    page = await context.new_page()
    typed = asyncio.Event()

    async def late(route: Route) -> None:
        await typed.wait()
        await route.continue_()

    await page.route("**/main.js", late)
    await page.goto(url, wait_until="commit")
    await page.locator("#query").fill("lime")
    await page.locator("#query").press("Enter")
    typed.set()
    await page.locator(".welcome").wait_for()
    assert await page.locator("#query").input_value() == "lime"
    await page.close()


async def test_every_view_says_that_it_waits_below_a_heading_that_has_the_focus(page: Page, playground) -> None:
    for view in ("documents", "entities", "synonyms", "document?id=none"):
        released = await playground.hold("**/api/rag/**")
        await page.goto(f"{playground.url}/#{view}")
        section = page.locator("main > section:not([hidden])")
        await section.get_by_text("Waiting for the service").filter(visible=True).wait_for()
        await section.locator("h1:focus").wait_for()
        released.set()
        await section.locator(".waiting").first.wait_for(state="detached")
        await page.unroute_all()


async def test_a_problem_is_on_the_page_once(page: Page) -> None:
    await page.route("**/api/rag/**", lambda route: route.fulfill(status=503, json=AWAY))
    await page.locator("nav a[href='#documents']").click()
    for view in ("entities", "documents"):
        await page.locator(f"nav a[href='#{view}']").click()
        await page.locator(f"#view-{view} .problem").first.wait_for()
        assert await page.get_by_text("The database is away.").count() == 1


async def test_a_problem_of_two_calls_is_announced_once_and_a_failed_search_is_repeated_on_return(
    notes: Playground,
) -> None:
    page = notes.page
    await page.route("**/api/rag/**", lambda route: route.fulfill(status=503, json=AWAY))
    await notes.search("lime mortar")
    await page.evaluate(COUNT_ALERTS)
    async with page.expect_response("**/stats"), page.expect_response("**/documents?*"):
        await page.locator("nav a[href='#documents']").click()
    await page.locator("#view-documents .problem").wait_for()
    await notes.pause()
    assert await page.evaluate("alerts") == 1
    await page.unroute_all()
    await page.go_back()
    await page.locator(".card").first.wait_for()


async def test_a_page_that_a_proxy_returns_instead_of_an_answer_is_a_problem(playground: Playground) -> None:
    for status, said in ((200, "What came is not from the service."), (502, "Bad Gateway. Try again")):
        answered = await playground.hold(
            "**/api/rag/search", status=status, body="<p>Sign in", content_type="text/html"
        )
        answered.set()
        await playground.search("lime")
        await playground.page.locator("#answer").get_by_text(said).wait_for()


async def test_the_key_of_the_search_field_leaves_no_dialog(page: Page) -> None:
    await page.locator("nav a[href='#documents']").click()
    await page.locator("#documents-list .row input").first.check()
    await page.get_by_role("button", name="Delete selected").click()
    await page.locator("#confirm[open]").wait_for()
    await page.keyboard.press("/")
    assert await page.locator("#view-documents").is_visible()
    await page.keyboard.press("Escape")


async def test_the_page_begins_with_titles_that_differ(playground: Playground, client: httpx.AsyncClient) -> None:
    rows = [{"uri": f"tides.csv#row={number}", "title": "Tides", "content": f"Low at {number}"} for number in range(3)]
    (await client.post("documents", json=rows)).raise_for_status()
    await playground.page.goto(f"{playground.url}/#search")
    await playground.page.reload()
    offered = playground.page.locator(".samples button span")
    await offered.nth(2).wait_for()
    found = await offered.all_inner_texts()
    assert found[0] == "Tides"
    assert len(set(found)) == len(found) == 3
    for row in rows:
        (await client.delete("documents", params={"uri": row["uri"]})).raise_for_status()
