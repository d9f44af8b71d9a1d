"""Tests the facets of metadata, and the hints for filters that no document passes, over REST and as a tool."""

import json
from pathlib import Path
from typing import Any

import pytest
from api_caller import Caller
from harness import Tenant

from app.access.store import user_data
from app.database import transactions
from app.facets import operations
from app.facets.types import FacetQuery

STORED: list[dict[str, Any]] = [
    {"team": "Firmware", "year": 2024, "tags": ["tide", "tide", "buoy"], "draft": True},
    {"team": "Firmware", "year": 2025, "tags": "tide", "owner": [None, "Ana Silva"]},
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
    listed = (await caller.call("list_facets", **arguments))["facets"]
    shares = [(not one["distinct"], one["distinct"] / one["documents"]) for one in listed]
    assert shares == sorted(shares)
    assert {one["key"]: (one["documents"], list(one["values"].values())) for one in listed} == {
        one["key"]: (one["documents"], [value["documents"] for value in one["values"]]) for one in found
    }
    return {one["key"]: one for one in found}


async def test_near_keys_and_values_are_suggested_where_no_document_passes(caller: Caller) -> None:
    for number, metadata in enumerate(STORED):
        await caller.add(f"Note number {number}", uri=f"{number}.md", metadata=metadata)
    assert list(await facets(caller)) == ["team", "year", "tags", "Tone", "draft", "owner"]
    for filters in ({}, {"filters": {"metadata": {"none": {"exists": False}}}}):
        assert list(await facets(caller, prefix="to", **filters)) == ["Tone"]
    for metadata, words in (
        ({"team": "firmware"}, "team: did you mean Firmware? Values are case-sensitive."),
        ({"teem": "Firmware"}, "metadata.teem: no document has this key. Did you mean team?"),
        ({"team": {"in": ["Fild"]}}, "team: did you mean Field?"),
        ({"team": {"in": ["Masonry", "firmware"]}}, "team: did you mean Firmware? Values are case-sensitive."),
        ({"team": {"in": ["Masonry", "Wharf"]}}, "team: no document has this value. There is Firmware, Field."),
        ({"team": "Masonry"}, "team: no document has this value. There is Firmware, Field."),
        ({"team": ["Firmware", "Field"]}, 'team: did you mean {"in": ["Firmware", "Field"]}?'),
        ({"owner": "Ana"}, "owner: did you mean Ana Silva?"),
        ({"team": ["firmware"]}, "team: did you mean Firmware? Values are case-sensitive."),
        ({"draft": "true"}, "draft: did you mean true, a boolean?"),
        ({"Tone": {"gte": 2}}, "Tone: its values are of the type object, which this range does not compare."),
        (
            {"team": {"lt": 3}},
            "team: its values are of the type string, such as Firmware, which this range does not compare.",
        ),
        (
            {"team": {"gte": "2025-01-01"}},
            "team: its values are of the type string, such as Firmware, which this range does not compare.",
        ),
        ({"year": 2026}, "year: did you mean 2024?"),
        ({"year": "2024", "draft": True}, "year: did you mean 2024, a number?"),
        ({"zzz": 1}, "zzz: no document has this key. There is team, year, tags, Tone, draft."),
        ({"zzz": {"ne": 1}, "team": "Wharf"}, "team: no document has this value. There is Firmware, Field."),
        ({"zzz": {"exists": False}, "team": "Wharf"}, "team: no document has this value. There is Firmware, Field."),
    ):
        for path in ("search", "search/multihop"):
            answer = await caller.post(f"/api/rag/{path}", {"query": "note", "filters": {"metadata": metadata}})
            assert answer["results"] == []
            assert answer["hints"][1].startswith(words), answer
        for tool, arguments in (("search_documents", {"query": "note"}), ("list_documents", {}), ("list_facets", {})):
            assert words in (await caller.call(tool, **arguments, metadata=metadata))["no_results_because"]
    assert (await caller.call("list_facets", key="Team"))["no_results_because"].endswith("Did you mean team?")
    grouped = {"all": [{"folder": "notes"}, {"metadata": {"team": "firmware"}}]}
    answer = await caller.search("note", filters=grouped)
    assert answer["hints"][1:] == ["team: did you mean Firmware? Values are case-sensitive."]
    assert "hints" not in await caller.search("note")


async def test_a_bound_of_the_time_of_creation_that_no_document_meets_is_answered_by_the_nearest_time(
    caller: Caller,
) -> None:
    for year in (2024, 2026):
        await caller.add(f"Note of {year}", uri=f"{year}.md", created_at=f"{year}-05-01T12:00:00Z")
    for filters, hints in (
        ({"created_after": "2026-05-02"}, ["created_after: the nearest document was created at 2026-05-01T12:00:00Z."]),
        (
            {"created_before": "2024-05-01"},
            ["created_before: the nearest document was created at 2024-05-01T12:00:00Z."],
        ),
        ({"created_after": "2025-01-01", "created_before": "2026-01-01"}, []),
    ):
        answer = (await caller.client.post("/api/rag/search", json={"query": "note", "filters": filters})).json()
        assert answer["hints"][1:] == hints
        of_tool = (await caller.call("search_documents", query="note", **filters))["no_results_because"]
        assert of_tool == " ".join(answer["hints"])


async def test_a_string_that_looks_like_a_number_is_listed_in_quotes_only_beside_other_types(caller: Caller) -> None:
    for number, metadata in enumerate(({"id": "7", "year": 7}, {"id": "x", "year": "7"})):
        await caller.add(f"Note number {number}", uri=f"{number}.md", metadata=metadata)
    listed = {one["key"]: list(one["values"]) for one in (await caller.call("list_facets"))["facets"]}
    assert listed == {"id": ["7", "x"], "year": ["7", '"7"']}
    assert (await caller.call("search_documents", query="note", metadata={"id": "7"}))["results"]


async def test_a_value_beyond_the_compared_ones_is_not_called_missing(caller, monkeypatch) -> None:
    for number, metadata in enumerate(STORED):
        await caller.add(f"Note number {number}", uri=f"{number}.md", metadata=metadata)
    monkeypatch.setattr(operations, "COMPARED_VALUES", 1)
    answer = await caller.search("note", filters={"metadata": {"team": "Field", "draft": False}})
    assert answer["hints"][1:] == ["draft: no document has this value. There is true."]
    answer = await caller.search("note", filters={"metadata": {"team": {"in": ["Wharf", "Field"]}, "draft": False}})
    assert answer["hints"][1:] == ["draft: no document has this value. There is true."]


async def test_a_folder_without_its_path_is_named_with_it(caller: Caller) -> None:
    for uri in ("/data/wiki/one.md", "/data/notes/two.md", "notes/three.md"):
        await caller.add(f"Note {uri}", uri=uri)
        answer = await caller.search("note", filters={"folder": "/data/wiki", "file_types": ["pdf"]})
        assert answer["hints"] == ["The filters and exclusions leave out every document."]
    for folder, hints in (
        ("wiki/", ["folder: did you mean /data/wiki?"]),
        *(
            (wrong, ["folder: no document has this value. There is /data, /data/notes, /data/wiki, notes."])
            for wrong in ("iki", "/data/other")
        ),
        *(("/notes", ["folder: did you mean notes?"]), ("//notes/", ["folder: did you mean notes?"])),
        ("Notes", ["folder: did you mean notes? Values are case-sensitive."]),
    ):
        for filters in ({"folder": folder}, {"all": [{"folder": folder}]}):
            body = {"query": "note", "filters": filters}
            answer = (await caller.client.post("/api/rag/search", json=body)).json()
            assert answer["hints"] == ["The filters and exclusions leave out every document.", *hints]
    await caller.add("Note of a file", uri="file:///srv/my%20notes/four.md")
    answer = (
        await caller.client.post("/api/rag/search", json={"query": "note", "filters": {"folder": "my notes"}})
    ).json()
    assert answer["hints"][1:] == ["folder: did you mean /srv/my notes?"]
    for folder in ("notes", "notes/", "/srv/my notes", "file:///srv/my%20notes"):
        other = {"query": "note", "filters": {"folder": folder, "file_types": ["pdf"]}}
        assert len((await caller.client.post("/api/rag/search", json=other)).json()["hints"]) == 1
    await caller.add("What follows the last dot is no suffix.", uri="notes/at 5.30 h")
    [types] = await counted(caller, of="files", key="file_type")
    assert [one["value"] for one in types["values"]] == ["md"]


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


async def test_the_command_prints_the_values_of_a_key(remote: Any, remote_folder: Path) -> None:
    (remote_folder / "lime.md").write_text("---\nteam: masons\n---\nLime.")
    assert (await remote("ingest", remote_folder)).code == 0
    (team,) = (await remote("facets", "team", "--json")).json["facets"]
    assert team["values"] == [{"value": "masons", "documents": 1}]


async def test_a_user_with_the_name_of_a_deleted_one_is_not_shown_that_ones_values(
    tenant: Tenant, address: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_data, "SETTLE_S", 0)
    services = tenant.services()
    for author in ("Ana Quarrie", "Ben Adair"):
        await tenant.add("A note about lamps.", "lamps.md", metadata={"author": author})
        (facet,) = await operations.run(FacetQuery(), tenant.user_id, services)
        assert [one.value for one in facet.values] == [author]
        async with transactions.connect(address.owner_dsn, pool_size=1) as owner:
            await user_data.delete(tenant.user_id, db=owner, actor="test")
