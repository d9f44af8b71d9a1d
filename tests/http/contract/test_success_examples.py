"""Tests that the OpenAPI document shows each successful response as the service sends it for the sample notes.

With STEPWELL_WRITE_EXAMPLES=1 the examples are written instead (`make examples`).
"""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from openapi_operations import DOCUMENT, OPERATIONS, WRITING, bodies, filled, request, sample_service

from app import samples
from app.documents.storing import large_documents
from app.http import openapi_document

FILE = Path(openapi_document.__file__).with_name("success_examples.json")
LONGEST_LIST, LONGEST_TEXT = 2, 400
REFERRING = ("paths", "components")
"""Parts of an OpenAPI document with references, which tools look for in the document that has the example."""
LARGE = 20_000
"""Characters from which documents are stored by jobs here: no sample note is as long."""
VARYING = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+\d\d:\d\d)|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|/[^\s\"]*/letters\b"
)
CHANGING = (
    *("add_", "upload_", "upsert_", "change_", "merge_", "replace_", "delete_", "reindex_"),
    *("list_jobs", "get_job", "follow_job", "cancel_job"),
    *("list_sources", "get_source", "sync_source", "set_synonyms", "get_synonyms"),
)
ANSWERED = [
    (operation_id, status)
    for operation_id, (*_, operation) in OPERATIONS.items()
    for status, response in operation["responses"].items()
    if status.startswith("2") and response.get("content")
]


class Walk:
    """Sends requests in an order in which each operation answers with each of its statuses, and keeps the bodies."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.bodies: dict[tuple[str, str], Any] = {}

    async def send(self, operation_id: str, *, ids: dict[str, str] | None = None, **fields: Any) -> Any:
        """Sends the first example of an operation, or another request, and returns the body."""
        method, path, operation = OPERATIONS[operation_id]
        sent_to = path.format(**ids) if ids else filled(path, operation, "sample") or ""
        _name, *example = next(bodies(operation))
        response = await self.client.request(method, sent_to, **fields or request(*example))
        assert response.is_success, f"{operation_id}: {response.text}"
        body = response.json() if "json" in response.headers["content-type"] else response.text
        self.bodies.setdefault((operation_id, str(response.status_code)), _shortened(body))
        return body

    async def run(self) -> None:
        """Reads the sample notes, then sends what changes them."""
        for operation_id, (_, path, operation) in OPERATIONS.items():
            if not operation_id.startswith(CHANGING) and filled(path, operation, "sample"):
                await self.send(operation_id)
        if "add_source" in OPERATIONS:
            await self._sources()
        await self._documents()
        for operation_id in ("add_entities", "upsert_entities", "change_entity", "merge_entities", "delete_entity"):
            await self.send(operation_id)
        if "set_synonyms" in OPERATIONS:
            await self.send("set_synonyms")
            await self.send("get_synonyms")
        for operation_id in ("delete_document_by_uri", "delete_document", "delete_documents"):
            await self.send(operation_id)

    async def _sources(self) -> None:
        added = await self.send("add_source")
        source = {"source_id": added["source_id"]}
        await self.send("follow_job", ids={"job_id": added["job_id"]})
        await self.send("add_source")
        for operation_id in ("change_source", "get_source"):
            await self.send(operation_id, ids=source)
        job = {"job_id": (await self.send("sync_source", ids=source))["job_id"]}
        await self.send("follow_job", ids=job)
        await self.send("get_job", ids=job)
        await self.send("list_jobs", params={"status": "done"})  # the watched source may have queued a job of its own
        await self.send("list_sources")
        await self.send("delete_source", ids=source)

    async def _documents(self) -> None:
        for operation_id in ("add_documents", "upload_documents"):
            await self.send(operation_id)
            await self.send(operation_id)
        for operation_id in ("replace_document", "change_document", "reindex_documents"):
            await self.send(operation_id)
        await self.send("reindex_documents", json={"all": True})
        text = "A long line. " * (LARGE // 12)
        queued = await self.send("add_documents", json={"content": text, "uri": "sample/long.txt"})
        for operation_id in ("cancel_job", "follow_job", "get_job"):
            await self.send(operation_id, ids={"job_id": queued["job_id"]})
        await self.send("list_jobs", params={"status": "cancelled"})
        await self.send("upload_documents", files=[("files", ("long.txt", text))])
        await self.send("replace_document", json={"content": text})
        other = await self.send("get_document")
        await self.send("change_document", ids={"document_id": other["document_id"]}, json={"content": text})


def _shortened(body: Any) -> Any:
    """A body with the beginnings of its lists and texts, of an OpenAPI document only what has no references."""
    if isinstance(body, dict):
        kept = {name: value for name, value in body.items() if "openapi" not in body or name not in REFERRING}
        return {name: value if name == "enum" else _shortened(value) for name, value in kept.items()}
    if isinstance(body, list):
        return [_shortened(value) for value in body[:LONGEST_LIST]]
    return f"{body[:LONGEST_TEXT]}…" if isinstance(body, str) and len(body) > LONGEST_TEXT else body


def _comparable(body: Any) -> Any:
    """A body without what differs between two runs: numbers, moments, drawn ids and what is made of them."""
    if isinstance(body, dict):
        return {name: "" if "cursor" in name and value else _comparable(value) for name, value in body.items()}
    if isinstance(body, list):
        return [_comparable(value) for value in body]
    if isinstance(body, str) and body.startswith(("event:", "# HELP")):
        return body.splitlines()[0]
    if isinstance(body, str):
        return VARYING.sub("…", body)
    return body if isinstance(body, bool) or body is None else "number"


@pytest.fixture(scope="module")
async def sent(new_database, demo_template, offline_embedder) -> dict[tuple[str, str], Any]:
    """The body of each operation and status."""
    dsn = (await new_database(demo_template)).service_dsn
    root = samples.NOTES.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_documents, "LARGE", LARGE)
        async with sample_service(dsn, offline_embedder) as client:
            walk = Walk(client)
            await walk.run()
    if WRITING:
        _write(walk.bodies, root)
        pytest.skip("The examples are written.")
    return walk.bodies


def _write(found: dict[tuple[str, str], Any], root: Path) -> None:
    """Writes the examples, with /srv for the folder of sources; one that is comparable to the stored one is kept."""
    before = openapi_document.stored_examples()
    written: dict[str, dict[str, Any]] = {}
    for (operation_id, status), body in sorted(found.items()):
        kept = before.get(operation_id, {}).get(status)
        written.setdefault(operation_id, {})[status] = kept if _comparable(kept) == _comparable(body) else body
    text = json.dumps(written, indent=1, ensure_ascii=False).replace(str(root), "/srv")
    FILE.write_text(f"{text}\n", encoding="utf-8")


@pytest.mark.parametrize(("operation_id", "status"), ANSWERED)
def test_a_successful_response_is_shown_as_it_is_sent(sent, operation_id, status) -> None:
    ((_media, response),) = OPERATIONS[operation_id][2]["responses"][status]["content"].items()
    assert _comparable(response["example"]) == _comparable(sent[operation_id, status]), "run: make examples openapi"
    Draft202012Validator({**response["schema"], "components": DOCUMENT["components"]}).validate(response["example"])
