"""Tests of storing large documents over HTTP: they are queued, and a job stores them."""

import dataclasses

import pytest
from api_caller import Caller
from example_app import assert_problem

from app.documents.storing import ingest, large_documents

DOCUMENTS = "/api/rag/documents"
TEXT = "# Long\n\n" + "\n\n".join(f"Paragraph {n} on lime mortar and stone." for n in range(100))


@pytest.fixture(autouse=True)
def _small_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_documents, "LARGE", 2_000)


async def test_a_large_document_is_202_with_the_path_of_its_job_and_found_once_that_is_done(caller: Caller) -> None:
    response = await caller.client.post(DOCUMENTS, json={"content": TEXT, "uri": "long", "metadata": {"k": 1}})
    assert response.status_code == 202, response.text
    queued = response.json()
    assert (queued["status"], queued["chunk_count"], queued["title"]) == ("queued", 0, "Long")
    assert response.headers["location"] == f"/api/rag/jobs/{queued['job_id']}"
    job = await caller.finished(response.headers["location"])
    assert (job["status"], job["kind"], job["document_id"]) == ("done", "store_document", queued["document_id"])
    assert job["result"]["chunk_count"] == job["progress"]["total"] > 3
    found = await caller.search("paragraph 7 lime", filters={"metadata": {"k": 1}})
    assert {hit["document_id"] for hit in found["results"]} == {queued["document_id"]}
    again = await caller.client.post(DOCUMENTS, json={"content": TEXT, "uri": "long", "metadata": {"k": 1}})
    assert (again.status_code, again.json()["status"]) == (200, "unchanged")
    assert again.json()["chunk_count"] == job["result"]["chunk_count"]
    patched = await caller.client.patch(f"{DOCUMENTS}/{queued['document_id']}", json={"title": "Longer"})
    assert (await caller.finished(patched.headers["location"]))["result"]["status"] == "replaced"
    put = await caller.client.put(f"{DOCUMENTS}/{queued['document_id']}", json={"content": f"{TEXT}\n\nThe end."})
    assert put.status_code == 202
    assert (await caller.finished(put.headers["location"]))["status"] == "done"
    assert (await caller.client.get(f"{DOCUMENTS}/{queued['document_id']}")).json()["content"].endswith("The end.")


async def test_large_items_of_a_list_and_large_files_are_queued_and_small_ones_stored(caller: Caller) -> None:
    listed = await caller.client.post(
        DOCUMENTS, json=[{"content": "Small.", "uri": "small"}, {"content": TEXT, "uri": "long"}]
    )
    assert listed.status_code == 202, listed.text
    assert [document["status"] for document in listed.json()["documents"]] == ["added", "queued"]
    assert (listed.json()["added"], listed.json()["queued"]) == (1, 1)
    form = await caller.client.post(DOCUMENTS, files=[("files", ("other.md", TEXT + "More."))])
    assert [document["status"] for document in form.json()["documents"]] == ["queued"]
    for answer in (listed, form):
        job_id = answer.json()["documents"][-1]["job_id"]
        assert (await caller.finished(f"/api/rag/jobs/{job_id}"))["status"] == "done"
    assert len((await caller.client.get(DOCUMENTS)).json()["documents"]) == 3


async def test_documents_whose_chunks_are_too_many_for_one_request_are_queued_and_the_others_stored(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ",".join(f"a value of lime {n}" for n in range(60))
    table = ",".join(f"column {n}" for n in range(60)) + f"\n{row}" * 4
    whole = await caller.client.post(DOCUMENTS, files=[("files", ("whole.csv", table))])
    chunks = whole.json()["documents"][0]["chunk_count"]
    assert (whole.status_code, whole.json()["added"], chunks > 1) == (201, 4, True), whole.text
    monkeypatch.setattr(ingest, "IN_REQUEST", dataclasses.replace(ingest.IN_REQUEST, most_chunks=2 * chunks))
    form = await caller.client.post(DOCUMENTS, files=[("files", ("whole.csv", table)), ("files", ("new.csv", table))])
    assert form.status_code == 202, form.text
    results = form.json()["documents"]
    assert [one["status"] for one in results] == ["unchanged"] * 4 + ["added"] * 2 + ["queued"] * 2
    for queued in results[6:]:
        assert (await caller.finished(f"/api/rag/jobs/{queued['job_id']}"))["result"]["chunk_count"] == chunks
    monkeypatch.setattr(large_documents, "MANY_CHUNKS", 2)
    one = {"content": "Lime mortar and stone. " * 80, "uri": "one"}
    assert len(one["content"]) < large_documents.LARGE
    job = await caller.finished((await caller.client.post(DOCUMENTS, json=one)).headers["location"])
    assert job["result"]["chunk_count"] > 2
    patched = await caller.client.patch(f"{DOCUMENTS}/{job['document_id']}", json={"title": "Mortar"})
    assert (await caller.finished(patched.headers["location"]))["result"]["status"] == "replaced"


async def test_a_text_that_is_too_long_is_422_and_a_conflict_409(caller, monkeypatch) -> None:
    one = await caller.add("One.", "one")
    await caller.add("Two.", "two")
    response = await caller.client.put(f"{DOCUMENTS}/{one['document_id']}", json={"content": TEXT, "uri": "two"})
    assert_problem(response, 409, "conflict", "uri")
    monkeypatch.setattr(large_documents, "MOST_CHARACTERS", 3_000)
    refused = await caller.client.post(DOCUMENTS, json={"content": TEXT})
    assert_problem(refused, 422, "invalid_request", "content")
