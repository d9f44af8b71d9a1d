"""Tests of the field types of requests: queries, dates and times, and metadata."""

import json
from datetime import UTC, datetime

import example_app
import pytest
from example_app import assert_problem
from pydantic import TypeAdapter

from app.requests import field_types


async def _search(**fields) -> example_app.httpx.Response:
    return await example_app.search_raw(json.dumps({"query": "a"} | fields))


async def test_a_query_counts_its_characters_once_normalised_and_without_courtesies():
    decomposed = "e\u0301" * 2_000
    assert (await _search(query=f"  {decomposed}\n")).json()["query"] == "é" * 2_000
    greeted = await _search(query="Hi! Could you please tell me who Ada is? Thanks!")
    assert greeted.json()["query"] == "who Ada is?"
    wrapped = await _search(query='{"query": "Could you tell me who Ada is?", "top_k": 5}')
    assert wrapped.json()["query"] == "who Ada is?"
    assert "2000" in assert_problem(await _search(query="a" * 2_001), 422, "invalid_request", "query")["detail"]
    assert_problem(await _search(query="a" + " " * 8_000), 422, "invalid_request", "query")


@pytest.mark.parametrize("moment", [5, "5", "yesterday", "2026-13-01", "2026-01-01T25:00:00Z", True, "20260101"])
async def test_a_date_time_that_is_not_iso_8601_is_422(moment):
    assert_problem(await _search(filters={"created_after": moment}), 422, "invalid_request", "filters.created_after")


@pytest.mark.parametrize(
    "moment", ["2026-01-31", "2026-01-31T00:00", "2026-01-31T01:00:00+01:00", "2026-01-31t00:00:00.000z"]
)
def test_a_date_time_without_an_offset_is_utc(moment):
    assert TypeAdapter(field_types.Moment).validate_python(moment) == datetime(2026, 1, 31, tzinfo=UTC)


def _nested(levels: int) -> dict:
    return {"a": _nested(levels - 1) if levels > 1 else 1}


async def test_metadata_has_limits_of_depth_keys_and_size():
    for good in (_nested(32), {f"k{i}": 1 for i in range(1_000)}, {"a": "x" * (64 * 1024 - 8)}):
        assert (await _search(filters={"metadata": good})).status_code == 200
    too_many = {"a": [{f"k{i}": 1} for i in range(1_000)]}
    too_large = {"a": "x" * (64 * 1024 - 7)}
    for bad, code in ((_nested(33), "too_deep"), (too_many, "too_many_keys"), (too_large, "too_large")):
        assert_problem(await _search(filters={"metadata": bad}), 422, code, "filters.metadata")
