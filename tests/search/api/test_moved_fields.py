"""Where a field of a request has moved to exists."""

from __future__ import annotations

from typing import Any

import pytest

from app.query import moved_fields
from app.query.search_request import SearchRequest, SimilarRequest


def places(schema: dict[str, Any], inside: dict[str, Any]) -> set[str]:
    """The paths of the fields of a schema."""
    found = set()
    for name, field in inside.get("properties", {}).items():
        found.add(name)
        for one in (field, *field.get("anyOf", ())):
            if "$ref" in one and name != "filters":
                nested = schema["$defs"][one["$ref"].rpartition("/")[2]]
                found |= {f"{name}.{path}" for path in places(schema, nested)}
    return found


@pytest.mark.parametrize(
    ("model", "table"), [(SearchRequest, moved_fields.OF_SEARCH), (SimilarRequest, moved_fields.OF_SIMILAR)]
)
def test_every_new_place_exists(model: Any, table: dict[str, str]) -> None:
    schema = model.model_json_schema()
    known = places(schema, schema)
    for told in table.values():
        if told.startswith("Moved"):
            assert told.removeprefix("Moved: use ").partition(":")[0].rstrip(".") in known
