"""Tests of the endpoints for documents."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from api_caller import Caller
from example_app import assert_problem

from benchmarks.fake_embedder import FakeEmbedder

DOCUMENTS = "/api/rag/documents"


async def test_a_new_document_is_201_and_searchable_at_once_a_known_one_200_and_unchanged(caller: Caller) -> None:
    body = {"content": "# Lime\n\nWe use lime.", "uri": "lime", "metadata": {"team": "masonry"}, "language": "en"}
    first = await caller.client.post(DOCUMENTS, json=body)
    assert first.status_code == 201
    stored = first.json()
    assert (stored["status"], stored["title"], stored["uri"], stored["warnings"]) == ("added", "Lime", "lime", [])
    assert stored["chunk_count"] == stored["embedded"] == 1
    assert [hit["document_id"] for hit in (await caller.search("lime"))["results"]] == [stored["document_id"]]
    again = await caller.client.post(DOCUMENTS, json=body)
    assert (again.status_code, again.json()["status"], again.json()["embedded"]) == (200, "unchanged", 0)
    changed = await caller.client.post(DOCUMENTS, json={**body, "content": "We use cement."})
    assert (changed.status_code, changed.json()["status"]) == (201, "replaced")
    assert changed.json()["document_id"] == stored["document_id"]


async def test_a_list_is_stored_one_by_one_and_counted(caller: Caller) -> None:
    documents = [{"content": f"Note {n}.", "uri": f"note-{n}"} for n in range(3)]
    first = await caller.client.post(DOCUMENTS, json=documents)
    assert first.status_code == 201
    assert [one["uri"] for one in first.json()["documents"]] == ["note-0", "note-1", "note-2"]
    changed = [documents[0], {**documents[1], "content": "Changed."}, {"content": "New."}]
    second = (await caller.client.post(DOCUMENTS, json=changed)).json()
    assert (second["added"], second["replaced"], second["unchanged"], second["failed"]) == (1, 1, 1, [])
    assert (await caller.client.post(DOCUMENTS, json=documents[:1])).status_code == 200


async def test_a_title_alone_is_stored_read_found_and_sent_back(caller: Caller) -> None:
    body = {"content": "", "title": "Lime mortar", "uri": "lime"}
    stored = (await caller.client.post(DOCUMENTS, json=[body])).json()["documents"][0]
    path = f"{DOCUMENTS}/{stored['document_id']}"
    read = (await caller.client.get(path)).json()
    assert (read["title"], read["content"], stored["chunk_count"]) == ("Lime mortar", "", 1)
    sent = {name: read[name] for name in ("content", "title", "uri", "metadata")}
    assert (await caller.client.put(path, json=sent)).json()["status"] == "unchanged"
    for change in (sent | {"title": "Clay pipe"}, sent | {"title": "Lime mortar"}):
        assert (await caller.client.put(path, json=change)).json()["status"] == "replaced"
    (hit,) = (await caller.search("mortar", explain=True))["results"]
    assert (hit["content"], hit["explain"]["start_offset"], hit["explain"]["end_offset"]) == ("Lime mortar", 0, 0)
    (hit,) = (await caller.search("mortar", detail="compact"))["results"]
    assert [hit["snippet"]["text"][start:end] for start, end in hit["snippet"]["matches"]] == ["mortar"]
    assert_problem(await caller.client.put(path, json=sent | {"title": None}), 422, "blank_content", "content")
    assert_problem(await caller.client.patch(path, json={"title": None}), 422, "invalid_request", "title")
    why = (await caller.client.post("/api/rag/search/why", json={"query": "mortar", "uri": "lime"})).json()
    assert why["found"]


async def test_a_document_of_a_list_that_cannot_be_stored_is_named_and_the_others_are_stored(caller: Caller) -> None:
    hidden = "---\nteam: only a head\n---\n"
    response = await caller.client.post(DOCUMENTS, json=[{"content": "One."}, {"content": hidden, "uri": "empty"}])
    assert response.status_code == 201
    answer = response.json()
    assert (answer["added"], len(answer["documents"])) == (1, 1)
    assert [(one["index"], one["uri"], one["code"]) for one in answer["failed"]] == [(1, "empty", "blank_content")]


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


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": "\u200b "}, "content"),
        ({"content": 5}, "content"),
        ({"content": "x", "titel": "y"}, "titel"),
        ({"content": "x", "uri": ""}, "uri"),
        ({"content": "x", "uri": "u" * 2049}, "uri"),
        ({"content": "x", "created_at": "now"}, "created_at"),
        ({"content": "x", "created_at": "0001-01-01T00:00:00+23:59"}, "created_at"),
        ({"content": "x", "metadata": {"big": "x" * 70_000}}, "metadata"),
        ({"content": "x", "metadata": []}, "metadata"),
        ([], "body"),
        ([{"content": "x"}] * 501, "body"),
        ([{"content": ""}, {"content": "x", "titel": "y"}], "[0].content"),
        ([5], "[0]"),
        ("text", "body"),
        (None, "body"),
    ],
)
async def test_an_invalid_document_is_refused_with_its_field(caller: Caller, body: Any, field: str) -> None:
    response = await caller.client.post(DOCUMENTS, json=body)
    assert response.status_code == 422, response.text
    assert [e["field"] for e in response.json()["errors"]] == [field]
    assert (await caller.client.get(DOCUMENTS)).json()["documents"] == []


def _nested(depth: int) -> dict[str, Any]:
    return {} if depth == 1 else {"k": _nested(depth - 1)}


@pytest.mark.parametrize(
    ("largest", "too_much", "code"),
    [
        (_nested(32), _nested(33), "too_deep"),
        ({"k": ["x"] * 16_000}, {"k": ["x"] * 17_000}, "too_large"),
        ({str(n): 1 for n in range(1_000)}, {"k": [{str(n): 1} for n in range(1_001)]}, "too_many_keys"),
    ],
    ids=["depth", "bytes", "keys"],
)
async def test_metadata_has_limits_of_depth_size_and_keys(
    caller: Caller, largest: dict[str, Any], too_much: dict[str, Any], code: str
) -> None:
    response = await caller.client.post(DOCUMENTS, json={"content": "Lime.", "metadata": largest})
    assert response.status_code == 201, response.text
    stored = f"{DOCUMENTS}/{response.json()['document_id']}"
    for method, path in (("POST", DOCUMENTS), ("PUT", stored)):
        refused = await caller.client.request(method, path, json={"content": "Sand.", "metadata": too_much})
        assert_problem(refused, 422, code, "metadata")
    assert (await caller.client.get(stored)).json()["metadata"] == largest


@pytest.mark.parametrize(("raw", "status"), [(b"", 422), (b"{", 422), (b"\xff", 400), (b'{"content": "\\ud800"}', 422)])
async def test_a_body_that_is_no_json_is_refused(caller: Caller, raw: bytes, status: int) -> None:
    response = await caller.client.post(DOCUMENTS, content=raw, headers={"Content-Type": "application/json"})
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    plain = await caller.client.post(DOCUMENTS, content=b"x", headers={"Content-Type": "text/plain"})
    assert_problem(plain, 415, "unsupported_media_type")


async def test_a_document_is_read_replaced_deleted_and_gone(caller: Caller) -> None:
    stored = await caller.add("# Lime\n\nWe use lime.", "lime")
    path = f"{DOCUMENTS}/{stored['document_id']}"
    found = (await caller.client.get(path)).json()
    assert (found["content"], found["language"]) == ("# Lime\n\nWe use lime.", "english")
    replaced = await caller.client.put(path, json={"content": "We use cement."})
    assert (replaced.status_code, replaced.json()["status"], replaced.json()["uri"]) == (200, "replaced", "lime")
    assert (await caller.client.get(path)).json()["content"] == "We use cement."
    deleted = await caller.client.delete(path)
    assert deleted.status_code == 200
    assert deleted.json() == {
        "documents_deleted": 1, "chunks_deleted": 1, "vectors_deleted": 1, "postings_deleted": 2, "mentions_deleted": 0,
    }  # fmt: skip
    for method in ("GET", "DELETE"):
        assert_problem(await caller.client.request(method, path), 404, "not_found")
    assert_problem(await caller.client.get(f"{path}/chunks"), 404, "not_found")
    assert_problem(await caller.client.put(path, json={"content": "x"}), 404, "not_found")
    assert (await caller.search("cement"))["results"] == []


async def test_the_uri_of_another_document_is_a_conflict(caller: Caller) -> None:
    one = await caller.add("One.", "one")
    await caller.add("Two.", "two")
    response = await caller.client.put(f"{DOCUMENTS}/{one['document_id']}", json={"content": "x", "uri": "two"})
    assert_problem(response, 409, "conflict", "uri")


@pytest.mark.parametrize("wrong", ["x", "123", "7f1e3c52", "null", "%00"])
async def test_a_malformed_id_is_422_and_an_unknown_one_404(caller: Caller, wrong: str) -> None:
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/chunks")):
        response = await caller.client.request(method, f"{DOCUMENTS}/{wrong}{path}")
        assert response.status_code == (404 if wrong == "%00" else 422), response.text
        assert_problem(await caller.client.request(method, f"{DOCUMENTS}/{uuid4()}{path}"), 404, "not_found")


async def test_chunks_are_listed_in_order_page_by_page(caller: Caller) -> None:
    text = "\n\n".join(f"## Part {n}\n\n" + f"Stone {n} on stone. " * 60 + "End." for n in range(8))
    stored = await caller.add(text, "well")
    path, seen = f"{DOCUMENTS}/{stored['document_id']}/chunks", []
    for offset in range(0, stored["chunk_count"] + 3, 3):
        page = (await caller.client.get(path, params={"limit": 3, "offset": offset})).json()
        assert page["total"] == stored["chunk_count"]
        seen += page["chunks"]
    assert [chunk["chunk_index"] for chunk in seen] == list(range(stored["chunk_count"]))
    assert all(text[c["start_offset"] : c["end_offset"]] == c["content"] for c in seen)
    for params in ({"limit": 0}, {"limit": 501}, {"offset": -1}, {"offset": 2**31}, {"limit": "x"}):
        assert (await caller.client.get(path, params=params)).status_code == 422


async def test_pages_neither_skip_nor_repeat_while_documents_are_added(caller: Caller) -> None:
    before = [(await caller.add(f"Note {n}."))["document_id"] for n in range(10)]
    seen: list[str] = []
    cursor = None
    while True:
        page = (
            await caller.client.get(DOCUMENTS, params={"limit": 3, **({"cursor": cursor} if cursor else {})})
        ).json()
        seen += [document["document_id"] for document in page["documents"]]
        await caller.add(f"Late note {len(seen)}.")
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == before[::-1]


async def test_documents_of_one_moment_are_paged_without_gaps(caller: Caller) -> None:
    for n in range(5):
        await caller.add(f"Note {n}.", created_at="2024-01-01T00:00:00Z")
    seen, cursor = set(), None
    while True:
        page = (
            await caller.client.get(DOCUMENTS, params={"limit": 2, **({"cursor": cursor} if cursor else {})})
        ).json()
        seen |= {document["document_id"] for document in page["documents"]}
        if (cursor := page["next_cursor"]) is None:
            break
    assert len(seen) == 5


async def test_documents_are_listed_in_each_order_page_by_page(caller: Caller) -> None:
    uris = ["m", "z", "a", "b"]
    for year, (uri, title) in enumerate(zip(uris, ["mortar", "Zinc", "ash", "Ash"], strict=True), start=2020):
        await caller.add("Text.", uri=uri, title=title, created_at=f"{year}-01-01T00:00:00Z")
    await caller.add("Other text.", uri="z", title="Zinc", created_at="2021-01-01T00:00:00Z")
    seen: dict[str, list[str]] = {order: [] for order in ("newest", "oldest", "changed", "title")}
    for order, found in seen.items():
        cursor = None
        while True:
            asked = {"limit": 3, "sort": order, "query": "", **({"cursor": cursor} if cursor else {})}
            page = (await caller.client.get(DOCUMENTS, params=asked)).json()
            found += [document["uri"] for document in page["documents"]]
            if (cursor := page["next_cursor"]) is None:
                break
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


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "é",
        "' OR 1=1",
        "x" * 300,
        _cursor("2024-01-01T00:00:00+00:00|nobody"),
        _cursor(f"yesterday|{UUID(int=1)}"),
        _cursor(f"2024-01-01T00:00:00|{UUID(int=1)}"),
        _cursor(f"0001-01-01T00:00:00+23:59|{UUID(int=1)}"),
        _cursor(f"9999-12-31T23:59:59-23:59|{UUID(int=1)}"),
    ],
)
async def test_a_tampered_cursor_is_422(caller: Caller, cursor: str) -> None:
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
    assert len(shown) == 1


async def test_the_list_finds_a_uri_and_shows_no_text(caller: Caller) -> None:
    await caller.add("One.", "one")
    await caller.add("Two.", "two")
    page = (await caller.client.get(DOCUMENTS, params={"uri": "two"})).json()
    assert [(d["uri"], d["content"]) for d in page["documents"]] == [("two", None)]
    for params in ({"limit": 0}, {"limit": 201}, {"limit": "x"}):
        assert_problem(await caller.client.get(DOCUMENTS, params=params), 422, "invalid_request", "limit")


async def test_stats_count_what_is_stored(caller: Caller) -> None:
    await caller.add("Kalk und Stein.", "de", language="de")
    await caller.add("Lime and stone.", "en")
    stats = (await caller.client.get("/api/rag/stats")).json()
    assert (stats["documents"], stats["chunks"], stats["vectors"]) == (2, 2, 2)
    assert stats["languages"] == {"german": 1, "english": 1}
    assert (stats["embedding_model"], stats["embedding_dimension"]) == ("all-MiniLM-L6-v2", 384)


async def test_a_failing_embedder_is_502_and_nothing_is_stored(caller: Caller, embedder: FakeEmbedder) -> None:
    embedder.failing = True
    try:
        response = await caller.client.post(DOCUMENTS, json={"content": "Never seen."})
        listed = await caller.client.post(DOCUMENTS, json=[{"content": "Never seen."}])
    finally:
        embedder.failing = False
    assert_problem(response, 502, "provider_failed")
    assert_problem(listed, 502, "provider_failed")
    assert (await caller.client.get(DOCUMENTS)).json()["documents"] == []


async def test_a_list_that_ends_in_the_stored_version_stores_that_version(caller: Caller) -> None:
    await caller.client.post(DOCUMENTS, json={"uri": "a", "content": "Stored."})
    items = [{"uri": "a", "content": "Other."}, {"uri": "a", "content": "Stored."}]
    answer = (await caller.client.post(DOCUMENTS, json=items)).json()
    assert [document["status"] for document in answer["documents"]] == ["replaced", "replaced"]
    stored = await caller.client.get(f"{DOCUMENTS}/{answer['documents'][1]['document_id']}")
    assert stored.json()["content"] == "Stored."


async def test_a_language_is_a_tag_a_code_or_a_name(caller: Caller) -> None:
    for language in ("Deutsch", "German", "de-AT", "ger"):
        await caller.add(f"Kalk und Stein, {language}.", f"de/{language}", language=language)
    await caller.add("石と石灰", "zh", language="zh-Hant")
    stats = (await caller.client.get("/api/rag/stats")).json()
    assert stats["languages"] == {"german": 4, "simple": 1}


async def test_an_unknown_language_is_refused_with_those_that_are_accepted(caller: Caller) -> None:
    wrong = {"content": "lime", "language": "Klingonese"}
    response = await caller.client.post("/api/rag/documents", json=wrong)
    assert response.status_code == 422
    problem = response.json()
    assert problem["errors"][0]["field"] == "language"
    assert "German" in problem["detail"]
    listed = await caller.client.post("/api/rag/documents", json=[wrong, {"content": "stone", "language": "Français"}])
    assert listed.status_code == 201
    assert [(failure["index"], failure["code"]) for failure in listed.json()["failed"]] == [(0, "invalid_request")]
    assert listed.json()["added"] == 1


async def test_each_chunk_of_a_long_table_has_its_header_and_is_found_by_it(caller: Caller) -> None:
    rows = "\n".join(f"| Port {number} | {number}.5 m |" for number in range(80))
    stored = await caller.add(f"# Tides\n\n| Harbour | High water |\n|---|---|\n{rows}", "tides")
    text = (await caller.client.get(f"/api/rag/documents/{stored['document_id']}")).json()["content"]
    chunks = (await caller.client.get(f"/api/rag/documents/{stored['document_id']}/chunks")).json()["chunks"]
    assert len(chunks) > 3
    for chunk in chunks:
        assert chunk["content"].startswith("| Harbour | High water |\n|---|---|\n| Port ")
        assert chunk["content"].endswith(text[chunk["start_offset"] : chunk["end_offset"]])
    query = {"query": "high water port 71", "mode": "lexical"}
    hits = (await caller.client.post("/api/rag/search", json=query)).json()["results"]
    assert "| Port 71 | 71.5 m |" in hits[0]["content"]


async def test_the_uri_of_a_file_is_shown_as_its_path_and_every_spelling_means_the_same_document(
    caller: Caller,
) -> None:
    """`first` is how a document is stored: the URI of a file, as the command line sends it, or its path."""
    for number, name in enumerate(
        ("file:///home/ana/Meine%20Dokumente%20%C3%BC/{}.md", "/home/ana/Meine Dokumente ü/{}.md")
    ):
        first, path = name.format(number), f"/home/ana/Meine Dokumente ü/{number}.md"
        stored = await caller.add(f"# Lime {number}\n\nWe use lime.", first)
        at = f"{DOCUMENTS}/{stored['document_id']}"
        assert stored["uri"] == path
        spellings = (path, f"file://{path}", Path(path).as_uri())
        for given in spellings:
            again = await caller.add(f"# Lime {number}\n\nWe use lime.", given)
            assert (again["status"], again["document_id"], again["uri"]) == ("unchanged", stored["document_id"], path)
            found = (await caller.client.get(DOCUMENTS, params={"uri": given})).json()["documents"]
            assert [one["uri"] for one in found] == [path]
            folder = given.rpartition("/")[0]
            for filters in ({"uri_prefix": given[:-4]}, {"folder": folder}):
                hits = (await caller.search(f"lime {number}", filters=filters))["results"]
                assert path in [hit["uri"] for hit in hits]
            patched = await caller.client.patch(at, json={"uri": given, "metadata": {"read": given}})
            put = await caller.client.put(at, json={"content": "# Lime\n\nWe use lime.", "uri": given})
            assert [one.json()["uri"] for one in (patched, put)] == [path, path]
            assert (await caller.add(f"# Lime {number}\n\nWe use lime.", first))["document_id"] == stored["document_id"]
        several = [{"content": f"Version {given}", "uri": given} for given in spellings]
        listed = (await caller.client.post(DOCUMENTS, json=several)).json()["documents"]
        assert {one["document_id"] for one in listed} == {stored["document_id"]}
        deleted = await caller.client.delete(DOCUMENTS, params={"uri": spellings[number]})
        assert deleted.status_code == 200
        new = (await caller.client.post(DOCUMENTS, json=several)).json()["documents"]
        assert [one["status"] for one in new] == ["added", "replaced", "replaced"]
        assert len({one["document_id"] for one in new}) == 1
        assert (await caller.client.delete(DOCUMENTS, params={"uri": path})).status_code == 200
    assert (await caller.client.get(DOCUMENTS)).json()["documents"] == []
