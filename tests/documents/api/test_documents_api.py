"""Documents are stored from lists, and listed page by page in each order."""

import base64
import json
from typing import Any
from uuid import UUID

from api_caller import Caller
from example_app import assert_problem

DOCUMENTS = "/api/rag/documents"


async def test_each_item_of_a_list_is_stored_or_refused_on_its_own(caller: Caller) -> None:
    wrong = [
        {"content": " \u200b"},
        {"content": "a\x00b", "uri": "nul"},
        {"content": "x", "titel": "y"},
        {"content": "x", "metadata": {"size": float("inf")}},
        "text",
        None,
        {"content": "x", "metadata": {"k": "\ud800"}},
    ]
    raw = json.dumps([{"content": "First.", "uri": "first"}, *wrong, {"content": "Last.", "uri": "last"}])
    response = await caller.client.post(DOCUMENTS, content=raw, headers={"Content-Type": "application/json"})
    assert response.status_code == 201, response.text
    answer = response.json()
    assert [document["uri"] for document in answer["documents"]] == ["first", "last"]
    assert [(one["index"], one["field"], one["code"]) for one in answer["failed"]] == [
        (1, "content", "blank_content"),
        (2, "content", "invalid_text"),
        (3, "titel", "invalid_request"),
        (4, "metadata.size", "invalid_number"),
        (5, None, "invalid_request"),
        (6, None, "invalid_request"),
        (7, "metadata.k", "invalid_text"),
    ]
    assert answer["failed"][1]["uri"] == "nul"


async def test_pages_neither_skip_nor_repeat_while_documents_are_added(caller: Caller) -> None:
    before = [(await caller.add(f"Note {n}."))["document_id"] for n in range(7)]
    seen: list[str] = []
    async for page in caller.pages(DOCUMENTS, limit=3):
        seen += [document["document_id"] for document in page["documents"]]
        await caller.add(f"Late note {len(seen)}.")
    assert seen == before[::-1]


async def test_only_a_document_without_title_and_uri_is_listed_with_its_beginning(caller: Caller) -> None:
    await caller.add("# Lime\n\nSets slowly.")
    nameless = await caller.add("Tide. " * 50)
    form = {"files": ("a.txt", b"Plain.")}
    (plain,) = (await caller.client.post(DOCUMENTS, files=form)).json()["documents"]
    listed = (await caller.client.get(DOCUMENTS)).json()["documents"]
    assert [(one["content"], one["markdown"]) for one in listed] == [
        (None, None),
        (("Tide. " * 50)[:200], None),
        (None, None),
    ]
    found = [(await caller.client.get(f"{DOCUMENTS}/{one['document_id']}")).json() for one in (plain, nameless)]
    assert [one["markdown"] for one in found] == [False, True]


async def test_documents_of_one_moment_and_title_are_paged_without_gaps(caller: Caller) -> None:
    same = {"title": "Note", "created_at": "2024-01-01T00:00:00Z"}
    await caller.client.post(DOCUMENTS, json=[{"content": f"Note {n}.", **same} for n in range(3)])
    for order in ("newest", "oldest", "title", "changed"):
        pages = [page["documents"] async for page in caller.pages(DOCUMENTS, limit=2, sort=order)]
        assert len({document["document_id"] for page in pages for document in page}) == sum(map(len, pages)) == 3


async def test_documents_are_listed_in_each_order_page_by_page(caller: Caller) -> None:
    uris = ["m", "z", "a", "b"]
    for year, (uri, title) in enumerate(zip(uris, ["mortar", "Zinc", "ash", "Ash"], strict=True), start=2020):
        await caller.add("Text.", uri=uri, title=title, created_at=f"{year}-01-01T00:00:00Z")
    await caller.add("Other text.", uri="z", title="Zinc", created_at="2021-01-01T00:00:00Z")
    seen: dict[str, list[str]] = {order: [] for order in ("newest", "oldest", "changed", "title")}
    for order, found in seen.items():
        async for page in caller.pages(DOCUMENTS, limit=3, sort=order, query=""):
            found += [document["uri"] for document in page["documents"]]
            if cursor := page["next_cursor"]:
                other = "newest" if order != "newest" else "title"
                refused = await caller.client.get(DOCUMENTS, params={"sort": other, "cursor": cursor})
                assert_problem(refused, 422, "invalid_cursor", "cursor")
    assert sorted(seen["title"][:2]) == ["a", "b"]
    assert seen | {"title": seen["title"][2:]} == {
        "newest": uris[::-1],
        "oldest": uris,
        "changed": ["z", "b", "a", "m"],
        "title": ["m", "z"],
    }
    assert_problem(await caller.client.get(DOCUMENTS, params={"sort": "size"}), 422, "invalid_request", "sort")


def _cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


async def test_a_tampered_cursor_is_422(caller: Caller) -> None:
    for cursor in (
        "x",
        "é",
        "' OR 1=1",
        "x" * 300,
        _cursor("2024-01-01T00:00:00+00:00|nobody"),
        _cursor(f"yesterday|{UUID(int=1)}"),
        _cursor(f"2024-01-01T00:00:00|{UUID(int=1)}"),
        _cursor(f"0001-01-01T00:00:00+23:59|{UUID(int=1)}"),
        _cursor(f"9999-12-31T23:59:59-23:59|{UUID(int=1)}"),
    ):
        response = await caller.client.get(DOCUMENTS, params={"cursor": cursor})
        assert response.status_code == 422, response.text
        assert [e["field"] for e in response.json()["errors"]] == ["cursor"]


async def test_another_users_cursor_lists_only_the_callers_documents(caller: Caller, new_caller: Any) -> None:
    other = await new_caller("search", "write")
    for n in range(4):
        await other.add(f"Theirs {n}.")
    cursor = (await other.client.get(DOCUMENTS, params={"limit": 1})).json()["next_cursor"]
    await caller.add("Mine.", created_at="2020-01-01")
    shown = (await caller.client.get(DOCUMENTS, params={"cursor": cursor})).json()["documents"]
    assert [document["uri"] for document in shown] == [None]
