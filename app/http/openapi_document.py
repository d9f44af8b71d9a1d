"""Completes the OpenAPI document: security schemes, problems, and an example of each successful response.

`success_examples.json` holds the responses by operation and status, as the service sends them for the sample notes;
`make examples` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from fastapi import FastAPI

from app.http import auth, idempotency, problems

_SCHEMES = {
    one.scheme_name: one.model.model_dump(mode="json", by_alias=True, exclude_none=True)
    for one in (auth.BEARER, auth.API_KEY)
}
_OF_OPERATIONS = frozenset({404, 409, 422})
"""Statuses that depend on the operation; all others are declared together, as they are the same everywhere."""

_RETRIED = frozenset({409, 429, 503})
_RETRY_AFTER = {
    "Retry-After": {"description": "Seconds, if a retry may succeed.", "schema": {"type": "integer", "minimum": 1}}
}


def install(app: FastAPI) -> None:
    """Let `app.openapi` return the completed document. It is completed once, because FastAPI caches it."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        is_new = app.openapi_schema is None
        document = generate()
        if is_new:
            document["components"]["securitySchemes"] = _SCHEMES
            operations = [operation for item in document["paths"].values() for operation in item.values()]
            for operation in operations:
                operation.setdefault("security", [])
            _declare_problems(document["components"], operations)
            _declare_running_writes(operations)
            _name_bodies(document["components"]["schemas"], operations)
            _add_examples(operations)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def stored_examples() -> dict[str, dict[str, Any]]:
    """The examples of successful responses: the id of an operation, then a status, then the body."""
    found: dict[str, dict[str, Any]] = json.loads(
        resources.files("app.http").joinpath("success_examples.json").read_text(encoding="utf-8")
    )
    return found


def _add_examples(operations: list[dict[str, Any]]) -> None:
    shown = stored_examples()
    for operation in operations:
        for status, example in shown.get(operation["operationId"], {}).items():
            for media in operation["responses"][status]["content"].values():
                media["example"] = example


def _name_bodies(schemas: dict[str, Any], operations: list[dict[str, Any]]) -> None:
    """Turn titled schemas of bodies into components, by which generated clients name their types."""
    for operation in operations:
        for media in operation.get("requestBody", {}).get("content", {}).values():
            media["schema"] = _named(media["schema"], schemas)


def _named(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        schema = {**schema, "anyOf": [_named(one, schemas) for one in schema["anyOf"]]}
    if "title" not in schema or schema.get("additionalProperties"):
        return schema
    schemas[schema["title"]] = schema
    return {"$ref": f"#/components/schemas/{schema['title']}"}


def _declare_problems(components: dict[str, Any], operations: list[dict[str, Any]]) -> None:
    schemas = components.setdefault("schemas", {})
    for name, model in (("ProblemError", problems.ProblemError), ("Problem", problems.Problem)):
        schemas[name] = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas[name].pop("$defs", None)
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    declared = set().union(*(_refer(operation["responses"]) for operation in operations))
    own = {f"Problem{status}": _component((status,)) for status in sorted(declared & _OF_OPERATIONS)}
    components["responses"] = {"Problem": _component(sorted(declared - _OF_OPERATIONS)), **own}


def _refer(responses: dict[str, Any]) -> set[int]:
    """Replace the problems of an operation by references; returns their statuses."""
    declared = set()
    for status, response in list(responses.items()):
        schema = response.get("content", {}).get("application/json", {}).get("schema", {})
        if schema.get("$ref", "").rpartition("/")[2] in {"Problem", "HTTPValidationError"}:
            declared.add(int(status))
            del responses[status]
    for number in sorted(declared & _OF_OPERATIONS):
        responses[str(number)] = {"$ref": f"#/components/responses/Problem{number}"}
    if declared - _OF_OPERATIONS:
        responses["default"] = {"$ref": "#/components/responses/Problem"}
    return declared


def _declare_running_writes(operations: list[dict[str, Any]]) -> None:
    """Declare the 409 of every write whose Idempotency-Key belongs to a request that still runs."""
    for operation in operations:
        if any(one["name"] == idempotency.HEADER.lower() for one in operation.get("parameters", ())):
            operation["responses"]["409"] = {"$ref": "#/components/responses/Problem409"}


def _component(statuses: Sequence[int]) -> dict[str, Any]:
    """The response with these statuses."""
    lines = [f"{status}: {problems.DESCRIPTIONS[status]}" for status in statuses]
    content = {"schema": {"$ref": "#/components/schemas/Problem"}}
    declared = {"description": "\n\n".join(lines), "content": {problems.MEDIA_TYPE: content}}
    return declared if _RETRIED.isdisjoint(statuses) else {**declared, "headers": _RETRY_AFTER}
