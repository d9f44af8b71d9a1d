"""Files of a form become documents whose uri is the file's name or relative path."""

from typing import Any

import httpx
import made_files
from api_caller import Caller
from example_app import assert_problem

from app.parsing.process import ParseLimits

DOCUMENTS = "/api/rag/documents"


async def _upload(
    caller: Caller, *files: tuple[str, bytes], data: dict[str, Any] | None = None, field: str = "files"
) -> httpx.Response:
    parts = [(field, (name, raw, "text/plain")) for name, raw in files]
    return await caller.client.post(DOCUMENTS, files=parts, data=data)


async def _stored(caller: Caller, response: httpx.Response) -> list[dict[str, Any]]:
    """The documents that a request stored, as they are read afterwards."""
    assert response.status_code in (200, 201), response.text
    ids = [document["document_id"] for document in response.json()["documents"]]
    return [(await caller.client.get(f"{DOCUMENTS}/{document_id}")).json() for document_id in ids]


async def test_a_name_that_comes_twice_is_refused_as_a_duplicate(caller: Caller) -> None:
    again = [(name, b"# Clay") for name in ("a.md", "./a.md", "/tmp/a.md", "C:\\notes\\a.md", "a\u200b.md")]
    answer = (await _upload(caller, ("a.md", b"# Lime"), *again, ("b.md", b"# Sand"))).json()
    assert [document["title"] for document in answer["documents"]] == ["Lime", "Sand"]
    duplicates = [(index, "a.md", "duplicate_uri") for index in range(1, 6)]
    assert [(one["index"], one["uri"], one["code"]) for one in answer["failed"]] == duplicates


async def test_a_file_that_leaves_its_folder_or_has_a_long_path_is_refused_alone(caller: Caller) -> None:
    files = (("../../etc/passwd.txt", b"root"), ("a.md", b"# Lime"), ("x/" * 1100 + "b.md", b"# Clay"))
    answer = (await _upload(caller, *files)).json()
    assert [document["uri"] for document in answer["documents"]] == ["a.md"]
    assert [one["index"] for one in answer["failed"]] == [0, 2]


async def test_a_file_without_a_name_is_identified_by_its_text(caller: Caller) -> None:
    """An empty file name in a form is that of a part without a chosen file in most clients."""
    boundary = "x" * 20
    part = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename=""\r\n\r\n'
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    for text, status in (("Lime.", 201), ("", 422)):
        body = f"{part}{text}\r\n--{boundary}--\r\n".encode()
        response = await caller.client.post(DOCUMENTS, content=body, headers=headers)
        assert response.status_code == status, response.text
    (document,) = (await caller.client.get(DOCUMENTS)).json()["documents"]
    assert (document["uri"], document["title"], document["metadata"]) == (None, "", {})


async def test_a_form_that_is_cut_off_is_refused_and_stores_nothing(caller: Caller) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=xyz"}
    part = '--xyz\r\nContent-Disposition: form-data; name="files"; filename="{}.md"\r\n\r\nLime.\r\n'
    for body in (part.format("a") + part.format("b"), part.format("a") + part.format("b")[:-9], part.format("a")):
        refused = await caller.client.post(DOCUMENTS, content=body, headers=headers)
        problem = assert_problem(refused, 422, "invalid_request", "files")
        assert "ends before its last boundary" in problem["detail"]
    assert (await caller.client.get(DOCUMENTS)).json()["documents"] == []
    whole = await caller.client.post(DOCUMENTS, content=f"{part.format('a')}--xyz--", headers=headers)
    assert whole.status_code == 201


async def test_form_fields_describe_the_file(caller: Caller) -> None:
    data = {"uri": "walls", "title": "Wände", "language": "de", "metadata": '{"team": "masonry", "year": 2024}'}
    (stored,) = await _stored(caller, await _upload(caller, ("a.md", b"# Haus\n\nKalk."), data=data))
    assert (stored["uri"], stored["title"], stored["language"]) == ("walls", "Wände", "german")
    assert stored["metadata"] == {"filename": "a.md", "team": "masonry", "year": 2024}
    data = {"metadata": '{"team": "pilots"}'}
    several = await _stored(caller, await _upload(caller, ("b.md", b"# B"), ("c.md", b"# C"), data=data))
    assert [document["metadata"]["team"] for document in several] == ["pilots", "pilots"]


async def test_an_invalid_form_field_is_named_and_nothing_is_stored(caller: Caller) -> None:
    invalid: list[tuple[dict[str, Any], str]] = [
        ({"uri": ""}, "uri[0]"),
        ({"uri": "a\x00b"}, "uri[0]"),
        ({"uri": "u" * 2049}, "uri[0]"),
        ({"uri": ["one", "two"]}, "uri"),
        ({"title": "t" * 501}, "title"),
        ({"metadata": "team=masonry"}, "metadata"),
        ({"metadata": "[]"}, "metadata"),
        ({"metadata": '{"size": NaN}'}, "metadata.size"),
        ({"metadata": '{"a": "' + "x" * 70_000 + '"}'}, "metadata"),
        ({"language": "x" * 41}, "language"),
        ({"content": "x"}, "content"),
        ({"<b>": "x"}, "(key)"),
    ]
    for data, field in invalid:
        response = await _upload(caller, ("a.md", b"# Lime"), data=data)
        assert response.status_code == 422, response.text
        assert [error["field"] for error in response.json()["errors"]] == [field]
    for field in ("uri", "title"):  # of one file do not apply to two
        response = await _upload(caller, ("a.md", b"# Lime"), ("b.md", b"# Clay"), data={field: "x"})
        assert_problem(response, 422, "invalid_request", field)
    assert (await caller.client.get(DOCUMENTS)).json()["documents"] == []


async def test_each_file_of_a_form_may_have_a_uri(caller: Caller) -> None:
    files = (("one.md", b"# Lime"), ("one.md", b"# Clay"))
    stored = await _stored(caller, await _upload(caller, *files, data={"uri": ["a/one.md", "b/one.md"]}))
    assert {document["uri"]: document["title"] for document in stored} == {"a/one.md": "Lime", "b/one.md": "Clay"}


async def test_files_without_text_are_stored_by_their_titles(caller: Caller) -> None:
    files = (
        ("a.md", b"---\ntitle: Lime\n---\n"),
        ("b.html", b"<html><head><title>Clay</title></head><body></body></html>"),
        ("c.csv", b"id,title,text\n7,Sand,\n"),
    )
    stored = await _stored(caller, await _upload(caller, *files))
    stored += await _stored(caller, await _upload(caller, ("d.txt", b" \n"), data={"title": "Slate"}))
    stored += await _stored(caller, await _upload(caller, ("e.txt", b""), data={"title": "Flint"}))
    found = [(one["uri"], one["title"], one["content"], one["chunk_count"]) for one in stored]
    titles = {"a.md": "Lime", "b.html": "Clay", "c.csv#id=7": "Sand", "d.txt": "Slate", "e.txt": "Flint"}
    assert found == [(uri, title, "", 1) for uri, title in titles.items()]


async def test_several_of_which_none_can_be_stored_are_refused_by_the_first(caller: Caller) -> None:
    form = await _upload(caller, ("a.pdf", b"%PDF-1.7"), ("b.txt", b""))
    listed = await caller.client.post(DOCUMENTS, json=[{"content": "---\nteam: Only this\n---\n"}])
    assert (form.status_code, listed.status_code) == (422, 422)
    assert [one.json()["errors"][0]["field"] for one in (form, listed)] == ["files[0]", "[0].content"]


async def test_a_form_with_something_else_or_too_much_is_refused(caller: Caller) -> None:
    assert (await _upload(caller, ("a.txt", b"Lime."), field="file")).status_code == 422
    many = await _upload(caller, *((f"{n}.txt", b"Lime.") for n in range(101)))
    fields = await _upload(caller, ("a.txt", b"Lime."), data={f"field{n}": "x" for n in range(200)})
    text = await caller.client.post(DOCUMENTS, files={"other": ("a.txt", b"Lime.")}, data={"files": "x"})
    for response in (many, fields, text):
        assert_problem(response, 422, "invalid_request", "files")
    broken = await caller.client.post(DOCUMENTS, content=b"x", headers={"Content-Type": "multipart/form-data"})
    assert broken.status_code in (400, 422)
    assert (await caller.client.get(DOCUMENTS)).json()["documents"] == []


async def test_a_file_that_cannot_be_read_is_refused_alone_with_its_reason(caller: Caller) -> None:
    files = (
        ("a.pdf", made_files.image_only_pdf()),
        ("b.pdf", made_files.pdf([["Secret."]], password="x")),
        ("c.docx", made_files.archive({"word/document.xml": b" " * 50_000_000})),
        ("d.png", b"\x89PNG\r\n\x1a\n"),
        ("e.pdf", made_files.pdf([["Lime."]])[:-300]),
        ("f.pdf", b""),
        ("g.txt", made_files.pdf([["Lime."]])),
    )
    answer = (await _upload(caller, *files)).json()
    assert [document["uri"] for document in answer["documents"]] == ["g.txt"]
    assert [(one["index"], one["uri"], one["code"]) for one in answer["failed"]] == [
        (0, "a.pdf", "no_text"),
        (1, "b.pdf", "encrypted"),
        (2, "c.docx", "parse_limit"),
        (3, "d.png", "unsupported_format"),
        (4, "e.pdf", "damaged"),
        (5, "f.pdf", "no_text"),
    ]


async def test_the_files_of_an_archive_are_documents_or_refused_alone(caller: Caller) -> None:
    notes = {
        "a/lime.md": "Lime mortar dries slowly.",
        "rows.csv": "id,text\n7,Clay pipes.\n",
        "picture.png": b"\x89PNG\r\n\x1a\n",
        "deep.zip": made_files.archive({"a.md": "Sand."}),
        "empty.md": "",
        "b.docx": made_files.word("Sand."),
    }
    answer = (await _upload(caller, ("notes/all.zip", made_files.archive(notes)), ("b.md", b"Tides."))).json()
    uris = ["notes/all.zip/a/lime.md", "notes/all.zip/rows.csv#id=7", "notes/all.zip/b.docx", "b.md"]
    assert [document["uri"] for document in answer["documents"]] == uris
    assert [(one["index"], one["uri"], one["code"]) for one in answer["failed"]] == [
        (0, "notes/all.zip/picture.png", "unsupported_format"),
        (0, "notes/all.zip/deep.zip", "unsupported_format"),
        (0, "notes/all.zip/empty.md", "no_text"),
    ]
    assert "An archive in an archive" in answer["failed"][1]["detail"]
    stored = await caller.client.get(f"/api/rag/documents/{answer['documents'][0]['document_id']}")
    assert stored.json()["metadata"] == {"filename": "lime.md"}


async def test_rows_and_lines_of_files_are_documents_with_filterable_metadata(caller: Caller) -> None:
    lines = b'{"id": 1, "note": "Clay pipes drain.", "year": 1900}\n{"id": 2, "note": "\\u0000Sand.", "big": 1e999}\n'
    response = await _upload(
        caller, ("tides.csv", b"port,note\nLindau,High at noon.\n"), ("a.jsonl", lines), data={"text_field": "note"}
    )
    stored = await _stored(caller, response)
    assert [(document["uri"], document["content"]) for document in stored] == [
        ("tides.csv#row=2", "High at noon."),
        ("a.jsonl#id=1", "Clay pipes drain."),
        ("a.jsonl#id=2", "Sand."),
    ]
    assert stored[2]["metadata"] == {"filename": "a.jsonl", "id": 2}
    query = {"query": "pipes", "filters": {"metadata": {"year": {"lt": 1950}}}}
    answer = (await caller.client.post("/api/rag/search", json=query)).json()
    assert [hit["uri"] for hit in answer["results"]] == ["a.jsonl#id=1"]
    again = await _upload(caller, ("a.jsonl", lines), data={"text_field": "note"})
    assert (again.status_code, again.json()["unchanged"]) == (200, 2)


async def test_a_file_of_too_many_rows_or_that_breaks_after_its_first_ones_is_refused_whole(caller: Caller) -> None:
    rows = "\n".join(["text", *(f"Note {number}." for number in range(ParseLimits().documents + 1))])
    assert_problem(await _upload(caller, ("a.csv", rows.encode())), 422, "invalid_request", "files[0]")
    response = await _upload(caller, ("a.jsonl", b'{"text": "Lime."}\n{'))
    assert_problem(response, 422, "damaged", "files[0]")
    assert (await caller.client.get(DOCUMENTS)).json()["documents"] == []


async def test_a_hit_from_a_pdf_has_its_page_and_offsets_into_the_cleaned_text(caller: Caller) -> None:
    pages = [
        ["Harbour office", *["The tide comes in twice a day."] * 30, "Page 1"],
        ["Harbour office", *["Boats lie in the outer basin."] * 30, "Page 2"],
        ["Harbour office", *["Lime mortar dries slowly in winter."] * 30, "Page 3"],
    ]
    (stored,) = await _stored(caller, await _upload(caller, ("a.pdf", made_files.pdf(pages))))
    assert stored["content"].count("Harbour office") == 1
    assert "Page" not in stored["content"]
    answer = (await caller.client.post("/api/rag/search", json={"query": "mortar in winter", "explain": True})).json()
    hit = answer["results"][0]
    assert hit["page"] == 3
    place = hit["explain"]
    assert stored["content"][place["start_offset"] : place["end_offset"]] == hit["content"]
    compact = await caller.client.post("/api/rag/search", json={"query": "outer basin", "detail": "compact"})
    assert compact.json()["results"][0]["page"] == 2
    chunks = (await caller.client.get(f"{DOCUMENTS}/{stored['document_id']}/chunks")).json()["chunks"]
    assert [chunk["page"] for chunk in chunks] == sorted(chunk["page"] for chunk in chunks)
    assert {chunk["page"] for chunk in chunks} == {1, 2, 3}
    await caller.client.patch(
        f"{DOCUMENTS}/{stored['document_id']}",
        json={"title": "Another title"},
        headers={"Content-Type": "application/merge-patch+json"},
    )
    again = (await caller.client.get(f"{DOCUMENTS}/{stored['document_id']}/chunks")).json()["chunks"]
    assert {chunk["page"] for chunk in again} == {1, 2, 3}


async def test_a_passage_over_two_pages_has_the_page_with_its_middle(caller: Caller) -> None:
    pages = [["The tide comes in twice a day."] * 2, ["Lime mortar dries slowly in winter."] * 5]
    (stored,) = await _stored(caller, await _upload(caller, ("a.pdf", made_files.pdf(pages))))
    (chunk,) = (await caller.client.get(f"{DOCUMENTS}/{stored['document_id']}/chunks")).json()["chunks"]
    (hit,) = (await caller.client.post("/api/rag/search", json={"query": "tide"})).json()["results"]
    assert (chunk["page"], hit["page"]) == (2, 2)


async def test_a_warning_on_a_file_of_many_rows_is_in_the_answer_once(caller: Caller) -> None:
    rows = "name;note\n" + "".join(f"row {number};gr\xfc\xdfe vom K\xf6nig {number}\n" for number in range(9))
    documents = (await _upload(caller, ("rows.csv", rows.encode("latin-1")))).json()["documents"]
    assert len(documents) == 9
    assert [warning for one in documents for warning in one["warnings"]] == ["not UTF-8: read as Windows-1252"]
