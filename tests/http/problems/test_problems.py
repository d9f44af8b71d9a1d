"""Tests of problem responses: small, with the field and the fix."""

import json
import logging

import example_app
import pytest
from example_app import CANARY, assert_problem


def logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """What is logged of problems. Connections of other tests may log theirs at any time."""
    return [record for record in caplog.records if record.name == "app.http.problems"]


@pytest.mark.parametrize(
    ("how", "status", "code"),
    [
        ("missing", 404, "not_found"),
        ("down", 503, "database_unavailable"),
        ("lost", 503, "database_unavailable"),
        ("key", 401, "unauthorized"),
        ("late", 504, "search_timeout"),
        ("bug", 500, "internal_error"),
        ("schema", 503, "schema_mismatch"),
        ("teapot", 418, "bad_request"),
    ],
)
async def test_every_kind_of_failure_is_a_problem(how, status, code):
    assert_problem(await example_app.get(f"/rag/fail/{how}"), status, code)


async def test_an_internal_error_does_not_expose_its_cause_which_is_logged(caplog):
    assert "embedding" not in (await example_app.get("/rag/fail/schema")).text
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        await example_app.get("/rag/fail/bug")
    (record,) = logged(caplog)
    assert (record.levelno, type(record.exc_info[1])) == (logging.ERROR, RuntimeError)


async def test_a_state_of_the_database_is_logged_in_a_line_without_a_stack(caplog):
    with caplog.at_level(logging.WARNING):
        await example_app.get("/rag/fail/lost")  # the pool logs the outage, once
        message = (await example_app.get("/rag/fail/down")).json()["detail"]
    assert [(r.getMessage(), r.exc_info) for r in logged(caplog)] == [(f"request failed: {message}", None)]


async def test_an_unknown_path_is_a_404_problem_whose_instance_leaves_out_the_query():
    problem = assert_problem(await example_app.get(f"/no/ne<b>?x={CANARY}"), 404, "not_found")
    assert problem["instance"] == "/no/ne%3Cb%3E"
    assert len(assert_problem(await example_app.get("/" + "x" * 5_000), 404, "not_found")["instance"]) == 200


async def test_a_valid_request_id_is_kept_and_an_invalid_one_replaced():
    assert (await example_app.get("/rag/documents/a", **{"X-Request-ID": "my.id-1"})).headers[
        "x-request-id"
    ] == "my.id-1"
    for insane in ("a" * 65, "a b", "<b>", ""):
        given = (await example_app.get("/rag/documents/a", **{"X-Request-ID": insane})).headers["x-request-id"]
        assert given != insane
        assert len(given) == 32


async def test_timings_that_an_endpoint_leaves_become_a_server_timing_header():
    response = await example_app.search_raw('{"query": "a"}')
    assert response.headers["server-timing"] == "embed;dur=3.14, sql_time;dur=4.50"


async def test_a_nul_in_the_url_is_rejected():
    assert_problem(await example_app.get("/rag/documents/a?limit=%00"), 422, "invalid_text", "limit")
    assert_problem(await example_app.get("/rag/documents/a%00"), 404, "not_found")


async def test_eighty_wrong_fields_fit_into_four_kilobytes():
    body = {"query": "a"} | {f"{'x' * 60}{i}": 1 for i in range(80)}
    response = await example_app.search_raw(json.dumps(body))
    problem = response.json()
    assert len(response.content) < 4_000
    assert 10 < len(problem["errors"]) <= 20
    assert "80 fields are wrong" in problem["detail"]


async def test_a_hundred_thousand_unknown_fields_are_one_error():
    body = {"query": "a"} | {f"f{i}": 1 for i in range(100_000)}
    problem = assert_problem(await example_app.search_raw(json.dumps(body)), 422, "too_many_fields", "body")
    assert len(problem["errors"]) == 1
