"""Tests of the field types of requests."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import uuid4

import example_app
import pytest
from example_app import CANARY, assert_problem
from pydantic import TypeAdapter

from app.pipelines.requests import wire

BLANK = ["", "   \n\t", "\u200b\u200d\ufeff", "\u00a0\u3000", "\u2800\u3164", "\ufe0f", "\U000e0041", "\x07", "\u202e"]


async def _search(**fields) -> example_app.httpx.Response:
    return await example_app.search_raw(json.dumps({"query": "a"} | fields))


@pytest.mark.parametrize("query", BLANK)
async def test_a_blank_query_is_400(query):
    assert_problem(await _search(query=query), 400, "blank_query", "query")


async def test_a_blank_query_is_400_even_if_other_fields_are_wrong_and_they_are_listed():
    assert_problem(await _search(query=" ", limit=99), 400, "blank_query", "query", "limit")


@pytest.mark.parametrize(
    "query", ["?!", "😀", "the of and", 'foo & | !( "unclosed <-> :*', "\u202eabc", "'; drop table x --"]
)
async def test_whatever_can_be_seen_is_a_query(query):
    assert (await _search(query=query)).json()["query"] == query


async def test_a_query_counts_its_characters_once_normalised():
    decomposed = "e\u0301" * 2_000
    assert (await _search(query=f"  {decomposed}\n")).json()["query"] == "é" * 2_000
    assert "2000" in assert_problem(await _search(query="a" * 2_001), 422, "invalid_request", "query")["detail"]
    assert_problem(await _search(query="a" + " " * 8_000), 422, "invalid_request", "query")


@pytest.mark.parametrize("query", [None, 5, ["a"], {"a": 1}])
async def test_a_query_that_is_no_string_is_422(query):
    assert_problem(await _search(query=query), 422, "invalid_request", "query")


@pytest.mark.parametrize("limit", [0, -1, 51, 2**62, "5", 5.0, True, [5]])
async def test_a_limit_that_is_no_whole_number_in_range_is_422(limit):
    assert_problem(await _search(limit=limit), 422, "invalid_request", "limit")


@pytest.mark.parametrize("limit", ["9223372036854775808", "1" + "0" * 5_000])
async def test_a_limit_beyond_64_bits_is_422(limit):
    assert_problem(await example_app.search_raw(f'{{"query": "a", "limit": {limit}}}'), 422, "invalid_number", "limit")


@pytest.mark.parametrize(
    ("field", "value"), [("min_score", "0.5"), ("min_score", True), ("explain", 1), ("explain", "true")]
)
async def test_numbers_and_flags_are_not_taken_from_other_types(field, value):
    assert_problem(await _search(**{field: value}), 422, "invalid_request", field)


async def test_a_whole_number_is_a_number():
    assert (await _search(min_score=1)).json()["min_score"] == 1.0


async def test_an_unknown_field_is_named():
    assert_problem(await _search(lmit=3), 422, "invalid_request", "lmit")
    assert_problem(await _search(filters={"document_id": []}), 422, "invalid_request", "filters.document_id")


async def test_a_choice_lists_what_may_be_chosen():
    problem = assert_problem(await _search(mode=CANARY), 422, "invalid_request", "mode")
    assert problem["errors"][0]["message"] == "Must be one of: 'auto' or 'hybrid'."


async def test_a_thousand_ids_pass_and_one_more_does_not():
    ids = [str(uuid4()) for _ in range(1_001)]
    assert (await _search(filters={"document_ids": ids[:1_000]})).status_code == 200
    for many in (ids, ids * 40, [CANARY] * 10_000):
        problem = assert_problem(
            await _search(filters={"document_ids": many}), 422, "invalid_request", "filters.document_ids"
        )
        assert "1000" in problem["detail"]


async def test_a_malformed_id_is_reported_with_its_position():
    ids = [str(uuid4()), CANARY]
    assert_problem(await _search(filters={"document_ids": ids}), 422, "invalid_request", "filters.document_ids[1]")


@pytest.mark.parametrize("moment", [5, "5", "yesterday", "2026-13-01", "2026-01-01T25:00:00Z", True, "20260101"])
async def test_a_date_time_that_is_not_iso_8601_is_422(moment):
    assert_problem(await _search(filters={"created_after": moment}), 422, "invalid_request", "filters.created_after")


@pytest.mark.parametrize(
    "moment", ["2026-01-31", "2026-01-31T00:00", "2026-01-31T01:00:00+01:00", "2026-01-31t00:00:00.000z"]
)
def test_a_date_time_without_an_offset_is_utc(moment):
    assert TypeAdapter(wire.Moment).validate_python(moment) == datetime(2026, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize("key", ["'; drop table chunks --", "$.x", "%s", "{0}", "{field}", "a.b"])
async def test_odd_metadata_keys_pass_unchanged(key):
    assert (await _search(filters={"metadata": {key: "%s {0}"}})).json()["filters"]["metadata"] == {key: "%s {0}"}


def _nested(levels: int) -> dict:
    return {"a": _nested(levels - 1) if levels > 1 else 1}


async def test_metadata_has_limits_of_depth_keys_and_size():
    for good in (_nested(32), {f"k{i}": 1 for i in range(1_000)}, {"a": "x" * (64 * 1024 - 8)}):
        assert (await _search(filters={"metadata": good})).status_code == 200
    too_many = {"a": [{f"k{i}": 1} for i in range(1_000)]}
    too_large = {"a": "x" * (64 * 1024 - 7)}
    for bad, code in ((_nested(33), "too_deep"), (too_many, "too_many_keys"), (too_large, "too_large")):
        assert_problem(await _search(filters={"metadata": bad}), 422, code, "filters.metadata")


@pytest.mark.parametrize("vector", [[0, 0, 0], [1, 2], [1, 2, 3, 4]])
async def test_a_vector_that_could_not_be_found_is_invalid(vector):
    assert_problem(
        await example_app.post("/rag/similar", json.dumps({"vector": vector})), 422, "invalid_vector", "vector"
    )


async def test_a_vector_of_the_wrong_length_gets_an_error_with_the_right_one():
    problem = assert_problem(
        await example_app.post("/rag/similar", '{"vector": [1, 2]}'), 422, "invalid_vector", "vector"
    )
    assert problem["detail"] == "Must have 3 numbers; this one has 2."


async def test_a_vector_with_nan_or_a_string_is_reported_with_its_position():
    assert_problem(
        await example_app.post("/rag/similar", '{"vector": [1, NaN, 2]}'), 422, "invalid_number", "vector[1]"
    )
    assert_problem(
        await example_app.post("/rag/similar", '{"vector": [1, "2", 2]}'), 422, "invalid_request", "vector[1]"
    )
    assert (await example_app.post("/rag/similar", '{"vector": [0, 1e-7, -2]}')).json() == 3


def test_a_list_stops_at_its_first_bad_item():
    ids = TypeAdapter(wire.IdList)
    with pytest.raises(ValueError, match="1 validation error"):
        ids.validate_python(["bad"] * 900)
