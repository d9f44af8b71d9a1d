"""Tests in a real Chromium that synonyms are edited in the playground."""


async def test_synonyms_are_lines_of_a_page_that_names_the_wrong_one_and_keeps_what_is_not_saved(playground, client):
    page = playground.page
    lines = page.get_by_label("Groups, one a line")
    await page.locator("nav a[href='#synonyms']").click()
    await lines.fill("# of the yard\nboiler, furnace\n\nalone\nC\\, hash => a\\=>b, c")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("line 4: ").wait_for()
    await page.locator("nav a[href='#entities']").click()
    await page.locator("nav a[href='#synonyms']").click()
    await lines.wait_for()
    assert "alone" in await lines.input_value()
    await lines.fill((await lines.input_value()).replace("alone\n", ""))
    await page.get_by_role("button", name="Save").click()
    await page.get_by_text("Stored: 2 groups.").wait_for()
    groups = [{"terms": ["boiler", "furnace"], "expand_to": []}, {"terms": ["C, hash"], "expand_to": ["a=>b", "c"]}]
    assert (await client.get("synonyms")).json() == {"groups": groups}
    assert await lines.input_value() == "boiler, furnace\nC\\, hash => a\\=>b, c\n"
    await client.put("synonyms", json={"groups": []})
    await playground.assert_accessible()
