"""Tests of the playground's search in a real Chromium, on the sample notes."""

import asyncio
import json
from urllib.parse import parse_qsl

import httpx
import pytest
from playground_page import Playground

QUESTION = "How do I get my money back for a train fare and a hotel?"
HOPS = "Which musical instrument does the author of the backfill guide play?"
VALUE = "name => document.getElementById('search-form').elements[name].value"
CHOOSES_CHARACTERS = """query => query.dispatchEvent(
    new KeyboardEvent("keydown", { key: "ArrowDown", isComposing: true, bubbles: true, cancelable: true }))"""
PERSON = "What has cliffclarke been working on?"


async def answer_of(url: str, query: str, **fields: object) -> dict:
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        response = await client.post("/api/rag/search", json={"query": query, "depth": "auto", **fields})
        return response.raise_for_status().json()


async def test_enter_searches_and_shows_hits_with_marked_snippets_and_then_more(notes: Playground, url: str) -> None:
    cards = await notes.search(QUESTION)
    expected = (await answer_of(url, QUESTION, detail="compact"))["results"]
    assert await cards.count() == len(expected) == 5
    first, hit = cards.first, expected[0]
    assert await first.locator("h3").inner_text() == hit["title"]
    assert await first.locator(".uri").inner_text() == hit["uri"]
    assert await first.locator(".relevance").inner_text() == f"relevance {hit['relevance']:.2f}"
    for card, shown in zip(await cards.all(), expected, strict=True):
        snippet = shown["snippet"]
        assert " ".join((await card.locator(".snippet").inner_text()).split()) == " ".join(snippet["text"].split())
        marks = [snippet["text"][start:end] for start, end in snippet["matches"]]
        assert await card.locator(".snippet mark").all_inner_texts() == marks
    assert await notes.page.locator("#status").inner_text() == "5 passages, answer uncertain"
    await notes.page.get_by_role("button", name="More passages").click()
    await notes.page.locator("#hit-6 h3 a:focus").wait_for()
    chunks = await notes.page.locator(".card").evaluate_all("cards => cards.map(card => card.dataset.chunk)")
    assert len(chunks) == len(set(chunks)) == 10
    assert await notes.texts(".place") == [str(place) for place in range(1, 11)]
    assert await notes.texts("#answer-title, #status") == ["10 passages", "10 passages"]
    await cards.nth(5).locator(".why summary").click()
    await cards.nth(5).locator(".parts").wait_for()


async def test_marks_are_placed_by_code_points(notes: Playground, url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        document = {"uri": "gulls.md", "content": "🐦🐦 gulls 🐦 nest on the 𝒞astle quexby wall 🐦."}
        assert (await client.post("/api/rag/documents", json=document)).status_code == 201
        cards = await notes.search("quexby 𝒞astle")
        assert await cards.first.locator("mark").all_inner_texts() == ["𝒞astle", "quexby"]
        await client.delete("/api/rag/documents", params={"uri": "gulls.md"})


async def test_a_question_outside_the_notes_folds_away_what_is_no_likely_answer(notes: Playground) -> None:
    cards = await notes.search("What is the capital of France?")
    assert "No answer likely" in await notes.page.locator(".verdict").inner_text()
    assert await cards.first.is_hidden()
    await notes.page.get_by_text("Show the 5 nearest passages").click()
    assert await cards.first.is_visible()


@pytest.mark.parametrize("controls", [{"rerank": "cosine"}, {"depth": "thorough"}])
async def test_the_components_of_why_add_up_to_the_score(notes: Playground, url: str, controls: dict[str, str]) -> None:
    await notes.page.locator("[name=limit]").fill("3")
    cards = await notes.search(PERSON, **controls)
    ranking = {name: value for name, value in controls.items() if name != "depth"}
    fields = {"depth": controls.get("depth", "auto"), "limit": 3, "ranking": ranking}
    scores = [hit["score"] for hit in (await answer_of(url, PERSON, **fields))["results"]]
    for card, score in zip(await cards.all(), scores, strict=True):
        await card.locator(".why summary").click()
        await card.locator(".parts").wait_for()
        rows = await card.locator(".parts li").evaluate_all("rows => rows.map(row => Number(row.dataset.value))")
        assert rows[-1] == pytest.approx(score, abs=1e-4)
        assert len(rows) > 1
        assert sum(rows[:-1]) == pytest.approx(rows[-1], abs=1e-9)


async def test_an_offered_query_is_searched_and_its_hops_drawn_from_the_question_over_names_to_passages(notes, url):
    await notes.page.get_by_role("button", name="Which musical instrument").click()
    await notes.page.locator(".graph").wait_for()
    assert await notes.page.evaluate(VALUE, "query") == HOPS
    assert await notes.page.evaluate(VALUE, "depth") == "thorough"
    results = (await answer_of(url, HOPS, depth="thorough"))["results"]
    graph = notes.page.locator(".graph svg")
    places = [await notes.page.locator(part).first.bounding_box() for part in (".card", ".graph")]
    assert places[0]["y"] < places[1]["y"], "hits before the graph"
    names = {hit["via"]["name"] for hit in results if hit.get("via")}
    assert "Ines Brandauer" in names
    assert set(await graph.locator(".node-name title").all_text_contents()) == names
    assert await graph.locator(".node-passage").count() == len(results)
    assert await graph.locator(".node-question title").all_text_contents() == [HOPS]
    nodes = await graph.locator(".node").count()
    assert await graph.locator(".edge").count() == nodes - 1, "each node but the question is reached once"
    routes = await notes.texts(".route")
    assert len(routes) == sum("via" in hit for hit in results)
    assert "reached by Ines Brandauer in Backfill guide (title)" in " ".join(routes)


async def test_the_controls_are_sent_and_counted(notes: Playground) -> None:
    page = notes.page
    await page.locator(".ranking").evaluate("panel => panel.open = true")
    await page.locator("[name=group]").check()
    await page.locator("[name=collapse]").uncheck()
    await page.locator("[name=min_relevance]").fill("0")
    await page.locator("[name=recency]").select_option("newer")
    await page.locator("[name=created_after]").fill("2025-06-01")
    chosen = "(control, value) => { control.value = value; }"
    await page.locator("#view-search [name=folder]").evaluate(chosen, "sample")
    await page.locator("#view-search [name=file_types]").evaluate(chosen, "md, txt")
    await page.locator("[name=filters]").fill('{"metadata": {"tags": "people"}}')
    await page.locator("[name=limit]").fill("3")
    async with page.expect_request("**/api/rag/search") as sent:
        cards = await notes.search("who leads", depth="fast", mode="semantic", guidance="off", rerank="cosine")
    request = await sent.value
    simple = {"created_after": "2025-06-01T00:00:00Z", "folder": "sample", "file_types": ["md", "txt"]}
    assert request.post_data_json == {
        "query": "who leads",
        "mode": "semantic",
        "limit": 3,
        "filters": {"all": [simple, {"metadata": {"tags": "people"}}]},
        "detail": "compact",
        "collapse": "off",
        "ranking": {
            "guidance": {"mode": "off"},
            "rerank": "cosine",
            "recency": {},
            "min_relevance": 0,
            "group": {"by": "document"},
        },
    }
    assert len(await cards.all()) == 3
    assert await page.locator("#options-changed").inner_text() == "13 changed"
    assert await page.locator("#ranking-changed").inner_text() == "7 changed"
    await page.locator("#options-reset").click()
    assert await page.locator("#options-changed").is_hidden()


async def test_enter_in_a_field_changes_it_and_submits_the_form_in_one_search(notes: Playground) -> None:
    page = notes.page
    await notes.search("who leads")
    notes.refused.clear()
    await page.locator("#view-search [name=limit]").fill("3")
    async with page.expect_request("**/api/rag/search") as sent:
        await page.locator("#view-search [name=limit]").press("Enter")
    assert (await sent.value).post_data_json["limit"] == 3
    await page.locator("#answer:not([aria-busy])").wait_for()
    assert notes.refused == []


async def test_the_address_holds_query_and_options_for_back_and_for_another_page(notes: Playground) -> None:
    page = notes.page
    await notes.search(QUESTION, depth="fast", mode="semantic")
    first = await notes.texts(".card h3")
    await notes.search('"lime" & mortar')
    second, shared = await notes.texts(".card h3"), page.url
    held = {"query": '"lime" & mortar', "depth": "fast", "mode": "semantic"}
    assert dict(parse_qsl(shared.partition("#search?")[2])) == held
    assert await page.title() == '"lime" & mortar · Stepwell'
    async with page.expect_response("**/api/rag/search"):
        await page.go_back()
    await page.locator("#answer:not([aria-busy])").wait_for()
    assert await page.evaluate(VALUE, "query") == QUESTION
    assert await notes.texts(".card h3") == first
    await page.goto("about:blank")
    await page.goto(shared)
    await page.locator(".card").first.wait_for()
    assert await notes.texts(".card h3") == second
    assert {name: await page.evaluate(VALUE, name) for name in held} == held


async def test_a_slow_search_shows_its_progress_and_a_new_one_cancels_it(notes: Playground) -> None:
    page = notes.page

    async def hold(_route) -> None:
        pass

    await page.route("**/api/rag/search", hold, times=2)
    await page.locator("#query").fill("first question")
    await page.locator("#query").press("Enter")
    await page.locator("#progress progress").wait_for()
    await page.locator("#query").fill("second question")
    async with page.expect_event("requestfailed") as first:
        await page.locator("#query").press("Enter")
    assert (await first.value).post_data_json["query"] == "first question"
    await page.locator("#progress progress").wait_for()
    async with page.expect_event("requestfailed") as second:
        await page.locator("#progress").get_by_role("button", name="Cancel").click()
    assert (await second.value).post_data_json["query"] == "second question"
    assert await page.locator("#answer .message p").inner_text() == "The search was cancelled."
    async with page.expect_response("**/api/rag/search"):
        await page.get_by_role("button", name="Search again").click()
    await page.locator(".card, .weak").first.wait_for()
    assert await page.locator("#progress progress").count() == 0


async def test_a_refused_request_is_shown_in_words_with_its_field(notes: Playground) -> None:
    page = notes.page
    await page.locator("[name=filters]").fill('{"metadata": 5}')
    await notes.search("lime")
    assert await page.locator(".problem li").inner_text() == "filters.metadata: Must be a JSON object."
    assert await page.locator("[name=filters]").get_attribute("aria-invalid") == "true"
    await page.locator("[name=filters]").fill("{metadata")
    await page.locator("#query").press("Enter")
    await page.get_by_text("The filter must be a JSON object").wait_for()
    await page.goto(f"{notes.url}/#search")
    assert await page.locator("[aria-invalid]").count() == 0
    await notes.search("lime " * 2_000)
    assert (await page.locator(".problem li").inner_text()).startswith("query: ")
    await notes.search("lime")
    assert await page.locator(".problem").count() == 0
    assert await page.locator("[aria-invalid]").count() == 0


async def test_the_request_as_a_command_runs_and_finds_the_same(notes: Playground) -> None:
    await notes.page.locator(".ranking").evaluate("panel => panel.open = true")
    await notes.page.locator("[name=collapse]").uncheck()
    await notes.page.locator("[name=filters]").fill('{"metadata": {"team": "Firmware"}}')
    cards = await notes.search('who\'s on "call"?', rerank="cosine")
    titles = await cards.locator("h3").all_inner_texts()
    await notes.page.get_by_text("This request as a command").click()
    await notes.page.get_by_label("curl").focus()
    await notes.page.keyboard.press("Control+a")
    curl = await notes.page.evaluate("getSelection().toString()")
    process = await asyncio.create_subprocess_exec("bash", "-c", curl, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert [hit["title"] for hit in json.loads(out)["results"]] == titles


async def test_the_keyboard_alone_searches_opens_why_and_returns(notes: Playground) -> None:
    page = notes.page
    await page.keyboard.press("Tab")
    await page.keyboard.press("/")
    await page.locator("#query:focus").wait_for()
    await page.keyboard.type(PERSON)
    await page.keyboard.press("Enter")
    await page.locator(".card").first.wait_for()
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.locator(".why summary:focus").count():
            break
    await page.keyboard.press("Enter")
    await page.locator(".why[open] .parts").wait_for()
    await page.keyboard.press("/")
    await page.locator("#query:focus").wait_for()
    assert await page.locator("#query").input_value() == PERSON
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await page.locator("#hit-2 h3 a:focus").wait_for()
    # Chromium scrolls back after popstate, and mostly before hashchange: what counts is what is shown by then.
    await page.evaluate(
        "addEventListener('popstate', () => (window.shown = document.querySelector('.card')?.checkVisibility()))"
    )
    await page.keyboard.press("Enter")
    await page.locator(".text").wait_for()
    await page.go_back()
    await page.locator("#hit-2 h3 a:focus").wait_for()
    assert await page.evaluate("shown")
    await page.keyboard.press("/")
    assert await page.locator("#query").evaluate(CHOOSES_CHARACTERS)
    for key in ("Tab", "Tab", "Enter"):
        await page.keyboard.press(key)
    await page.locator("#answer-title:focus").wait_for()


async def test_axe_finds_no_violation_in_an_answer_and_a_document(notes: Playground) -> None:
    page = notes.page
    await page.locator("[name=limit]").fill("3")
    cards = await notes.search(HOPS, depth="thorough")
    for summary in await page.locator("#hit-1 summary, .panel > summary, .facet:first-child summary").all():
        await summary.click()
    await cards.first.locator(".parts").wait_for()
    await notes.assert_accessible()
    await cards.first.locator("h3 a").click()
    await page.locator(".wanted").first.wait_for()
    await notes.assert_accessible()
    await page.emulate_media(forced_colors="active")
    outline = await page.locator(".wanted").first.evaluate("passage => getComputedStyle(passage).outlineStyle")
    await page.emulate_media(forced_colors="none")
    assert outline == "solid"
    await page.get_by_role("button", name="Edit").click()
    await notes.assert_accessible()


async def test_a_printed_answer_has_its_query_and_passages_but_no_controls(notes: Playground) -> None:
    cards = await notes.search(PERSON)
    await notes.page.emulate_media(media="print")
    controls = await notes.page.locator("nav, button, #options, .panel").filter(visible=True).count()
    printed = [await notes.page.locator("#query").is_visible(), await cards.first.is_visible()]
    await notes.page.emulate_media(media="null")
    assert (controls, printed) == (0, [True, True])
