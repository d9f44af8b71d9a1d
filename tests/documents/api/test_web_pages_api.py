"""A page is fetched by its address and stored as a file would be."""

import dataclasses
import io
import zipfile
from collections.abc import AsyncIterator

import harness
import httpx
import pytest
import web_site
from example_app import assert_problem
from web_site import Site, redirect, response

from app.fetching.types import AllowedHosts
from app.settings import Settings

OWN_DATABASE = True
"""A database of its own, whose only user is the local one."""

DOCUMENTS = "/api/rag/documents"
HOST = "http://docs.example.com"
HTML = b"<!doctype html><title>Lime</title><main><h1>Lime</h1><p>Mortar dries slowly.</p></main>"


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with web_site.opened() as opened:
        yield opened


@pytest.fixture(scope="module")
async def client(database, site: Site) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application that may fetch pages of one site."""
    services = await harness.services(database)
    services = dataclasses.replace(
        services, pages=site.fetcher(), fetch_hosts=AllowedHosts(("docs.example.com", "inside.example.com"))
    )
    async with harness.calling(Settings(auth="none"), services) as opened:
        yield opened


async def _post(client: httpx.AsyncClient, path: str, **fields: object) -> httpx.Response:
    return await client.post(DOCUMENTS, json={"url": HOST + path, **fields})


async def test_a_page_is_stored_with_its_address_and_again_only_if_the_document_would_change(client, site) -> None:
    site.answers["/lime"] = response(HTML, content_type="text/html")
    added = await _post(client, "/lime", metadata={"team": "masonry"})
    assert (added.status_code, added.json()["added"]) == (201, 1)
    stored = added.json()["documents"][0]
    assert (stored["uri"], stored["title"]) == (f"{HOST}/lime", "Lime")
    document = (await client.get(f"{DOCUMENTS}/{stored['document_id']}")).json()
    assert document["metadata"] == {"team": "masonry", "filename": "lime.html"}
    assert document["content"] == "# Lime\n\nMortar dries slowly."
    again = await _post(client, "/lime", metadata={"team": "masonry"})
    assert (again.status_code, again.json()["unchanged"]) == (200, 1)
    other = await _post(client, "/lime", metadata={"team": "quarry"})
    assert (other.json()["replaced"], other.json()["documents"][0]["document_id"]) == (1, stored["document_id"])


async def test_files_of_several_documents_are_read_as_uploads_of_them_are(client, site) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.md", "# Clay")
        archive.writestr("b.png", b"\x89PNG")
    rows = "name,text\nÄste,first\nb,second\n".encode("latin-1")
    site.answers["/rows"] = response(rows, content_type="text/csv; charset=iso-8859-1")
    site.answers["/notes.zip"] = response(packed.getvalue(), content_type="application/zip")
    table = (await _post(client, "/rows")).json()
    assert [(one["uri"], one["title"]) for one in table["documents"]] == [
        (f"{HOST}/rows#row=2", "Äste"),
        (f"{HOST}/rows#row=3", "b"),
    ]
    notes = (await _post(client, "/notes.zip")).json()
    assert [one["uri"] for one in notes["documents"]] == [f"{HOST}/notes.zip/a.md"]
    assert [(one["uri"], one["code"]) for one in notes["failed"]] == [(f"{HOST}/notes.zip/b.png", "unsupported_format")]


async def test_a_wrong_combination_names_the_field(client: httpx.AsyncClient, site: Site) -> None:
    site.answers["/ok"] = response(b"Lime.")
    for body, field in (
        ({"url": f"{HOST}/", "content": "Lime."}, "content"),
        ({"url": f"{HOST}/", "uri": "lime.md"}, "uri"),
        ({"url": 7}, "url"),
        ({"url": ""}, "url"),
        ({"url": f"{HOST}/", "metadata": []}, "metadata"),
        ({"url": f"{HOST}/ok", "language": "Klingonish"}, "language"),
        ([{"url": f"{HOST}/"}], "[0].url"),
    ):
        assert_problem(await client.post(DOCUMENTS, json=body), 422, "invalid_request", field)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/none", 422, "fetch_failed"),
        ("/broken", 502, "site_unavailable"),
        ("/inside", 422, "blocked_url"),
        ("/elsewhere", 403, "fetch_not_allowed"),
        ("/empty", 422, "no_text"),
        ("/picture", 422, "unsupported_format"),
        ("/half.pdf", 422, "damaged"),
    ],
)
async def test_a_page_that_cannot_be_stored_is_a_problem_of_its_url(client, site, path, status, code) -> None:
    site.answers |= {
        "/broken": response(b"x", content_length="100"),
        "/inside": redirect("http://inside.example.com/latest/meta-data/"),
        "/elsewhere": redirect("http://other.example/"),
        "/empty": response(b" \n", content_type="text/plain"),
        "/picture": response(b"\x89PNG\r\n"),
        "/half.pdf": response(b"%PDF-1.7\n%broken", content_type="application/pdf"),
    }
    site.names["inside.example.com"] = [["169.254.169.254"]]
    assert_problem(await _post(client, path), status, code, "url")
    listed = (await client.get(DOCUMENTS, params={"uri": HOST + path})).json()
    assert listed["documents"] == []


async def test_no_page_is_fetched_unless_a_host_is_allowed(open_app) -> None:
    async with harness.client(open_app) as client:
        problem = assert_problem(await _post(client, "/lime"), 403, "fetch_not_allowed", "url")
    assert "STEPWELL_FETCH_HOSTS" in problem["detail"]
