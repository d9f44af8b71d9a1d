"""Documents over HTTP: texts, files, lists, changes, selections, sources, facets, statistics and jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import made_files
import pytest
from over_http import API, NOBODY, Caller, Json, refusal, uris

DOCUMENTS = f"{API}/documents"


def test_a_text_is_stored_found_read_and_deleted(service: Caller) -> None:
    text = "# Bilge pump\n\nThe bilge pump of the tender is tested on the first Monday."
    stored = service.add(text, "e2e/bilge.md", metadata={"kind": "e2e-pump"}, created_at="2024-02-03T00:00:00Z")
    assert (stored["status"], stored["title"], stored["chunk_count"]) == ("added", "Bilge pump", 1)
    assert uris(service.search("When is the bilge pump tested?"))[0] == "e2e/bilge.md"
    path = f"/documents/{stored['document_id']}"
    document = service.get(path)
    assert (document["content"], document["metadata"]) == (text, {"kind": "e2e-pump"})
    assert document["created_at"] == "2024-02-03T00:00:00Z"
    [chunk] = service.get(f"{path}/chunks")["chunks"]
    assert "first Monday" in chunk["content"]
    assert service.call("DELETE", API + path).json()["documents_deleted"] == 1
    assert service.is_gone(path)
    assert "e2e/bilge.md" not in uris(service.search("When is the bilge pump tested?"))


def test_a_text_with_a_stored_uri_replaces_it_and_the_same_text_changes_nothing(service: Caller) -> None:
    first = service.add("The oar locks are brass.", "e2e/oars.md")
    same = service.post("/documents", {"content": "The oar locks are brass.", "uri": "e2e/oars.md"})
    assert (same["status"], same["embedded"], same["document_id"]) == ("unchanged", 0, first["document_id"])
    other = service.post("/documents", {"content": "The oar locks are bronze.", "uri": "e2e/oars.md"}, 201)
    assert (other["status"], other["document_id"]) == ("replaced", first["document_id"])
    hit = service.search("oar locks")["results"][0]
    assert hit["content"] == "The oar locks are bronze."


def test_documents_of_a_list_are_stored_or_refused_one_by_one(service: Caller) -> None:
    notes = [{"content": "Kelp grows fast.", "uri": "e2e/kelp.md"}, {"content": " "}, {"content": "Eels hide."}]
    stored = service.post("/documents", notes, 201)
    assert stored["added"] == 2
    assert [(one["index"], one["code"], one["field"]) for one in stored["failed"]] == [(1, "blank_content", "content")]


def _sheet() -> bytes:
    return made_files.sheets({"Ports": [("port", "depth"), ("Lindhaven", 7)]})


FILES: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "lime.txt": (lambda: b"The kiln at Orrin burns oyster shells.", "Where are oyster shells burnt?", "lime.txt"),
    "kiln.html": (
        lambda: b"<html><body><main><h1>Kiln</h1><p>The Brae kiln needs nine baskets of peat.</p></main></body></html>",
        "baskets of peat for the Brae kiln",
        "kiln.html",
    ),
    "report.pdf": (
        lambda: made_files.pdf([["## Survey", "The hull has seventeen rivets missing."]]),
        "How many rivets are missing from the hull?",
        "report.pdf",
    ),
    "note.docx": (
        lambda: made_files.word("# Ropes", "Hemp ropes are tarred each spring."),
        "When are hemp ropes tarred?",
        "note.docx",
    ),
    "talk.pptx": (
        lambda: made_files.slides(("Pulleys", ["The third pulley squeaks in frost."], "")),
        "Which pulley squeaks?",
        "talk.pptx",
    ),
    "ports.xlsx": (_sheet, "port Lindhaven depth", "ports.xlsx#"),
    "tides.csv": (lambda: b"id,text\n7,Neap tide at Quoyness is at ten.\n", "neap tide at Quoyness", "tides.csv#id=7"),
    "log.jsonl": (
        lambda: b'{"id": 3, "text": "The skiff Merganser leaks."}\n',
        "skiff Merganser",
        "log.jsonl#id=3",
    ),
    "mail.eml": (
        lambda: b"From: ana@example.org\nSubject: Gasket\n\nThe gasket for valve nine arrives by cart.\n",
        "gasket for valve nine",
        "mail.eml",
    ),
    "all.zip": (
        lambda: made_files.archive({"inner/rope.md": "# Rope\n\nThe manila rope is coiled by moonlight."}),
        "manila rope coiled by moonlight",
        "all.zip/inner/rope.md",
    ),
}


@pytest.mark.parametrize(("name", "made", "query", "uri"), [(name, *row) for name, row in FILES.items()], ids=FILES)
def test_a_file_is_stored_and_found(
    service: Caller, name: str, made: Callable[[], bytes], query: str, uri: str
) -> None:
    files = {"files": (f"e2e/{name}", made())}
    data = {"metadata": '{"batch": "e2e-files"}'}
    stored = service.call("POST", f"{DOCUMENTS}/upload", 201, files=files, data=data).json()
    assert (stored["added"], stored["failed"]) == (1, [])
    [document] = stored["documents"]
    assert document["uri"].startswith(f"e2e/{uri}")
    hit = service.search(query, filters={"metadata": {"batch": "e2e-files"}})["results"][0]
    assert hit["document_id"] == document["document_id"]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("cut.pdf", b"%PDF-1.7\n", "damaged"),
        ("empty.txt", b"", "no_text"),
        ("program.exe", b"MZ\x90\0\x03\0\0\0", "unsupported_format"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(
    service: Caller, name: str, content: bytes, code: str
) -> None:
    refused = service.call("POST", DOCUMENTS, 422, files={"files": (f"e2e/{name}", content)})
    refusal(refused, code)


def test_a_write_that_is_sent_twice_with_one_key_is_done_once(service: Caller) -> None:
    headers = {"Idempotency-Key": uuid4().hex}
    note = {"content": "The gull counts to four.", "uri": "e2e/gull.md"}
    first = service.call("POST", DOCUMENTS, 201, json=note, headers=headers)
    again = service.call("POST", DOCUMENTS, 201, json=note, headers=headers)
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    service.call("POST", DOCUMENTS, 422, json=note | {"content": "Five."}, headers=headers)


def test_a_document_is_changed_in_part_replaced_and_keeps_its_id(service: Caller) -> None:
    stored = service.add("The anchor weighs forty pounds.", "e2e/anchor.md", metadata={"a": 1, "b": {"c": 2}})
    path = f"/documents/{stored['document_id']}"
    changed = service.call("PATCH", API + path, json={"metadata": {"a": None, "b": {"d": 3}}}).json()
    assert changed["embedded"] == 0
    assert service.get(path)["metadata"] == {"b": {"c": 2, "d": 3}}
    service.call("PATCH", API + path, json={"content": "The anchor weighs fifty pounds.", "title": "Anchor"})
    assert (service.get(path)["title"], service.get(path)["uri"]) == ("Anchor", "e2e/anchor.md")
    service.call("PUT", API + path, json={"content": "The anchor was sold.", "uri": "e2e/anchor.md"})
    document = service.get(path)
    assert (document["content"], document["metadata"]) == ("The anchor was sold.", {})


def test_a_uri_belongs_to_one_document(service: Caller) -> None:
    service.add("One hull.", "e2e/hull-1.md")
    second = service.add("Two hulls.", "e2e/hull-2.md")
    path = f"{DOCUMENTS}/{second['document_id']}"
    refusal(service.call("PATCH", path, 409, json={"uri": "e2e/hull-1.md"}), "conflict")


def test_a_reader_can_ask_for_a_state_that_contains_a_write(service: Caller) -> None:
    written = service.call("POST", DOCUMENTS, 201, json={"content": "Version.", "uri": "e2e/version.md"})
    version = written.headers["X-Stepwell-Version"]
    read = service.call("GET", f"{API}/stats", headers={"X-Stepwell-Version": version})
    assert int(read.headers["X-Stepwell-Version"]) >= int(version)


def test_a_document_is_deleted_by_its_uri(service: Caller) -> None:
    service.add("The buoy bell is cracked.", "e2e/bell.md")
    assert service.call("DELETE", DOCUMENTS, params={"uri": "e2e/bell.md"}).json()["documents_deleted"] == 1
    refusal(service.call("DELETE", DOCUMENTS, 404, params={"uri": "e2e/bell.md"}), "not_found")


def _add_several(service: Caller, kind: str) -> Json:
    for number in range(3):
        service.add(f"Reel number {number} of the {kind}.", f"e2e/{kind}-{number}.md", metadata={"kind": kind})
    return {"metadata": {"kind": kind}}


def test_documents_are_counted_and_deleted_by_a_filter(service: Caller) -> None:
    selected = _add_several(service, "e2e-reel")
    counted = service.post("/documents/delete", {"filters": selected, "dry_run": True})
    assert (counted["matched"]["documents"], counted["documents_deleted"]) == (3, 0)
    deleted = service.post("/documents/delete", {"filters": selected})
    assert deleted["documents_deleted"] == 3
    assert service.search("reel", filters=selected)["results"] == []


def test_documents_are_cut_again_by_a_filter(service: Caller) -> None:
    selected = _add_several(service, "e2e-spool")
    counted = service.post("/documents/reindex", {"filters": selected, "dry_run": True})
    assert counted["documents"] == 3
    queued = service.post("/documents/reindex", {"filters": selected}, 202)
    assert service.job_after(queued["job_id"])["status"] == "done"
    assert len(service.search("spool", filters=selected)["results"]) == 3


def test_documents_are_listed_by_words_filters_uri_and_order(service: Caller) -> None:
    selected = json.dumps({"folder": "sample/people"})
    page = service.get("/documents", filters=selected, sort="title", limit=5)
    rest = service.get("/documents", filters=selected, sort="title", limit=5, cursor=page["next_cursor"])
    titles = [document["title"] for document in page["documents"] + rest["documents"]]
    assert titles == sorted(titles)
    assert len(titles) == 8
    assert rest["next_cursor"] is None
    [found] = service.get("/documents", query="cliff clarke", filters=selected)["documents"]
    assert found["uri"] == "sample/people/cliff-clarke.md"
    [same] = service.get("/documents", uri="sample/people/cliff-clarke.md")["documents"]
    assert same["document_id"] == found["document_id"]
    oldest = service.get("/documents", sort="oldest", filters=selected)["documents"]
    newest = service.get("/documents", sort="newest", filters=selected)["documents"]
    assert [one["document_id"] for one in oldest] == [one["document_id"] for one in reversed(newest)]


def test_the_passages_of_a_document_have_offsets_into_its_text(service: Caller) -> None:
    [document] = service.get("/documents", uri="sample/products/gannet.md")["documents"]
    text = service.get(f"/documents/{document['document_id']}")["content"]
    path = f"/documents/{document['document_id']}/chunks"
    chunks = service.get(path)["chunks"]
    assert [chunk["chunk_index"] for chunk in chunks] == list(range(document["chunk_count"]))
    for chunk in chunks:
        assert text[chunk["start_offset"] : chunk["end_offset"]] == chunk["content"]
    assert service.get(path, offset=1, limit=1)["chunks"] == chunks[1:2]


def test_facets_count_the_keys_and_values_of_metadata(service: Caller) -> None:
    for number in range(3):
        fields = {"e2e_colour": "red" if number else "blue", "e2e_sizes": [1, number]}
        service.add(f"Flag {number}", f"e2e/flag-{number}.md", metadata=fields)
    [colour] = service.get("/facets", key="e2e_colour")["facets"]
    assert (colour["documents"], colour["distinct"], colour["types"]) == (3, 2, {"string": 3})
    assert colour["values"] == [{"value": "red", "documents": 2}, {"value": "blue", "documents": 1}]
    [sizes] = service.get("/facets", key="e2e_sizes")["facets"]
    assert {value["value"]: value["documents"] for value in sizes["values"]} == {1: 3, 0: 1, 2: 1}
    assert [facet["key"] for facet in service.get("/facets", prefix="e2e_c")["facets"]] == ["e2e_colour"]
    [beginning] = service.get("/facets", key="e2e_colour", prefix="bl")["facets"]
    assert [value["value"] for value in beginning["values"]] == ["blue"]
    [limited] = service.get("/facets", key="e2e_colour", limit=1)["facets"]
    assert len(limited["values"]) == 1


@pytest.mark.parametrize(
    ("filters", "documents"),
    [
        ({"metadata": {"tags": "decision"}}, 5),
        ({"folder": "sample/people"}, 8),
        ({"uri_prefix": "sample/", "metadata": {"date": {"gte": "2025-12-01"}}}, 2),
        ({"any": [{"folder": "sample/people"}, {"folder": "sample/decisions"}]}, 13),
        ({"folder": "sample/decisions", "not": {"metadata": {"team": "Firmware"}}}, 4),
    ],
    ids=["a value", "a folder", "a range", "any", "not"],
)
def test_facets_count_the_documents_that_pass_filters(service: Caller, filters: Json, documents: int) -> None:
    [dates] = service.get("/facets", key="date", filters=json.dumps(filters))["facets"]
    assert dates["documents"] == documents


def test_facets_with_filters_follow_writes(service: Caller) -> None:
    def counted() -> list[Any]:
        facets = service.get("/facets", key="e2e_mast", filters=json.dumps({"uri_prefix": "e2e/mast"}))["facets"]
        return [facet["documents"] for facet in facets]

    stored = service.add("A mast.", "e2e/mast.md", metadata={"e2e_mast": "oak"})
    assert counted() == [1]
    service.call("PATCH", f"{DOCUMENTS}/{stored['document_id']}", json={"metadata": {"e2e_mast": None}})
    assert counted() == []


def test_statistics_count_what_is_stored(settled: Caller) -> None:
    before = settled.get("/stats")
    assert (before["embedding_model"], before["embedding_dimension"]) == ("all-MiniLM-L6-v2", 384)
    assert before["chunks"] == before["vectors"] > 145
    settled.add("One more note.", "e2e/one-more.md")
    after = settled.get("/stats")
    assert (after["documents"], after["chunks"]) == (before["documents"] + 1, before["chunks"] + 1)


def test_a_large_text_is_stored_by_a_job_that_can_be_followed(service: Caller) -> None:
    text = "\n\n".join(f"# Day {number}\n\nNo whale was seen." for number in range(40_000))
    stored = service.post("/documents", {"content": text, "uri": "e2e/log.md"}, 202)
    assert stored["status"] == "queued"
    service.call("POST", f"{API}/jobs/{stored['job_id']}/cancel")
    assert service.job_after(stored["job_id"])["status"] == "cancelled"
    job = service.get(f"/jobs/{stored['job_id']}")
    assert (job["kind"], job["status"], job["document_id"]) == ("store_document", "cancelled", stored["document_id"])
    assert stored["job_id"] in [one["job_id"] for one in service.get("/jobs", status="cancelled")["jobs"]]
    assert service.is_gone(f"/documents/{stored['document_id']}")


def test_a_job_that_is_not_there_is_not_found(service: Caller) -> None:
    for path in (f"/jobs/{NOBODY}", f"/jobs/{NOBODY}/events"):
        refusal(service.call("GET", API + path, 404), "not_found")
    refusal(service.call("POST", f"{API}/jobs/{NOBODY}/cancel", 404), "not_found")


def test_a_source_keeps_documents_in_step_with_a_folder(service: Caller, folder: Path) -> None:
    place = folder / "sources" / "wharf"
    (place / "old").mkdir(parents=True)
    (place / "crane.md").write_text("# Crane\n\nThe crane lifts four tonnes of slate.")
    (place / "old" / "winch.md").write_text("# Winch\n\nThe winch is rusty.")
    added = service.post("/sources", {"path": str(place), "name": "wharf", "globs": ["**/*.md"]}, 201)
    job = service.job_after(added["job_id"])
    assert (job["status"], job["result"]["added"]) == ("done", 2)
    hit = service.search("slate crane", filters={"source_names": ["wharf"]})["results"][0]
    assert hit["uri"].endswith("/wharf/crane.md")

    (place / "old" / "winch.md").unlink()
    (place / "crane.md").write_text("# Crane\n\nThe crane lifts five tonnes of slate.")
    path = f"/sources/{added['source_id']}"
    queued = service.post(f"{path}/sync", None, 202)
    result = service.job_after(queued["job_id"])["result"]
    assert (result["replaced"], result["removed"], result["unchanged"]) == (1, 1, 0)
    hit = service.search("slate crane", filters={"source_ids": [added["source_id"]]})["results"][0]
    assert "five tonnes" in hit["content"]

    assert [one["documents"] for one in service.get("/sources")["sources"] if one["name"] == "wharf"] == [1]
    for watch in (True, False):
        changed = service.call("PATCH", API + path, json={"watch": watch}).json()
        assert (changed["watch"], service.get(path)["watch"]) == (watch, watch)
    service.finish_jobs()
    deleted = service.call("DELETE", API + path).json()
    assert (deleted["sources_deleted"], deleted["documents_deleted"]) == (1, 1)
    assert service.is_gone(path)


def test_a_source_is_added_once_and_from_allowed_folders_only(service: Caller, folder: Path) -> None:
    place = folder / "sources" / "shed"
    place.mkdir()
    (place / "saw.md").write_text("# Saw\n\nThe saw hangs in the shed.")
    added = service.post("/sources", {"path": str(place)}, 201)
    same = service.post("/sources", {"path": str(place)})
    assert (same["status"], same["source_id"]) == ("unchanged", added["source_id"])
    service.job_after(added["job_id"])
    refused = service.call("POST", f"{API}/sources", 403, json={"path": "/etc"})
    refusal(refused, "folder_not_allowed", "path")
