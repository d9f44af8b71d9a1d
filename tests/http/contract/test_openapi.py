"""Tests of the OpenAPI document: it is committed, valid and complete."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import pytest
from openapi_operations import COMMITTED, DOCUMENT
from openapi_spec_validator import validate
from pydantic import BaseModel, ValidationError

from app.documents.api.document_models import DocumentChange
from app.entities.api_models import EntityChange
from app.serving import contract_command


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in DOCUMENT["paths"].items():
        yield from ((method, path, operation) for method, operation in item.items() if "operationId" in operation)


def test_the_committed_openapi_document_is_the_one_of_the_service() -> None:
    committed = COMMITTED.read_text(encoding="utf-8")
    assert committed == contract_command.text(), "run: make openapi"


def test_the_contract_is_valid_openapi() -> None:
    validate(DOCUMENT)


def test_swagger_ui_asks_the_service_below_the_path_of_a_proxy() -> None:
    (server,) = DOCUMENT["servers"]
    assert urljoin("https://proxy/stepwell/openapi.json", server["url"]) == "https://proxy/stepwell/"


def test_every_operation_has_a_summary_a_tag_and_its_problems() -> None:
    for _method, path, operation in operations():
        assert operation["summary"]
        assert operation["tags"]
        assert operation["responses"]["default"] == {"$ref": "#/components/responses/Problem"}
        if path.startswith("/api/"):
            assert operation["responses"]["422"] == {"$ref": "#/components/responses/Problem422"}
            assert operation["security"]


def test_a_search_is_declared_with_a_body_alone_and_without_copies_of_problems() -> None:
    for name in ("search", "search_two_pass", "search_multihop", "similar", "rerank"):
        operation = next(one for *_, one in operations() if one["operationId"] == name)
        assert "parameters" not in operation
        assert operation["responses"].keys() <= {"200", "404", "409", "422", "default"}


def nodes(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in the document and its path; the values of examples and defaults are left out."""
    if isinstance(value, dict):
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if key not in ("example", "examples", "default"):
            yield from nodes(item, f"{path}/{key}")


def test_every_property_and_parameter_has_a_description() -> None:
    properties = [
        (f"{path}/{key}", value)
        for path, node in nodes(DOCUMENT)
        if isinstance(node.get("properties"), dict) and not path.endswith("/properties")
        for key, value in node["properties"].items()
    ]
    parameters = [(path, node) for path, node in nodes(DOCUMENT) if "in" in node and "schema" in node]
    assert len(properties) > 300
    assert len(parameters) > 20
    assert [path for path, node in properties + parameters if not node.get("description")] == []


def test_no_description_ends_a_comment_of_generated_code() -> None:
    assert [path for path, node in nodes(DOCUMENT) if "*/" in str(node.get("description"))] == []


def test_every_union_and_every_object_of_a_body_is_a_schema_of_its_own() -> None:
    bodies = [node["content"] for path, node in nodes(DOCUMENT["paths"]) if "content" in node]
    schemas = [media["schema"] for content in bodies for media in content.values() if "schema" in media]
    assert len(schemas) > 60
    assert [schema for schema in schemas if {"anyOf", "oneOf", "properties"} & schema.keys()] == []


def test_every_array_declares_its_items() -> None:
    assert [path for path, node in nodes(DOCUMENT) if node.get("type") == "array" and "items" not in node] == []


def test_every_enum_is_a_schema_of_its_own() -> None:
    enums = [path for path, node in nodes(DOCUMENT) if isinstance(node.get("enum"), list)]
    assert "/components/schemas/Mode" in enums
    assert [path for path in enums if not re.fullmatch(r"/components/schemas/\w+", path)] == []


def test_the_names_of_schemas_are_unique_and_those_of_their_models() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert len({name.lower() for name in schemas}) == len(schemas)
    # Two models of one name get the names of their modules, and two schemas of one model a suffix.
    assert [name for name in schemas if not re.fullmatch(r"([A-Z][a-z]+)+", name)] == []
    assert [name for name, schema in schemas.items() if schema.get("title", name) != name] == []


def test_a_field_of_an_answer_that_may_be_null_may_be_left_out() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    answers = ["SearchAnswer", "RerankAnswer"]
    required_and_nullable = [
        (name, key)
        for name in _referenced(answers)
        for key, value in schemas[name].get("properties", {}).items()
        if {"type": "null"} in value.get("anyOf", []) and key in schemas[name].get("required", [])
    ]
    assert required_and_nullable == []


@pytest.mark.parametrize("model", [DocumentChange, EntityChange])
def test_a_field_of_a_change_is_nullable_where_it_may_be_null(model: type[BaseModel]) -> None:
    properties = DOCUMENT["components"]["schemas"][model.__name__]["properties"]
    nullable = {name for name, field in properties.items() if {"type": "null"} in field.get("anyOf", [])}

    def takes_null(name: str) -> bool:
        try:
            return bool(model.model_validate({name: None}))
        except ValidationError:
            return False

    assert {name for name in properties if takes_null(name)} == nullable


def _referenced(names: list[str]) -> set[str]:
    """The schemas and all schemas that they refer to."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names += re.findall(r"#/components/schemas/(\w+)", json.dumps(DOCUMENT["components"]["schemas"][name]))
    return found


def test_a_hit_of_a_search_is_declared_as_a_hit_that_may_be_merged() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for name, sent in schemas["RankedListHit"]["properties"].items():
        for hit in (schemas["SearchHit"], schemas["ScoredId"]):
            returned = hit["properties"].get(name, {})
            assert {"type": "null"} not in returned.get("anyOf", ()) or {"type": "null"} in sent.get("anyOf", ()), name


def test_a_count_that_may_exceed_32_bits_is_declared_with_64() -> None:
    assert DOCUMENT["components"]["schemas"]["StorageStats"]["properties"]["tokens"]["format"] == "int64"


def test_every_write_with_an_idempotency_key_declares_that_the_first_one_still_runs() -> None:
    writes = [
        operation["responses"]
        for *_, operation in operations()
        if any(one["name"] == "idempotency-key" for one in operation.get("parameters", ()))
    ]
    assert len(writes) > 15
    assert all(one.get("409") == {"$ref": "#/components/responses/Problem409"} for one in writes)


@pytest.mark.parametrize("name", ["Problem", "Problem409"])
def test_a_problem_that_asks_for_a_retry_declares_when(name: str) -> None:
    assert "Retry-After" in DOCUMENT["components"]["responses"][name]["headers"]


def test_every_problem_is_declared_as_problem_json() -> None:
    for response in DOCUMENT["components"]["responses"].values():
        assert list(response["content"]) == ["application/problem+json"]
