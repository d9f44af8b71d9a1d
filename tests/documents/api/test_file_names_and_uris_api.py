"""A file name in a form becomes a relative path without what could mislead, and nothing is opened by it.

A URI is stored in one form, and found by each of its spellings.
"""

import unicodedata
from pathlib import Path

import pytest
from api_caller import Caller

from app import errors
from app.documents.api import document_bodies

RAG = "/api/rag"
DOCUMENTS = f"{RAG}/documents"


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ("a.md", "a.md"),
        ("docs//notes/./a.md", "docs/notes/a.md"),
        ("docs\\a.md", "docs/a.md"),
        ("/etc/passwd.txt", "passwd.txt"),
        ("C:\\notes\\plan.md", "plan.md"),
        ("evil\u202etxt.md", "eviltxt.md"),
        ("a\x00b\x1f.txt", "ab.txt"),
        ("<script>alert(1).txt", "<script>alert(1).txt"),
        ("...", "..."),
        ("", None),
        (" / ", None),
        (".", None),
    ],
)
def test_a_file_name_is_read_as_a_relative_path(sent: str, path: str | None) -> None:
    assert document_bodies.relative_path(sent) == path


@pytest.mark.parametrize("sent", ["..", "../a.md", "docs/../a.md", "..\\..\\a.md", "/../a.md", ".\u200b./a.md"])
def test_a_file_name_that_leaves_its_folder_is_refused(sent: str) -> None:
    with pytest.raises(errors.BadRequest):
        document_bodies.relative_path(sent)


async def test_an_odd_file_name_is_only_a_label(caller: Caller) -> None:
    odd = ["n" * 300 + ".md", "txt\u202edm.md", "C:\\etc\\<b>.md", "%00%2e%2e%2fa.md", "a\x00.md"]
    boundary = "x" * 20
    header = '--{}\r\nContent-Disposition: form-data; name="files"; filename="{}"\r\n\r\nLime {}.\r\n'
    parts = "".join(header.format(boundary, sent, number) for number, sent in enumerate(odd))
    response = await caller.client.post(
        DOCUMENTS,
        content=f"{parts}--{boundary}--\r\n".encode(),
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
    )
    assert response.status_code == 201, response.text
    for sent, document in zip(odd, response.json()["documents"], strict=True):
        stored = (await caller.client.get(f"{DOCUMENTS}/{document['document_id']}")).json()
        assert stored["uri"] == document_bodies.relative_path(sent)
        assert not set("\x00\u202e") & set(stored["title"] + stored["metadata"]["filename"])


async def test_a_uri_means_the_same_document_in_both_unicode_forms_wherever_it_is_given(caller: Caller) -> None:
    api, composed = caller.client, "Café/é.md"
    for given in (composed, unicodedata.normalize("NFD", composed)):
        sent = await api.post(DOCUMENTS, files=[("files", ("x.md", "Lime dries."))], data={"uri": given})
        stored = sent.json()["documents"][0]
        same = [
            await caller.add("Lime dries.", given),
            (await api.post(f"{RAG}/tools/add_document", json={"content": "Lime dries.", "uri": given})).json(),
            (await api.put(f"{DOCUMENTS}/{stored['document_id']}", json={"content": "Lime!", "uri": given})).json(),
            (await api.patch(f"{DOCUMENTS}/{stored['document_id']}", json={"uri": given, "content": "Lime."})).json(),
            *(await api.get(DOCUMENTS, params={"uri": given})).json()["documents"],
        ]
        for filters in ({"uri_prefix": given}, {"folder": given.partition("/")[0]}, {"any": [{"uri_prefix": given}]}):
            same += (await caller.search("lime", filters=filters))["results"]
        found = {(one["document_id"], one.get("uri", composed)) for one in same}
        assert (found, len(same)) == ({(stored["document_id"], composed)}, 8)
    renamed = await api.patch(f"{DOCUMENTS}/{stored['document_id']}", json={"uri": unicodedata.normalize("NFD", "ü")})
    assert renamed.json()["uri"] == "ü"
    for delete in (
        lambda given: api.delete(DOCUMENTS, params={"uri": given}),
        lambda given: api.post(f"{DOCUMENTS}/delete", json={"filters": {"uri_prefix": given}}),
    ):
        for given in (composed, unicodedata.normalize("NFD", composed)):
            await caller.add("Lime.", composed)
            assert (await delete(given)).json()["documents_deleted"] == 1


async def test_the_uri_of_a_file_is_shown_as_its_path_and_every_spelling_means_the_same_document(caller) -> None:
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
