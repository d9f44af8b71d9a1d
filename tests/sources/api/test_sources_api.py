"""Sources over HTTP: only the user's own folder can be added, and users never reach each other's."""

import os
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

import made_files
import pytest
import source_folder
from api_caller import Caller
from example_app import assert_problem
from openapi_operations import DOCUMENT

OWN_DATABASE = True
"""A database of its own: workers of other applications may read no folder."""

SOURCES, DELETE = "/api/rag/sources", "/api/rag/documents/delete"


def _fill(root: Path, caller: Caller) -> Path:
    for number in range(3):
        source_folder.write(root / caller.user_id, f"notes/{number}.md", f"Lime {number} of {caller.user_id}.".encode())
    source_folder.write(root / caller.user_id, "notes/bad.pdf", b"%PDF-1.7 damaged")
    return root / caller.user_id / "notes"


async def test_a_source_is_added_searched_and_deleted(caller: Caller, root: Path) -> None:
    folder = _fill(root, caller)
    added = await caller.client.post(SOURCES, json={"path": "notes", "globs": ["*.md", "*.pdf"]})
    assert added.status_code == 201, added.text
    source = added.json()
    assert (source["status"], source["path"], source["watch"]) == ("added", str(folder), False)
    job = await caller.finished(added.headers["location"])
    assert (job["status"], job["source_id"], job["kind"]) == ("done", source["source_id"], "sync_source")
    assert (job["result"]["added"], job["result"]["failed"]) == (3, 1)
    assert [failure["path"] for failure in job["result"]["failures"]] == ["bad.pdf"]
    path = f"{SOURCES}/{source['source_id']}"
    shown = (await caller.client.get(path)).json()
    assert (shown["files"], shown["documents"], shown["failed"], shown["last_sync"]["added"]) == (3, 3, 1, 3)
    assert shown["failures"] == job["result"]["failures"]
    found = await caller.search("lime", filters={"source_ids": [source["source_id"]]}, explain=True)
    assert len(found["results"]) == 3
    assert {(hit["explain"]["source_id"], hit["explain"]["source"]) for hit in found["results"]} == {
        (source["source_id"], "notes")
    }
    other = (await caller.add("Lime of no source.", "other.md"))["document_id"]
    for filters, documents in (
        ({"source_names": ["Notes"]}, 3),
        ({"source_names": ["note"]}, 0),
        ({"not": {"source_names": ["NOTES"]}}, 1),
        ({"any": [{"source_names": ["notes"]}, {"document_ids": [other]}]}, 4),
    ):
        results = (await caller.search("lime", filters=filters, limit=10, explain=True))["results"]
        assert len(results) == documents, filters
        named = [(hit["explain"]["source"], hit["explain"]["source_id"]) for hit in results]
        assert all(name == (source_id and "notes") for name, source_id in named)
    (chunk_id, *_) = [hit["chunk_id"] for hit in results if hit["explain"]["source_id"]]
    hits = (await caller.client.post("/api/rag/similar", json={"chunk_id": chunk_id})).json()["results"]
    assert {hit["uri"] for hit in hits} >= {"other.md"}
    await caller.client.delete(f"/api/rag/documents/{other}")
    deleted = (await caller.client.delete(path)).json()
    assert (deleted["sources_deleted"], deleted["documents_deleted"]) == (1, 3)
    assert deleted["chunks_deleted"] == deleted["vectors_deleted"] == 3
    assert_problem(await caller.client.get(path), 404, "not_found")
    assert (await caller.search("lime"))["hints"] == ["No documents are stored."]


@pytest.mark.parametrize("gone", ["source", "file"])
async def test_earlier_jobs_name_no_files_of_a_source_that_was_deleted_or_has_lost_one(caller, root, gone) -> None:
    for name in (".secret.md", os.fsdecode(b"secret\xe9.md")):
        source_folder.write(root / caller.user_id, f"notes/{name}", b"Lime.")
    source_folder.write(root / caller.user_id, "notes/secret.txt", "Größe der Tür aus Sand".encode("latin-1"))
    added = await caller.client.post(SOURCES, json={"path": "notes"})
    job = await caller.finished(added.headers["location"])
    assert [one["path"] for one in job["result"]["warnings"]] == ["secret.txt"]
    assert job["result"]["left_out"]["hidden"]["examples"] == [".secret.md"]
    assert [failure["path"] for failure in job["result"]["failures"]] == ["secret\\xe9.md"]
    source = f"{SOURCES}/{added.json()['source_id']}"
    if gone == "source":
        assert (await caller.client.delete(source)).status_code == 200
    else:
        (root / caller.user_id / "notes/secret.txt").rename(root / "secret.txt")
        source_folder.write(root / caller.user_id, "notes/other.md", b"Lime.")
        await caller.finished((await caller.client.post(f"{source}/sync")).headers["location"])
    after = await caller.client.get(added.headers["location"])
    assert "secret" not in after.text
    named = {kind: job["result"][kind] for kind in ("left_out", "failures", "warnings")}
    assert {**after.json()["result"], **named} == job["result"]


async def test_hits_name_their_source_where_none_of_the_first_candidates_has_one(caller: Caller, root: Path) -> None:
    source_folder.write(root / caller.user_id, "notes/quarry.md", b"# Stonehand Quarry\n\nOpened below the old mill.")
    added = await caller.client.post(SOURCES, json={"path": "notes"})
    await caller.finished(added.headers["location"])
    for number in range(10):
        await caller.add(f"The mill buys lime from Stonehand Quarry, order {number}.", f"order-{number}.md")
    words = {"mode": "lexical", "explain": True, "ranking": {"candidates": 10, "hierarchy": "off"}}
    hops = {"mode": "lexical", "query": "who sells lime", "limit": 20, "explain": True}
    queries = {
        "a later hop": ("/api/rag/search/multihop", hops),
        "a relaxed search": ("/api/rag/search", {**words, "query": "+below +granite"}),
        "a tool": ("/api/rag/tools/search_documents", {"query": "+below", "mode": "lexical"}),
    }
    first = {**words, "query": "mill lime", "limit": 10}
    cursor = (await caller.search(**first))["next_cursor"]
    queries["a later page"] = ("/api/rag/search", {**first, "cursor": cursor})
    named = {}
    for way, (path, body) in queries.items():
        results = (await caller.client.post(path, json=body)).json()["results"]
        sources = {hit["uri"].rpartition("/")[2]: hit.get("explain", hit).get("source") for hit in results}
        named[way] = sources.pop("quarry.md")
        assert set(sources.values()) <= {None}, way
    assert named == dict.fromkeys(queries, "notes")


async def test_names_of_sources_are_unique_and_by_default_those_of_their_folders(caller: Caller, root: Path) -> None:
    _fill(root, caller)
    for number, (globs, name) in enumerate([(["*.md"], "notes"), (["0.md"], "notes (2)"), (["1.md"], "notes (3)")]):
        added = (await caller.client.post(SOURCES, json={"path": "notes", "globs": globs})).json()
        assert (added["name"], added["status"]) == (name, "added"), number
    renamed = {"path": "notes", "globs": ["*.md"], "name": " Project  Docs "}
    assert (await caller.client.post(SOURCES, json=renamed)).json()["name"] == "Project Docs"
    unnamed = (await caller.client.post(SOURCES, json={"path": "notes", "globs": ["*.md"]})).json()
    assert (unnamed["name"], unnamed["status"]) == ("Project Docs", "unchanged")
    taken = await caller.client.post(SOURCES, json={"path": "notes", "globs": ["2.md"], "name": "project docs"})
    assert_problem(taken, 409, "conflict")
    for name in (" ", "\u0007", unnamed["source_id"]):
        refused = await caller.client.post(SOURCES, json={**renamed, "name": name})
        assert_problem(refused, 422, "invalid_request", "name")
    synced = await caller.client.post("/api/rag/tools/sync_source", json={"source_id": "Project Docs", "wait_s": 0})
    assert synced.json()["source_id"] == unnamed["source_id"]
    await caller.finished(f"/api/rag/jobs/{synced.json()['job_id']}")
    tool, by_id = "/api/rag/tools/search_documents", {"source_ids": [unnamed["source_id"]]}
    found = (await caller.client.post(tool, json={"query": "lime", "sources": ["project DOCS"]})).json()["results"]
    expected = (await caller.search("lime", filters=by_id))["results"]
    assert [hit["chunk_id"] for hit in found] == [hit["chunk_id"] for hit in expected] != []
    unknown = await caller.client.post(tool, json={"query": "lime", "sources": ["none"]})
    assert_problem(unknown, 404, "not_found", "sources")
    assert (await caller.client.get(f"{SOURCES}/project docs")).json()["source_id"] == unnamed["source_id"]
    listed = (await caller.call("list_sources"))["sources"]
    assert {source["name"] for source in listed} == {"Project Docs", "notes (2)", "notes (3)"}


async def test_users_reach_neither_the_folders_nor_the_sources_of_each_other(caller, new_caller, root) -> None:
    other = await new_caller("search", "write")
    folder = _fill(root, other)
    (root / caller.user_id).mkdir()
    source_folder.link(root / caller.user_id / "link", folder)
    for path in (str(folder), str(root), str(root / other.user_id), "/etc", "link"):
        assert_problem(await caller.client.post(SOURCES, json={"path": path}), 403, "folder_not_allowed", "path")
    for path in (f"../{other.user_id}/notes", "link/../../notes", "none"):
        assert_problem(await caller.client.post(SOURCES, json={"path": path}), 422, "invalid_request", "path")
    theirs = (await other.client.post(SOURCES, json={"path": "notes"})).json()["source_id"]
    synced = await caller.client.post("/api/rag/tools/sync_source", json={"source_id": theirs})
    assert_problem(synced, 404, "not_found")
    assert (await caller.client.get(SOURCES)).json() == {"sources": [], "next_cursor": None}


async def test_the_id_of_a_source_tells_nothing_to_other_users_and_to_keys_with_filters(
    caller: Caller, new_caller: Any, callers: Any, root: Path
) -> None:
    other = await new_caller("search", "write")
    _fill(root, other)
    theirs = (await other.client.post(SOURCES, json={"path": "notes"})).json()["source_id"]
    restricted = await callers(other.user_id, filters={"metadata": {"team": "tide"}})
    assert_problem(await restricted.client.post(SOURCES, json={"path": "/tmp"}), 403, "folder_not_allowed", "path")
    asked = [(method, path) for path, item in DOCUMENT["paths"].items() if "{source_id}" in path for method in item]
    assert {method for method, _path in asked} >= {"get", "patch", "post", "delete"}
    for method, path in asked:
        for stranger in (caller, restricted):
            answers = []
            for source_id in (theirs, str(uuid4())):
                body = {"watch": True} if method == "patch" else None
                answer = await stranger.client.request(method, path.format(source_id=source_id), json=body)
                problem = assert_problem(answer, 404, "not_found")
                answers.append({name: str(problem[name]).replace(source_id, "ID") for name in ("title", "detail")})
            assert answers[0] == answers[1], (method, path)
    assert (await other.client.get(f"{SOURCES}/{theirs}")).json()["watch"] is False


async def test_an_agent_adds_and_synchronises_a_folder(caller: Caller, root: Path) -> None:
    folder = root / caller.user_id / "notes"
    source_folder.write(folder, "a.md", b"Lime.")
    source_folder.write(folder, "bad.pdf", b"%PDF-1.7 damaged")
    added = await caller.call("add_source", path="notes", wait_s=30)
    assert (added["status"], added["added"], added["failed"]) == ("done", 1, 1)
    assert [failure["path"] for failure in added["failures"]] == ["bad.pdf"]
    (listed,) = (await caller.call("list_sources"))["sources"]
    assert (listed["source_id"], listed["path"], listed["documents"]) == (added["source_id"], str(folder), 1)
    source_folder.write(folder, "b.md", b"Sand.")
    synced = await caller.call("sync_source", source_id=added["source_id"], wait_s=30)
    assert (synced["added"], synced["unchanged"]) == (1, 1)
    refused = await caller.client.post("/api/rag/tools/add_source", json={"path": "/etc"})
    assert "not in one that is allowed" in refused.text
    unfinished = await caller.call("sync_source", source_id=added["source_id"], wait_s=0)
    assert unfinished["status"] in ("queued", "running")
    assert "error" not in listed
    shutil.rmtree(folder)
    gone = await caller.call("sync_source", source_id=added["source_id"], wait_s=30)
    (listed,) = (await caller.call("list_sources"))["sources"]
    assert (gone["status"], gone["error"], listed["error"]) == ("failed", "source_unavailable", "source_unavailable")


async def test_without_search_neither_operations_nor_tools_show_a_source(caller, callers, root) -> None:
    source_folder.write(root / caller.user_id, "quibblewort/quibblewort.pdf", b"%PDF-1.7 damaged")
    added = await caller.call("add_source", path="quibblewort", wait_s=30)
    path, named = f"{SOURCES}/{added['source_id']}", {"source_id": added["source_id"], "wait_s": 30}
    writer = await callers(caller.user_id, "write")
    for asked in (caller, writer):
        answers = [
            await asked.client.patch(path, json={"watch": True}),
            await asked.client.post("/api/rag/tools/sync_source", json=named),
        ]
        assert ["quibblewort" in answer.text for answer in answers] == [asked is caller] * 2, answers[1].text
    for answer in (await writer.client.post(f"{path}/sync"), await writer.client.delete(path)):
        assert (answer.is_success, "quibblewort" in answer.text) == (True, False)


async def test_without_search_no_answer_says_how_a_source_was_synchronised(caller, callers, root) -> None:
    _fill(root, caller)
    job = await caller.finished((await caller.client.post(SOURCES, json={"path": "notes"})).headers["location"])
    for asked in (caller, await callers(caller.user_id, "write")):
        again = await asked.client.post(SOURCES, json={"path": "notes"})
        ended = await asked.client.post(f"/api/rag/jobs/{job['job_id']}/cancel")
        assert (again.status_code, ended.status_code, ended.json()["status"]) == (200, 200, "done")
        reads = asked is caller
        assert [again.json()[name] is not None for name in ("synced_at", "last_sync")] == [reads, reads]
        assert (bool(ended.json()["result"]), ended.json()["progress"]["documents"]) == (reads, 3 if reads else None)


async def test_sources_are_listed_in_pages(caller: Caller, root: Path) -> None:
    for name in ("a", "b", "c"):
        (root / caller.user_id / name).mkdir(parents=True)
        await caller.client.post(SOURCES, json={"path": name})
    pages = [page["sources"] async for page in caller.pages(SOURCES, limit=2)]
    assert [[source["path"][-1] for source in page] for page in pages] == [["c", "b"], ["a"]]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"path": "a", "globs": []}, "globs"),
        ({"path": "a", "globs": ["../*"]}, "globs"),
        ({"path": ""}, "path"),
        ({"path": "a", "glob": "*.md"}, "glob"),
        ({"path": "file.md", "globs": ["*.md"]}, "globs"),
    ],
)
async def test_a_wrong_request_names_the_field(caller: Caller, root: Path, body: dict[str, Any], field: str) -> None:
    source_folder.write(root / caller.user_id, "a/b.md", b"Lime.")
    source_folder.write(root / caller.user_id, "file.md", b"Lime.")
    response = await caller.client.post(SOURCES, json=body)
    assert (response.status_code, [error["field"] for error in response.json()["errors"]]) == (422, [field])


async def test_a_file_of_a_source_and_its_upload_are_one_hit(caller: Caller, root: Path) -> None:
    files = {
        "short.txt": b"Lime harl.",
        "long.md": b"# Walls\n\nThe lime of the harbour wall was mixed with sand from the northern beach.",
        "page.html": b"<html><title>Lime - Stone</title><body><h1>Lime</h1><p>Sets slowly.</p></body></html>",
        "pit.pdf": made_files.pdf([["Slaked lime rests in the pit for three months."]]),
        "rows.csv": b"name,use\nquick lime,mortar",
        "deep/log.txt": b"Lime putty came on Monday.",
    }
    for name, raw in files.items():
        source_folder.write(root / caller.user_id, f"walls/{name}", raw)
    added = await caller.client.post(SOURCES, json={"path": "walls"})
    await caller.finished(added.headers["location"])
    uploads = [("files", (name, raw)) for name, raw in files.items()]
    uploaded = await caller.client.post("/api/rag/documents/upload", files=uploads)
    assert [one["status"] for one in uploaded.json()["documents"]] == ["added"] * len(files)
    found = await caller.search("lime", limit=20, explain=True)
    assert len(found["results"]) == len(files)
    assert [hit["explain"].get("duplicates") for hit in found["results"]] == [1] * len(files)
