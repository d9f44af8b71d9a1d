"""Tests the client against the whole application, and its retries and errors against small ones."""

from __future__ import annotations

import ast
import inspect
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import harness
import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from stepwell_client import ApiError, AsyncClient, Client, ConnectionFailed
from stepwell_client.operations import File

from app.config import Settings
from app.shapes import SourceRoots
from app.store.connection.transactions import Database

SOURCES = Path(__file__).parents[1] / "client" / "src" / "stepwell_client"
LIME = "# Lime mortar\n\nBelow the third landing we use lime mortar, never cement."


@pytest.fixture(scope="session")
def template(wide_template: str) -> str:
    """Databases here are for vectors of the offline model's length."""
    return wide_template


@pytest.fixture
async def app(database: Database) -> AsyncIterator[FastAPI]:
    async with harness.running(Settings(auth="api_key"), await harness.services(database)) as running:
        yield running


@pytest.fixture
async def client(app: FastAPI, database: Database) -> AsyncIterator[AsyncClient]:
    key = await harness.create_key(database, harness.new_user())
    async with harness.client(app, Authorization=f"Bearer {key}") as http, AsyncClient(http=http) as opened:
        yield opened


async def test_documents_are_stored_found_read_listed_and_deleted(client: AsyncClient) -> None:
    stored = await client.add(LIME, uri="notes/lime.md", metadata={"team": "masonry"})
    await client.add_many([{"content": f"Tide table {n}", "uri": f"{n}.md"} for n in range(3)])
    answer = await client.search("which mortar", limit=1, filters={"metadata": {"team": "masonry"}})
    assert [(hit.uri, hit.document_id) for hit in answer.results] == [("notes/lime.md", stored.document_id)]
    assert (await client.search_multihop("which mortar", limit=1)).results[0].hop == 1
    assert (await client.search_by_entity("which mortar")).results
    assert len((await client.similar(answer.results[0].chunk_id, limit=2)).results) == 2
    assert "never cement" in str((await client.get(stored.document_id)).content)
    assert [document.uri async for document in client.all_documents()] == ["2.md", "1.md", "0.md", "notes/lime.md"]
    assert (await client.change(stored.document_id, {"metadata": {"team": None}})).embedded == 0
    assert (await client.get(stored.document_id)).metadata == {}
    assert (await client.delete(stored.document_id))["documents_deleted"] == 1
    assert (await client.delete_by_uri("0.md"))["documents_deleted"] == 1
    assert (await client.stats()).documents == 2


async def test_files_are_uploaded(client: AsyncClient, tmp_path: Path) -> None:
    (tmp_path / "lime.md").write_text(LIME)
    files: list[File] = [tmp_path / "lime.md", ("tides/harbour.txt", b"High water at noon."), ("empty.txt", b"")]
    stored = await client.upload(files, metadata={"team": "masonry"}, language="en")
    assert [(document.uri, document.status) for document in stored.documents] == [
        ("lime.md", "added"),
        ("tides/harbour.txt", "added"),
    ]
    assert [(failure.index, failure.code) for failure in stored.failed] == [(2, "no_text")]
    assert (await client.get(stored.documents[0].document_id)).metadata["team"] == "masonry"


async def test_a_passage_is_explained_and_documents_are_deleted_by_filter(client: AsyncClient) -> None:
    await client.add(LIME, uri="notes/lime.md", metadata={"team": "masonry"})
    await client.add("Tide table", uri="tides.md")
    placement = await client.why("tide table", uri="notes/lime.md", limit=1)
    assert placement.verdict == "outranked"
    assert placement.changes == [{"field": "limit", "value": 2}]
    masonry = {"metadata": {"team": "masonry"}}
    assert (await client.delete_matching(masonry, dry_run=True)).matched
    assert (await client.delete_matching(masonry)).documents_deleted == 1
    assert [document.uri async for document in client.all_documents()] == ["tides.md"]


async def test_a_source_is_added_synchronised_and_deleted(database: Database, tmp_path: Path) -> None:
    (tmp_path / "lime.md").write_text(LIME)
    folders = SourceRoots((tmp_path,), per_user=False)
    services = replace(await harness.services(database), source_roots=folders)
    async with (
        harness.running(Settings(auth="none"), services) as app,
        harness.client(app) as http,
        AsyncClient(http=http) as client,
    ):
        source = await client.add_source(str(tmp_path), globs=["*.md"])
        assert source.job_id is not None
        assert (await client.wait_for_job(source.job_id)).status == "done"
        queued = await client.sync_source(source.source_id)
        job = await client.wait_for_job(queued.job_id)
        assert job.result["unchanged"] == 1
        assert [listed.documents for listed in (await client.sources()).sources] == [1]
        assert (await client.delete_source(source.source_id))["documents_deleted"] == 1


async def test_a_job_is_followed_to_its_end(client: AsyncClient) -> None:
    stored = await client.add("Tide table.\n\n" * 80_000, uri="tides.md")
    assert stored.status == "queued"
    assert stored.job_id is not None
    await client.cancel_job(stored.job_id)
    seen: list[str] = []
    job = await client.wait_for_job(stored.job_id, on_progress=lambda state: seen.append(state.status))
    assert (job.status, job.has_ended, seen[-1]) == ("cancelled", True, "cancelled")
    with pytest.raises(ApiError, match="404"):
        await client.wait_for_job(stored.document_id)


async def test_jobs_are_listed_read_and_cancelled(client: AsyncClient, database: Database) -> None:
    await client.add(LIME, uri="notes/lime.md", metadata={"people": ["Ana Silva"]})
    [job] = (await client.jobs(limit=1)).jobs
    assert (await client.job(job.job_id)).kind == "relink"
    with pytest.raises(ApiError, match="409 conflict"):
        await client.cancel_job(job.job_id)


async def test_a_client_asks_for_a_state_that_contains_what_it_has_stored(client: AsyncClient) -> None:
    sent: list[str | None] = []

    async def note(request: httpx.Request) -> None:
        sent.append(request.headers.get("X-Stepwell-Version"))

    client._http.event_hooks = {"request": [note]}
    await client.add(LIME, uri="notes/lime.md")
    await client.search("mortar")
    await client.delete_by_uri("notes/lime.md")
    await client.stats()
    first, stored, read, deleted = (int(version or 0) for version in sent)
    assert first == 0 < stored <= read < deleted


async def test_tools_are_defined_and_called(client: AsyncClient) -> None:
    await client.add(LIME, uri="notes/lime.md")
    assert "search_documents" in {tool.name for tool in await client.tools()}
    assert (await client.tool_definitions("anthropic"))[0]["input_schema"]
    result = await client.call_tool("search_documents", {"query": "which mortar"})
    assert result["results"][0]["uri"] == "notes/lime.md"


async def test_a_refused_request_raises_its_problem(client: AsyncClient) -> None:
    with pytest.raises(ApiError) as raised:
        await client.search("lime", limit=1_000)
    assert (raised.value.status, raised.value.errors[0]["field"]) == (422, "limit")
    assert raised.value.request_id
    with pytest.raises(ApiError, match="404 not_found"):
        await client.get("7f1e3c52-94a1-5b7e-9f0e-0d6a3b8f5c11")


def answering(*responses: Response) -> tuple[httpx.AsyncClient, list[str]]:
    """A client of an application that sends these responses in order, and the paths that were requested."""
    paths: list[str] = []
    remaining: Iterator[Response] = iter(responses)

    async def answer(request: Request) -> Response:
        paths.append(request.url.path)
        return next(remaining)

    service = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST", "DELETE"])])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=service), base_url="http://service"), paths


STATS = {"documents": 1, "chunks": 1, "embedding_model": "m", "embedding_dimension": 3}


def busy(status: int = 503, wait: str = "0") -> Response:
    problem = {"code": "overloaded", "detail": "Too many requests.", "errors": []}
    return JSONResponse(problem, status, {"Retry-After": wait})


@pytest.mark.parametrize("status", [429, 503])
async def test_a_request_that_found_no_room_is_repeated(status: int) -> None:
    http, paths = answering(busy(status), busy(status), JSONResponse(STATS))
    async with http, AsyncClient(http=http) as client:
        assert (await client.stats()).documents == 1
    assert len(paths) == 3


async def test_the_last_problem_is_raised_when_the_retries_are_used_up() -> None:
    http, paths = answering(busy(), busy(), busy())
    async with http, AsyncClient(http=http, retries=2) as client:
        with pytest.raises(ApiError, match="503 overloaded"):
            await client.stats()
    assert len(paths) == 3


@pytest.mark.parametrize("response", [busy(wait="3600"), JSONResponse({}, 500), JSONResponse({}, 422)])
async def test_a_request_is_not_repeated_after_a_long_wait_or_another_error(response: Response) -> None:
    http, paths = answering(response)
    async with http, AsyncClient(http=http) as client:
        with pytest.raises(ApiError):
            await client.stats()
    assert len(paths) == 1


async def test_an_error_page_of_a_proxy_is_an_api_error_too() -> None:
    http, _paths = answering(PlainTextResponse("<html>", 502))
    async with http, AsyncClient(http=http) as client:
        with pytest.raises(ApiError, match="502 http_error: Bad Gateway"):
            await client.stats()


def test_a_service_that_does_not_listen_is_named() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(ConnectionFailed, match=r"127\.0\.0\.1:9"):
        client.stats()


def test_both_clients_have_the_same_methods() -> None:
    def methods(client: type, close: str) -> dict[str, list[str]]:
        public = {name: value for name, value in vars(client).items() if callable(value) and not name.startswith("_")}
        del public[close]
        return {name: list(inspect.signature(value).parameters) for name, value in public.items()}

    assert methods(Client, "close") == methods(AsyncClient, "aclose")


def test_the_client_does_not_import_the_server() -> None:
    for path in SOURCES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.partition(".")[0] == "app"], path
