"""Tests of the validation of tool arguments."""

from typing import Any

import pytest
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from app.agents import registry
from app.agents.document_and_entity_tools import GetDocumentArguments
from app.agents.search_tools import SearchArguments
from app.query.search_request import Ranking


def test_a_whole_number_is_clamped_and_may_be_a_string_or_have_a_fraction_of_zero() -> None:
    given = {0: 1, -5: 1, 1_000: 50, 7: 7, "7": 7, " 7 ": 7, "7.0": 7}
    assert {limit: SearchArguments(query="lime", limit=limit).limit for limit in given} == given  # type: ignore[arg-type]
    assert SearchArguments(query="lime", limit=7.0).limit == 7  # type: ignore[arg-type]


@pytest.mark.parametrize("empty", [None, "", [], "[]"])
def test_null_and_an_empty_text_or_list_mean_the_default(empty: object) -> None:
    named = [name for name in SearchArguments.model_fields if name != "query" and (empty != "[]" or name == "sources")]
    assert SearchArguments.model_validate({"query": "lime", **dict.fromkeys(named, empty)}) == SearchArguments(
        query="lime"
    )


def test_an_object_and_a_list_may_be_json_in_a_string_and_a_list_its_only_text() -> None:
    given = {"query": '["tide"]', "metadata": '{"team": "tide"}', "document_ids": '["a.md"]', "sources": "notes"}
    read = SearchArguments(query='["tide"]', metadata={"team": "tide"}, document_ids=["a.md"], sources=["notes"])
    assert SearchArguments.model_validate(given) == read


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("limit", limit) for limit in ("five", "2.5", 2.5, float("inf"), True, [5])),
        *(("metadata", raw) for raw in ("{", '{"team": "\\u0000"}', '{"team": 1e999}', "[1]", "[" * 10_000)),
        *(("query", query) for query in ("", "   ", "\u200b\u2060", "\n\t")),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_its_field(field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as raised:
        SearchArguments.model_validate({"query": "lime", field: value})
    assert [error["loc"] for error in raised.value.errors()] in ([(field,)], [("metadata", "team")])


def test_a_query_is_normalised_and_comes_first_in_the_schema() -> None:
    assert SearchArguments(query="  Cafe\u0301 ").query == "Café"
    assert next(iter(SearchArguments.model_fields)) == "query"
    assert next(iter(GetDocumentArguments.model_fields)) == "document_id"


@pytest.mark.parametrize("name", ["status", *Ranking.model_fields])
async def test_an_unknown_argument_is_taken_for_a_key_of_metadata_unless_it_is_an_option_of_a_search(name: str) -> None:
    context: Any = None  # the arguments are validated first
    with pytest.raises(RequestValidationError) as raised:
        await registry.call(registry.find("search_documents"), {"query": "lime", name: "auto"}, context)
    [error] = raised.value.errors()
    assert (error["ctx"].get("nearest") == f"metadata.{name}") is (name == "status")
