"""Reads the operations of the OpenAPI document with their examples, and sends them to a service on the sample notes."""

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import harness
import httpx
import web_site
from jsonschema import Draft202012Validator

from app.database import transactions
from app.fetching.types import AllowedHosts
from app.models.protocols import Embedder
from app.serving import contract_command, demo
from app.settings import Settings

COMMITTED = Path(__file__).parents[1] / "openapi" / "openapi.json"
"""The document; `test_openapi` compares it with that of the service, which takes a second to build."""
WRITING = bool(os.environ.get("STEPWELL_WRITE_EXAMPLES"))
"""Whether the examples of responses are written, perhaps of operations that are not committed yet."""
DOCUMENT = json.loads(contract_command.text() if WRITING else COMMITTED.read_text(encoding="utf-8"))
METHODS = ("get", "post", "put", "patch", "delete")
OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for method in METHODS
    for path, item in DOCUMENT["paths"].items()
    for name, operation in item.items()
    if name == method
}


def declared_response(operation: dict[str, Any], status: int) -> dict[str, Any]:
    """The declared response with a status, which may be the one of all problems without a response of their own."""
    responses = operation["responses"]
    response: dict[str, Any] = responses.get(str(status)) or responses["default"]
    name = response.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["responses"][name] if name else response


def filled(path: str, operation: dict[str, Any], name: str) -> str | None:
    """The path with this example of its required parameter; None if it has no parameter with such an example.

    An id that only has an example of an unknown one is not in the sample data.
    """
    for parameter in operation.get("parameters", []):
        if parameter["required"]:
            examples = parameter["examples"]
            first = next(iter(examples))
            known = name if name in examples else first if name == "sample" and first != "unknown" else None
            if known is None:
                return None
            value = examples[known]["value"]
            filled = path.replace(f"{{{parameter['name']}}}", value)
            return filled if filled != path else f"{path}?{parameter['name']}={value}"
    return path if name == "sample" else None


def usable(path: str, operation: dict[str, Any]) -> str:
    """The path with any example of its required parameter."""
    return filled(path, operation, "sample") or filled(path, operation, "unknown") or ""


def bodies(operation: dict[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    """The name, media type and text of each example of the body; one without a body for an operation without one."""
    content = operation.get("requestBody", {}).get("content", {})
    examples = [
        (name, kind, e["value"]) for kind, body in content.items() for name, e in body.get("examples", {}).items()
    ]
    assert examples or not content, f"{operation['operationId']} has no example"
    for name, kind, value in examples:
        yield name, kind, value if isinstance(value, str) else json.dumps(value)
    if not content:
        yield "as it is", "", None


def request(kind: str | None, content: str | None) -> dict[str, Any]:
    """The arguments of a request of httpx for an example of a body."""
    if kind != "multipart/form-data":
        return {"content": content, "headers": {"Content-Type": kind}} if kind else {}
    fields = json.loads(content or "{}")
    return {"files": [("files", (f"{n}.txt", text)) for n, text in enumerate(fields.pop("files"))], "data": fields}


@asynccontextmanager
async def sample_service(dsn: str, embedder: Embedder) -> AsyncIterator[httpx.AsyncClient]:
    """Yields a client of a service on a copy of the demo's database, configured as the demo is."""
    settings = demo.with_sample_folder(Settings(auth="none"))
    opened = transactions.connect(dsn, pool_size=4, pool_wait_s=30.0)
    async with web_site.opened_over_tls("docs.example.com", []) as (site, trusting):
        site.answers["/lime.html"] = web_site.response(b"<!doctype html><title>Lime</title><p>Mortar dries slowly.")
        services = replace(
            await harness.services(opened, embedder),
            pages=site.fetcher(tls=trusting),
            fetch_hosts=AllowedHosts(("docs.example.com",)),
        )
        async with harness.running(settings, services) as app, harness.client(app) as caller:
            yield caller
    await opened.close()


async def send(client: httpx.AsyncClient, operation_id: str, path: str, *body: str | None) -> httpx.Response:
    """The response to an example, which must have a documented status and be as its schema says."""
    method, _path, operation = OPERATIONS[operation_id]
    response = await client.request(method, path, **request(*body))
    said = declared_response(operation, response.status_code).get("content", {})
    if "schema" in (declared := said.get(response.headers["content-type"], {})):
        schema = {**declared["schema"], "components": DOCUMENT["components"]}
        Draft202012Validator(schema).validate(response.json())
    return response
