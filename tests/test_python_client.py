"""Tests the client against the whole application, and its retries and errors against small ones."""

import ast
import asyncio
import gc
import json
import pickle
import runpy
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import harness
import httpx
import pytest
from fastapi import FastAPI
from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from stepwell_client import (
    ApiError,
    AsyncClient,
    Client,
    ConnectionFailed,
    JobTimeout,
    __version__,
    agent_tools,
    anthropic_blocks,
    filters,
    models,
    options,
)
from stepwell_client.models import Hit
from stepwell_client.uploading import File

from app.database.transactions import Database
from app.requests.filter_models import SearchFilters
from app.settings import Settings

SOURCES = Path(__file__).parents[1] / "client" / "src" / "stepwell_client"
ID = "7f1e3c52-94a1-5b7e-9f0e-0d6a3b8f5c11"
LIME = "# Lime mortar\n\nBelow the third landing we use lime mortar, never cement."


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
    stored = await client.documents.add(LIME, uri="notes/lime.md", metadata={"team": "masonry"})
    tables: list[dict[str, Any]] = [{"content": f"Tide table {n}", "uri": f"{n}.md"} for n in range(3)]
    tables[1:1] = [{"content": ""}, {"content": "Tide", "uri": "nan.md", "metadata": {"metres": float("nan")}}]
    added = await client.documents.add_many(tables, batch_size=1)
    refused = [(failure.index, failure.field, failure.code) for failure in added.failed]
    assert (added.added, refused) == (3, [(1, "content", "blank_content"), (2, "metadata.metres", "invalid_json")])
    answer = await client.search("which mortar", limit=1, filters={"metadata": {"team": "masonry"}})
    assert [(hit.uri, hit.document_id) for hit in answer.results] == [("notes/lime.md", stored.document_id)]
    details: tuple[options.Detail, ...] = ("full", "compact", "ids")
    for detail in details:
        [hit] = (await client.search("which mortar", limit=1, detail=detail, group={"by": "document"})).results
        assert hit.chunk_id == answer.results[0].chunk_id
        assert ("lime mortar" in hit.text) == (detail != "ids")
    assert (await client.search_multihop("which mortar", limit=1)).results[0].hop == 1
    assert (await client.search_by_entity("which mortar")).results
    assert len((await client.similar(answer.results[0].chunk_id, limit=2)).results) == 2
    assert "never cement" in str((await client.documents.get(stored.document_id)).content)
    assert [document.uri async for document in client.documents.all()] == ["2.md", "1.md", "0.md", "notes/lime.md"]
    assert (await client.documents.change(stored.document_id, {"metadata": {"team": None}})).embedded == 0
    assert (await client.documents.get(stored.document_id)).metadata == {}
    merged = await client.rerank([{"name": "ours", "hits": answer.results}], query="which mortar", limit=1)
    assert [hit.chunk_id for hit in merged.results] == [str(answer.results[0].chunk_id)]
    assert (await client.documents.delete(stored.document_id)).documents_deleted == 1
    assert (await client.documents.delete_by_uri("0.md")).chunks_deleted == 1
    assert (await client.stats()).documents == 2
    second = {"uri_prefix": "1"}
    assert (await client.documents.delete_matching(second, dry_run=True)).matched
    assert (await client.documents.delete_matching(second)).documents_deleted == 1


async def test_files_are_uploaded(client: AsyncClient, tmp_path: Path) -> None:
    (tmp_path / "lime.md").write_text(LIME)
    files: list[File] = [tmp_path / "lime.md", ("tides/harbour.txt", b"High water at noon."), ("empty.txt", b"")]
    stored = await client.documents.upload(files, metadata={"team": "masonry"}, language="en")
    assert [(document.uri, document.status) for document in stored.documents] == [
        ("lime.md", "added"),
        ("tides/harbour.txt", "added"),
    ]
    assert [(failure.index, failure.code) for failure in stored.failed] == [(2, "no_text")]
    assert (await client.documents.get(stored.documents[0].document_id)).metadata["team"] == "masonry"


async def test_a_job_is_followed_to_its_end(client: AsyncClient) -> None:
    stored = await client.documents.add("Tide table.\n\n" * 80_000, uri="tides.md")
    assert stored.status == "queued"
    assert [job.job_id for job in (await client.jobs.list(limit=1)).jobs] == [stored.job_id]
    assert (await client.jobs.get(stored.job_id)).kind == "store_document"
    await client.jobs.cancel(stored.job_id)
    seen: list[str] = []
    job = await client.jobs.wait(stored.job_id, on_progress=lambda state: seen.append(state.status))
    assert (job.status, job.has_ended, seen[-1]) == ("cancelled", True, "cancelled")
    with pytest.raises(ApiError, match="404"):
        await client.jobs.wait(stored.document_id)


async def test_a_client_asks_for_a_state_that_contains_what_it_has_stored(client: AsyncClient) -> None:
    sent: list[str | None] = []

    async def note(request: httpx.Request) -> None:
        sent.append(request.headers.get("X-Stepwell-Version"))

    client._http.event_hooks = {"request": [note]}
    await client.documents.add(LIME, uri="notes/lime.md")
    await client.search("mortar")
    await client.documents.delete_by_uri("notes/lime.md")
    await client.stats()
    first, stored, read, deleted = (int(version or 0) for version in sent)
    assert first == 0 < stored <= read < deleted


async def test_tools_are_defined_and_called(client: AsyncClient) -> None:
    await client.documents.add(LIME, uri="notes/lime.md")
    tools = {tool.name: tool for tool in await client.tools.list()}
    searching = tools["search_documents"]
    assert type(searching).model_validate_json(searching.model_dump_json()) == searching
    assert (await client.tools.definitions("anthropic"))[0]["input_schema"]
    result = await client.tools.call("search_documents", {"query": "which mortar"})
    assert result["results"][0]["uri"] == "notes/lime.md"


async def test_a_refused_request_raises_its_problem(client: AsyncClient) -> None:
    with pytest.raises(ApiError) as raised:
        await client.search("lime", limit=1_000)
    assert (raised.value.status, raised.value.errors[0]["field"]) == (422, "limit")
    assert raised.value.request_id
    of_process = pickle.loads(pickle.dumps(raised.value))
    assert vars(of_process) == vars(raised.value)
    assert len({of_process, raised.value}) == 2
    with pytest.raises(ApiError, match="404 not_found"):
        await client.documents.get(ID)


def answering(*responses: Response) -> tuple[httpx.AsyncClient, list[str]]:
    """A client of an application that sends these responses in order, and the paths that were requested."""
    paths: list[str] = []
    remaining: Iterator[Response] = iter(responses)

    async def answer(request: Request) -> Response:
        paths.append(request.url.path)
        return next(remaining)

    service = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST", "DELETE"])])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=service), base_url="http://service"), paths


RUNNING = {"job_id": ID, "kind": "relink", "status": "running", "created_at": "2026-01-01T00:00:00Z"}
HIT = {"chunk_id": ID, "document_id": ID, "content": "High water.", "score": 0.5}
GENERATOR = runpy.run_path(str(SOURCES.parents[1] / "generate.py"))
CONTRACT = json.loads((SOURCES.parents[2] / "openapi" / "openapi.json").read_text(encoding="utf-8"))
STORED = {"document_id": ID, "status": "added", "title": "", "chunk_count": 1, "embedded": 1}
STATS = CONTRACT["paths"]["/api/rag/stats"]["get"]["responses"]["200"]["content"]["application/json"]["example"]


def busy(status: int = 503, wait: str = "0") -> Response:
    problem = {"code": "overloaded", "detail": "Too many requests.", "errors": []}
    return JSONResponse(problem, status, {"Retry-After": wait})


ANSWERS: dict[str, tuple[list[Response], str | None]] = {
    "no room at first": ([busy(429), busy(503), JSONResponse(STATS)], None),
    "a gateway that failed": ([Response(status_code=502), Response(status_code=504), JSONResponse(STATS)], None),
    "never any room": ([busy(), busy(), busy()], "503 overloaded"),
    "a long wait": ([busy(wait="3600")], "503 overloaded"),
    "an error of the service": ([JSONResponse({}, 500)], "500"),
    "a refusal": ([JSONResponse({}, 422)], "422"),
    "an error page of a proxy": ([PlainTextResponse("<html>", 400)], "400 http_error: Bad Request"),
    "a page of a proxy": ([PlainTextResponse("<html>", 200)], "200 unexpected_response"),
}


@pytest.mark.parametrize(("responses", "error"), ANSWERS.values(), ids=ANSWERS)
async def test_a_request_is_repeated_as_long_as_that_may_help(responses: list[Response], error: str | None) -> None:
    http, paths = answering(*responses)
    async with http, AsyncClient(http=http, retries=2) as client:
        if error is None:
            assert (await client.stats()).documents
        else:
            with pytest.raises(ApiError, match=error):
                await client.stats()
    assert len(paths) == len(responses)


async def test_only_a_request_that_may_run_twice_is_repeated_after_a_gateway_failed() -> None:
    http, paths = answering(*[Response(status_code=502)] * 3, JSONResponse({"results": []}))
    async with http, AsyncClient(http=http) as client:
        for deletion in (client.documents.delete(ID), client.tools.call("delete_document", {"document_id": ID})):
            with pytest.raises(ApiError, match="502"):
                await deletion
        assert await client.tools.call("search_documents", {"query": "lime"}) == {"results": []}
    assert len(paths) == 4


def test_a_broken_connection_is_tried_again_and_the_given_url_and_key_are_used() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if len(seen) == 1:
            raise httpx.ReadError("reset")
        return httpx.Response(200, json=STATS)

    http = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://other")
    client = Client("http://service:81/below/", api_key="k\n", timeout_s=2.5, http=http)
    assert client.stats().documents
    assert str(seen[1].url) == "http://service:81/below/api/rag/stats"
    assert seen[1].headers["Authorization"] == "Bearer k"
    assert seen[1].headers["User-Agent"] == f"stepwell-client/{__version__}"
    assert seen[1].extensions["timeout"]["read"] == 2.5


@pytest.mark.parametrize("name", ["C#", "a?b", "..", "50%25", "notes 2.0", "été"])
def test_a_name_of_a_source_or_tool_is_one_part_of_the_path_whatever_it_holds(name: str) -> None:
    seen: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url)
        return httpx.Response(404, json={})

    client = Client(http=httpx.Client(transport=httpx.MockTransport(answer), base_url="http://service"))
    for run in (client.sources.delete, client.sources.get, lambda name: client.tools.call(name, {})):
        with pytest.raises(ApiError):
            run(name)
    places = [f"/api/rag/{part}/{name}" for part in ("sources", "sources", "tools")]
    assert [(unquote(url.raw_path.decode()), url.query) for url in seen] == [(place, b"") for place in places]


def test_documents_are_sent_in_batches_and_files_with_progress(tmp_path: Path) -> None:
    sizes: list[int] = []
    uploads: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/upload"):
            assert b"High water" in request.read()
            uploads.append(request)
            return httpx.Response(200 if len(uploads) > 1 else 502, json={"documents": []})
        sizes.append(len(json.loads(request.content)))
        return httpx.Response(200, json={"documents": [], "failed": [{"index": 0, "code": "c", "detail": "d"}]})

    client = Client("http://service", http=httpx.Client(transport=httpx.MockTransport(answer)))
    sent: list[int] = []
    stored = client.documents.add_many(({"content": str(n)} for n in range(5)), batch_size=2, on_progress=sent.append)
    assert (sizes, sent, [failure.index for failure in stored.failed]) == ([2, 2, 1], [2, 4, 5], [0, 2, 4])
    client.documents.add_many({"content": 100_000 * "x"} for _ in range(3))
    assert sizes[3:] == [2, 1]
    (tmp_path / "tides.txt").write_text("High water at noon.")
    progress: list[tuple[int, int]] = []
    client.documents.upload(
        [tmp_path / "tides.txt", ("b.txt", b"1234")], on_progress=lambda done, total: progress.append((done, total))
    )
    assert progress == [(done, 23) for done in (19, 23, 4, 0, 19, 23)]


def test_documents_of_a_refused_request_are_sent_alone_and_an_error_has_the_results_so_far() -> None:
    sent: list[list[str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        uris = [document["uri"] for document in json.loads(request.content)]
        sent.append(uris)
        if "gone" in uris:
            raise httpx.ConnectError("refused")
        if "large" in uris:
            return httpx.Response(413, json={"code": "too_large", "detail": "d"})
        return httpx.Response(201, json={"documents": [{**STORED, "uri": uri} for uri in uris]})

    client = Client("http://service", http=httpx.Client(transport=httpx.MockTransport(answer)))
    with pytest.raises(ConnectionFailed) as raised:
        client.documents.add_many(
            [{"content": "Tide", "uri": uri} for uri in ("a", "large", "b", "c", "gone")], batch_size=2
        )
    assert sent == [["a", "large"], ["a"], ["large"], ["b", "c"], ["gone"]]
    assert (results := raised.value.results) is not None
    assert ([one.uri for one in results.documents], results.added) == (["a", "b", "c"], 3)
    assert [(one.index, one.uri, one.code) for one in results.failed] == [(1, "large", "too_large")]


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"content": "Tide", "metadata": {"a": 1, "Price (EUR)": Decimal("1.5")}}, "metadata.Price (EUR)"),
        ({"content": "Tide", "metadata": {"deep": [{"b": float("inf")}]}}, "metadata.deep"),
        ({"content": "\ud800", "metadata": {"a": 1}}, "content"),
        ({"content": "Tide", "metadata": {1, 2}}, "metadata"),
        ({"content": "Tide", "metadata": {("a", "b"): 1}}, "metadata"),
        ({1, 2}, None),
    ],
)
def test_the_field_that_cannot_be_sent_as_json_is_named(document: Any, field: str | None) -> None:
    client = Client("http://service", http=httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(500))))
    [failure] = client.documents.add_many([document]).failed
    assert (failure.index, failure.code, failure.field) == (0, "invalid_json", field)


def test_one_asynchronous_client_serves_several_event_loops(tmp_path: Path) -> None:
    async def failing(client: AsyncClient) -> None:
        with pytest.raises(ConnectionFailed):
            await client.stats()

    client = AsyncClient("http://127.0.0.1:9")
    for _ in range(2):
        asyncio.run(failing(client))
    wait = Client(
        "http://s", http=httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json=RUNNING)))
    )
    with pytest.raises(JobTimeout):
        wait.jobs.wait(ID, timeout_s=0)


def test_a_job_that_ends_in_the_last_pause_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr("stepwell_client.waiting.time", clock)
    monkeypatch.setattr("stepwell_client.client.time", clock)
    states = iter([RUNNING, RUNNING | {"status": "done"}])
    http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json=next(states))))
    assert Client("http://s", http=http).jobs.wait(ID, timeout_s=0.05).status == "done"
    assert slept == [0.0, 0.05]


class _Stats(BaseHTTPRequestHandler):
    """Answers an empty object, and keeps the connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_belonged_to_event_loops_that_have_ended_is_given_up() -> None:
    async def asked(client: AsyncClient) -> weakref.ref[asyncio.AbstractEventLoop]:
        with pytest.raises(ApiError):
            await client.stats()
        return weakref.ref(asyncio.get_running_loop())

    with ThreadingHTTPServer(("127.0.0.1", 0), _Stats) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client, ended = AsyncClient(f"http://127.0.0.1:{server.server_port}"), []
        for _ in range(3):
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                ended.append(runner.run(asked(client)))
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(asked(client))
            gc.collect()
            assert [loop() for loop in ended] == [None] * 3
            runner.run(client.aclose())
        server.shutdown()


def test_hits_become_search_results_that_a_model_cites_and_refusals_name_every_argument() -> None:
    hit = Hit.model_validate({**HIT, "title": "Log", "heading_path": ["Log", "Day 2"], "uri": "log.md"})
    assert anthropic_blocks.search_results([hit]) == [
        {
            "type": "search_result",
            "source": "log.md",
            "title": "Log > Day 2",
            "content": [{"type": "text", "text": "High water."}],
            "citations": {"enabled": True},
        }
    ]
    wrong = [{"field": "top_k", "message": "Did you mean limit?"}, {"field": "limit", "message": "Must be a number."}]
    assert agent_tools.refusal(ApiError(422, "c", "d", wrong)) == "top_k: Did you mean limit?\nlimit: Must be a number."
    assert agent_tools.refusal(ApiError(403, "folder_not_allowed", "No folder.", [])) == "No folder."


@pytest.mark.parametrize("value", [float("nan"), "\ud83d"])
async def test_arguments_of_a_model_that_are_no_json_are_refused_as_text(client: AsyncClient, value: object) -> None:
    for run in (client, Client("http://127.0.0.1:9")):
        text = await agent_tools.call_async(run, "search_documents", {"query": value})
        assert text.startswith("The call was refused. An argument cannot be sent as JSON: ")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:9", r"127\.0\.0\.1:9 did not answer: ConnectError: .*refused"),
        ("localhost:9", "missing an 'http://'"),
    ],
)
def test_a_service_that_does_not_listen_is_named_with_the_reason(url: str, message: str) -> None:
    with Client(url) as client, pytest.raises(ConnectionFailed, match=message):
        client.stats()


async def test_a_service_on_this_machine_is_not_called_by_the_proxy_of_the_environment(monkeypatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "ftp://proxy")
    with Client("http://127.0.0.1:9") as client, pytest.raises(ConnectionFailed):
        client.stats()
    async with AsyncClient("http://0.0.0.0:9") as client:
        with pytest.raises(ConnectionFailed):
            await client.stats()
    with pytest.raises(ValueError, match="ftp://proxy"):
        Client("http://service")


def test_a_service_that_answers_too_late_is_named_with_the_time() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("")

    client = Client("http://service", http=httpx.Client(transport=httpx.MockTransport(answer)))
    with pytest.raises(ConnectionFailed, match=r"service did not answer within 2\.5 s: ReadTimeout\."):
        client.with_options(timeout_s=2.5).stats()


def test_the_generated_modules_follow_from_the_contract_and_the_synchronous_client() -> None:
    for name, source in GENERATOR["files"]().items():
        written = (SOURCES / name).read_text(encoding="utf-8")
        assert _statements(written) == _statements(source), f"{name}: run make openapi"


def _statements(source: str) -> list[str]:
    """The statements of a module but its imports, whatever their format."""
    return [ast.dump(one) for one in ast.parse(source).body if not isinstance(one, ast.Import | ast.ImportFrom)]


def test_the_client_has_every_operation_of_the_contract() -> None:
    every = {described["operationId"] for _verb, _path, described in GENERATOR["operations"]()}
    assert every == {*GENERATOR["METHODS"], *GENERATOR["BY_HAND"], *GENERATOR["OTHERS"]}, "edit client/generate.py"


def test_results_have_the_fields_of_the_contract() -> None:
    shared = CONTRACT["components"]["schemas"]
    by_hand = {
        "upload_documents": "DocumentResults",
        "upsert_entities": "EntityUpserts",
        "set_synonyms": "SynonymCounts",
    }
    fields: dict[str, dict[str, Any]] = {}
    for id, result in [*GENERATOR["results"](), *by_hand.items()]:
        kind = getattr(models, result, None)
        schema = TypeAdapter(kind).json_schema() if kind else {}
        fields[id] = _joined(fields.get(id, {}), _fields(schema, schema.get("$defs", {}), ()))
    for _verb, _path, described in GENERATOR["operations"]():
        id = described["operationId"]
        answers = [answer.get("content", {}) for code, answer in described["responses"].items() if code[0] == "2"]
        schemas = [content["application/json"]["schema"] for content in answers if "application/json" in content]
        wanted = _fields({"anyOf": schemas}, shared, ())
        if id == "add_entities":
            del wanted["entities"]  # of a list, which add_many sends as lines
        _compare(fields.get(id, {}), wanted, id)


def _compare(own: dict[str, Any], wanted: dict[str, Any], place: str) -> None:
    """Both have the same fields, wherever both name them."""
    if own and wanted:
        assert own.keys() == wanted.keys(), place
        for name in own:
            _compare(own[name], wanted[name], f"{place} {name}")


def _fields(schema: Any, shared: dict[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    """The fields of the objects of a schema, and theirs; none of an object within itself."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return {} if name in within else _fields(shared[name], shared, (*within, name))
    found = {name: _fields(one, shared, within) for name, one in schema.get("properties", {}).items()}
    items = [schema["items"]] if "items" in schema else []
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *items):
        found = _joined(found, _fields(one, shared, within))
    return found


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {name: _joined(one.get(name, {}), other.get(name, {})) for name in one | other}


def test_filters_are_those_of_the_api() -> None:
    made = (filters.key("team").equals("tide") | filters.key("year").at_least(2024)) & ~filters.created_after(
        "2026-01-01"
    )
    assert made == {
        "all": [
            {"any": [{"metadata": {"team": "tide"}}, {"metadata": {"year": {"gte": 2024}}}]},
            {"not": {"created_after": "2026-01-01"}},
        ]
    }
    assert SearchFilters.model_validate(made).shape()
    built = {
        **filters.key("team").exists(),
        **filters.documents([uuid4()]), **filters.sources([uuid4()]), **filters.source_names(["notes"]),
        **filters.folder("/notes"), **filters.uri_prefix("/no"), **filters.file_types(["md"]),
        **filters.created_after("2026-01-01"), **filters.created_before("2026-02-01"),
        "any": [filters.key("team").exists()], **(made & made), **~made,
    }  # fmt: skip
    assert SearchFilters.model_validate(built).model_fields_set == SearchFilters.model_fields.keys()


def test_the_client_does_not_import_the_server() -> None:
    for path in SOURCES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.partition(".")[0] == "app"], path
