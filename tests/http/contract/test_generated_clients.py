"""Tests that generators make clients from the committed OpenAPI document, and that searches through them work."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType

import harness
import httpx
import pytest
from fastapi import FastAPI

COMMITTED = Path(__file__).parents[3] / "openapi" / "openapi.json"
LIME = "# Lime mortar\n\nBelow the third landing we use lime mortar, never cement."
JSON = {"Content-Type": "application/json"}
QUERY = "which mortar below the third landing"
# The generator has no type for JSON lines; with this option the operation takes a file.
CONFIG = "post_hooks: []\ncontent_type_overrides: {application/x-ndjson: application/octet-stream}\n"


@pytest.fixture(scope="module")
async def address(open_app: FastAPI) -> AsyncIterator[str]:
    """The address of a service that holds one document."""
    async with harness.listening(open_app) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        added = await client.post("/api/rag/documents", json={"content": LIME, "uri": "notes/lime.md"})
        assert added.status_code == 201
        yield str(client.base_url)


def generate(*command: str) -> str:
    """Runs a generator as its users do; its output."""
    program, *arguments = command
    path = Path(sys.executable).parent / program
    ran = subprocess.run(
        [path, *arguments], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def load(name: str, folder: Path) -> ModuleType:
    """A generated module or package in a folder."""
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


async def test_openapi_python_client_generates_every_operation_and_its_searches_work(address, tmp_path) -> None:
    config, package = tmp_path / "config.yml", tmp_path / "stepwell_generated"
    config.write_text(CONFIG, encoding="utf-8")
    output = generate(
        *("openapi-python-client", "generate", "--path", str(COMMITTED), "--output-path", str(package)),
        *("--config", str(config), "--meta", "none", "--fail-on-warning"),
    )
    assert "WARNING" not in output
    client = load("stepwell_generated", tmp_path)
    models = load("stepwell_generated.models", tmp_path)
    search = load("stepwell_generated.api.search.search", tmp_path)
    multihop = load("stepwell_generated.api.search.search_multihop", tmp_path)
    paths = json.loads(COMMITTED.read_text(encoding="utf-8"))["paths"]
    operations = {operation["operationId"] for item in paths.values() for operation in item.values()}
    assert {path.stem for path in package.glob("api/*/*.py")} - {"__init__"} == operations

    async with client.Client(base_url=address) as opened:
        request = models.SearchRequest(query=QUERY, mode=models.Mode.HYBRID, explain=True)
        found = await search.asyncio(client=opened, body=request)
        assert isinstance(found, models.SearchResponse)
        assert found.results[0].uri == "notes/lime.md"
        assert found.results[0].confidence in models.Confidence

        compact = models.SearchRequest(query=QUERY, detail=models.Detail.COMPACT)
        answer = await search.asyncio(client=opened, body=compact)
        assert isinstance(answer, models.SearchResponse)
        assert "never cement" in answer.results[0].snippet.text

        hops = await multihop.asyncio(client=opened, body=models.SearchRequest(query=QUERY))
        assert isinstance(hops, models.SearchResponse)
        assert hops.results[0].hop == 1

        refused = await search.asyncio(client=opened, body=models.SearchRequest(query=" "))
        assert isinstance(refused, models.Problem)
        assert refused.code == "blank_query"


async def test_datamodel_codegen_generates_models_that_send_and_read_a_search(address: str, tmp_path: Path) -> None:
    generate(
        *("datamodel-codegen", "--input", str(COMMITTED), "--input-file-type", "openapi"),
        *("--output", str(tmp_path / "stepwell_models.py"), "--output-model-type", "pydantic_v2.BaseModel"),
        *("--formatters", "builtin", "--set-default-enum-member"),
    )
    models = load("stepwell_models", tmp_path)
    numbered = [name for name in vars(models) if name[-1].isdigit()]
    assert numbered == [], "a schema of the contract has no name of its own"

    async with httpx.AsyncClient(base_url=address) as client:
        for detail, expected in (
            (models.Detail.full, models.SearchResponse),
            (models.Detail.compact, models.SearchResponse),
            (models.Detail.ids, models.SearchResponseOfIds),
        ):
            request = models.SearchRequest(query=QUERY, mode=models.Mode.hybrid, detail=detail)
            response = await client.post("/api/rag/search", content=request.model_dump_json(), headers=JSON)
            answer = models.SearchAnswer.model_validate_json(response.content).root
            assert type(answer) is expected
            assert len(answer.results) == 1
