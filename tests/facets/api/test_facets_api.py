"""Tests the facets of metadata, and the hints for filters that no document passes, over REST and as a tool."""

from __future__ import annotations

import json
from typing import Any

from api_caller import Caller

STORED: list[dict[str, Any]] = [
    {"team": "Firmware", "year": 2024, "tags": ["tide", "tide", "buoy"], "draft": True},
    {"team": "Firmware", "year": 2025, "tags": "tide", "owner": None},
    {"team": "Field", "year": "2025", "Tone": {"a": 1}},
    {},
]


async def counted(caller: Caller, **parameters: Any) -> list[dict[str, Any]]:
    """The facets."""
    given = {name: json.dumps(value) if name == "filters" else value for name, value in parameters.items()}
    response = await caller.client.get("/api/rag/facets", params=given)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["facets"]
    return found


async def facets(caller: Caller, **parameters: Any) -> dict[str, Any]:
    """The facets by key; the tool lists the same keys and values."""
    found = await counted(caller, **parameters)
    arguments = {**parameters, **parameters.get("filters", {})}
    arguments.pop("filters", None)
    listed = (await caller.client.post("/api/rag/tools/list_facets", json=arguments)).json()["facets"]
    shares = [(not one["distinct"], one["distinct"] / one["documents"]) for one in listed]
    assert shares == sorted(shares)
    assert {one["key"]: (one["documents"], list(one["values"].values())) for one in listed} == {
        one["key"]: (one["documents"], [value["documents"] for value in one["values"]]) for one in found
    }
    return {one["key"]: one for one in found}


async def test_keys_and_values_are_counted_exactly_and_near_ones_suggested(caller: Caller) -> None:
    for number, metadata in enumerate(STORED):
        await caller.add(f"Note number {number}", uri=f"{number}.md", metadata=metadata)
    every = await facets(caller)
    assert list(every) == ["team", "year", "tags", "Tone", "draft", "owner"]
    assert every["team"]["values"] == [{"value": "Firmware", "documents": 2}, {"value": "Field", "documents": 1}]
    assert every["year"]["types"] == {"number": 2, "string": 1}
    assert every["tags"]["types"] == {"list": 1, "string": 1}
    assert every["tags"]["values"] == [{"value": "tide", "documents": 2}, {"value": "buoy", "documents": 1}]
    assert (every["Tone"]["types"], every["Tone"]["values"]) == ({"object": 1}, [])
    assert every["owner"]["values"] == [{"value": None, "documents": 1}]
    assert list(await facets(caller, prefix="T")) == ["team", "tags", "Tone"]
    of_team = (await facets(caller, key="team", prefix="fi", limit=1))["team"]
    assert (of_team["distinct"], len(of_team["values"]), of_team["documents"]) == (2, 1, 3)
    filtered = await facets(caller, filters={"metadata": {"year": {"gte": 2025}}})
    assert {key: one["documents"] for key, one in filtered.items()} == {"owner": 1, "tags": 1, "team": 1, "year": 1}
    assert await facets(caller, key="none") == {}

    for metadata, words in (
        ({"team": "firmware"}, "team: did you mean Firmware? Values are case-sensitive."),
        ({"teem": "Firmware"}, "metadata.teem: no document has this key. Did you mean team?"),
        ({"team": {"in": ["Fild"]}}, "team: did you mean Field?"),
        ({"team": "Masonry"}, "team: no document has this value. There is Firmware, Field."),
        ({"zzz": 1}, "zzz: no document has this key. There is team, year, tags, Tone, draft."),
    ):
        for path in ("search", "search/multihop"):
            body = {"query": "note", "filters": {"metadata": metadata}}
            answer = (await caller.client.post(f"/api/rag/{path}", json=body)).json()
            assert answer["results"] == []
            assert answer["hints"][1].startswith(words), answer
        for tool, arguments in (("search_documents", {"query": "note"}), ("list_documents", {})):
            result = await caller.client.post(f"/api/rag/tools/{tool}", json={**arguments, "metadata": metadata})
            assert words in result.json()["no_results_because"]
    grouped = {"all": [{"folder": "notes"}, {"metadata": {"team": "firmware"}}]}
    answer = (await caller.client.post("/api/rag/search", json={"query": "note", "filters": grouped})).json()
    assert answer["hints"][1:] == ["team: did you mean Firmware? Values are case-sensitive."]
    assert "hints" not in (await caller.client.post("/api/rag/search", json={"query": "note"})).json()


async def test_a_folder_without_its_path_is_named_with_it(caller: Caller) -> None:
    for uri in ("/data/wiki/one.md", "/data/notes/two.md", "notes/three.md"):
        await caller.add(f"Note {uri}", uri=uri)
    for folder, hints in (("wiki/", ["folder: did you mean /data/wiki?"]), ("iki", []), ("/data/other", [])):
        for filters in ({"folder": folder}, {"all": [{"folder": folder}]}):
            body = {"query": "note", "filters": filters}
            answer = (await caller.client.post("/api/rag/search", json=body)).json()
            assert answer["hints"] == ["The filters and exclusions leave out every document.", *hints]
    for folder in ("notes", "notes/"):
        other = {"query": "note", "filters": {"folder": folder, "file_types": ["pdf"]}}
        assert len((await caller.client.post("/api/rag/search", json=other)).json()["hints"]) == 1


async def test_folders_and_file_types_are_counted_as_their_filters_select(caller: Caller) -> None:
    uris = ("wiki/a/one.md", "wiki/a/b/two.PDF#page=2", "wiki/c/three.md", "https://x.example")
    for uri in (*uris, "https://x.example/d/four.v2/"):
        await caller.add(f"Note {uri}", uri=uri)
    await caller.add("Note five", metadata={"filename": "five.Pdf"})
    await caller.add("Note seven", uri="seven.txt")
    await caller.add("Note six")
    counts = {
        one["key"]: {value["value"]: value["documents"] for value in one["values"]}
        for one in await counted(caller, of="files")
    }
    assert counts["file_type"] == {"md": 2, "pdf": 2, "txt": 1}
    assert counts["folder"] == {
        "wiki": 3, "wiki/a": 2, "wiki/a/b": 1, "wiki/c": 1, "https://x.example/d/four.v2": 1,
    }  # fmt: skip
    for filters, expected in (
        ({"folder": "wiki"}, ["wiki/a", "wiki/a/b", "wiki/c"]),
        ({"file_types": ["pdf"]}, ["wiki/a/b"]),
    ):
        (one,) = await counted(caller, of="files", key="folder", filters=filters)
        assert [value["value"] for value in one["values"]] == expected


CHANGES: list[dict[str, Any]] = [
    {"a": 1, "b": ["x", "X", "x", 1, None], "long": "é" * 5_000, "": "empty"},
    {"a": 1.0, "b": "x", "c": [[1], {"d": 2}], "k" * 300: "too long to ask for"},
    {"a": True, "b": [1.0, True], "c": "x"},
    {"b": ["x"], "c": None},
    {"b": ["2026-01-31", "2026-02-01T12:00Z"], "a": "2026-01-31"},
    {},
]


async def test_counts_of_all_documents_are_those_of_counting_them_after_each_change(caller: Caller) -> None:
    """A filter that every document passes makes them counted."""
    every = {"metadata": {"none": {"exists": False}}}
    ids: list[str] = []
    for number, metadata in enumerate(CHANGES * 3):
        if number < len(CHANGES):
            added = await caller.add(f"Note number {number}", uri=f"{number}.md", metadata=metadata)
            ids.append(added["document_id"])
        elif number < 2 * len(CHANGES):
            await caller.add(f"Note {number}", uri=f"{number % 3}.md", metadata=metadata)
        else:
            change = {"metadata": CHANGES[number % len(CHANGES) - 1] | {"z": None}}
            await caller.client.patch(f"/api/rag/documents/{ids[number % 4]}", json=change)
        if number % 2:
            continue
        assert await counted(caller) == await counted(caller, filters=every)
        shown = await counted(caller, key="b", prefix="x", limit=1)
        assert shown == await counted(caller, key="b", prefix="x", limit=1, filters=every)
    for document_id in ids:
        await caller.client.delete(f"/api/rag/documents/{document_id}")
        assert await counted(caller) == await counted(caller, filters=every)
    assert await facets(caller) == {}
