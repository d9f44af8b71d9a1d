"""Tests in a real Chromium of files that the playground uploads: chosen, dropped, large, refused and followed."""

import asyncio
from pathlib import Path
from uuid import uuid4

import httpx
import made_files
import pytest
from playground_page import ASKS, AWAY, Playground
from playwright.async_api import Route

from app.documents.storing import large_documents


async def test_an_uploaded_file_is_listed_found_and_deleted(playground: Playground, tmp_path: Path) -> None:
    word = f"quillon{uuid4().hex[:6]}"
    path = tmp_path / "Harbour log.md"
    path.write_text(f"# Harbour log\n\nThe {word} was oiled on Monday.")
    assert "Stored, 1 chunk" in await playground.upload(path)
    listed = playground.page.locator("#documents-list .row", has_text="Harbour log.md")
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
    # The job goes on, whatever a look at it meets.
    await playground.page.route("**/api/rag/jobs/*", lambda route: route.abort(), times=1)
    await playground.page.route("**/api/rag/jobs/*", lambda route: route.fulfill(status=502), times=1)
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


async def test_uploads_are_sent_in_order_with_sizes_checked_first_and_cleared(page, tmp_path, client) -> None:
    folder = tmp_path / "kept"
    left_out = (".DS_Store", "Thumbs.db", ".git/config", "node_modules/p/README.md", "uv.lock", "app.min.js")
    files = {"n10.md": "Ten.", "n2.md": "Two.", "sub/rows.csv": "a,b\n1,2\n3,4\n", "sub/bad.pdf": "%PDF-1.4 broken"}
    for name, text in (files | dict.fromkeys(left_out, "x")).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/upload") else None)
    await page.locator("nav a[href='#documents']").click()
    await page.bring_to_front()  # Chromium reads a folder for no other
    await page.route("**/documents/upload", lambda route: route.fulfill(status=503, json=AWAY), times=1)
    await page.locator("#folder").set_input_files(folder)
    await page.get_by_text("3 of 4 files are stored. 6 hidden or generated ones are left out.").wait_for()
    shown = await page.locator("#uploads strong").all_inner_texts()
    assert shown == ["kept/n2.md", "kept/n10.md", "kept/sub/bad.pdf", "kept/sub/rows.csv"]
    await (
        page.locator("#uploads .row[data-state=failed]", has_text="kept/sub/bad.pdf").get_by_text("damaged").wait_for()
    )
    assert len(sent) == 5, "what a busy service refuses is sent again"
    await page.evaluate(
        """() => {
            const chosen = new DataTransfer();
            chosen.items.add(new File([new Uint8Array(64_000_000)], "large.txt"));
            const input = document.getElementById("files");
            input.files = chosen.files;
            input.dispatchEvent(new Event("change"));
        }"""
    )
    await page.locator("#uploads .row", has_text="Not stored: It has 64 MB, and a request at most 64 MB").wait_for()
    await page.get_by_text("0 of 1 files are stored.").wait_for()
    assert len(sent) == 5, "a file that is too large is not sent"
    await page.get_by_role("button", name="Clear", exact=True).click()
    assert await page.locator("#uploads .row").count() == 0
    assert await page.locator("#uploading").is_hidden()


async def test_files_that_are_dropped_in_the_zone_are_stored_and_beside_it_neither_stored_nor_opened(page, client):
    await page.locator("nav a[href='#documents']").click()
    drop = """(target) => {
        const dropped = new DataTransfer();
        dropped.items.add(new File(["Dropped."], "dropped.txt"));
        const options = {dataTransfer: dropped, bubbles: true, cancelable: true};
        const events = ["dragover", "drop"].map((kind) => new DragEvent(kind, options));
        return events.map((event) => !document.querySelector(target).dispatchEvent(event));
    }"""
    assert await page.evaluate(drop, "#drop") == [True, True]
    await page.locator("#uploads .row", has_text="dropped.txt").get_by_text("Stored, 1 chunk").wait_for()
    assert (await client.delete("documents", params={"uri": "dropped.txt"})).status_code == 200
    await page.locator("#uploads-clear").click()
    for target in ("h1", "#documents-list", "body"):
        assert await page.evaluate(drop, target) == [True, True], "the browser would open the file"
    assert "Nothing is stored" in await page.locator("#uploads-pace").inner_text()
    assert await page.locator("#uploads .row").count() == 0
    text = "new DragEvent('drop', {dataTransfer: new DataTransfer(), cancelable: true})"
    assert await page.evaluate(f"document.body.dispatchEvent({text})"), "a dropped text goes into a field"


async def test_what_cannot_be_read_of_a_dropped_folder_is_said_and_the_rest_is_stored(page, client) -> None:
    await page.locator("nav a[href='#documents']").click()
    await page.evaluate(
        """() => {
            const gone = (_done, failed) => failed(new DOMException("Gone", "NotFoundError"));
            const of = (name, file) => ({ isFile: true, name, fullPath: `/in/${name}`, file });
            const inner = [of("gone.md", gone), of("kept.md", (done) => done(new File(["Kept."], "kept.md")))];
            const createReader = () => ({ readEntries: (done) => done(inner.splice(0)) });
            const folder = { isFile: false, name: "in", fullPath: "/in", createReader };
            const closed = { isFile: false, name: "no", fullPath: "/no", createReader: () => ({ readEntries: gone }) };
            const items = [folder, closed].map((entry) => ({ webkitGetAsEntry: () => entry }));
            const event = new Event("drop", { bubbles: true, cancelable: true });
            event.dataTransfer = { types: ["Files"], items, files: [] };
            document.getElementById("drop").dispatchEvent(event);
        }"""
    )
    await page.get_by_text("1 of 3 files are stored.").wait_for()
    failed = await page.locator("#uploads .row[data-state=failed]").all_inner_texts()
    assert [text.split() for text in failed] == [
        [name, "Not", "stored:", "The", "browser", "cannot", "read", "it."] for name in ("in/gone.md", "no")
    ]
    await page.locator("#uploads-clear").click()
    await client.delete("documents", params={"uri": "in/kept.md"})


async def test_a_screen_reader_hears_of_many_files_ten_times_and_how_it_ended(page) -> None:
    await page.route("**/documents/upload", lambda route: route.fulfill(status=400, json={"detail": "Refused."}))
    await page.locator("nav a[href='#documents']").click()
    await page.evaluate(
        """() => {
            window.said = [];
            const pace = document.getElementById("uploads-pace");
            new MutationObserver(() => said.push(pace.textContent)).observe(pace, { childList: true });
        }"""
    )
    files = [{"name": f"{number}.txt", "mimeType": "text/plain", "buffer": b"Lime."} for number in range(40)]
    await page.locator("#files").set_input_files(files)
    await page.get_by_text("0 of 40 files are stored.").wait_for()
    sent = [f"{number} of 40 files are sent." for number in range(0, 40, 4)]
    assert await page.evaluate("said") == [*sent, "0 of 40 files are stored."]
    await page.locator("#uploads-clear").click()
