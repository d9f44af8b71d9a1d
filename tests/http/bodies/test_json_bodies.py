"""Tests of body parsing: a malformed body is a 4xx that does not quote it."""

import gzip
import json

import example_app
import pytest
from example_app import CANARY, assert_problem, search_raw
from fastapi.exceptions import RequestValidationError
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.types import Message

from app.http.bodies import ReceivedRequest
from app.requests import strict_json


@pytest.mark.parametrize(
    "raw", ["{", '{"query": xyzzy-canary-51}', '{"query": "a"} tail', "   ", '{"query": "a\n"}', "'a'"]
)
async def test_broken_json_is_invalid_json_with_a_position(raw):
    problem = assert_problem(await search_raw(raw), 422, "invalid_json", "body")
    assert "line 1, column" in problem["detail"]


@pytest.mark.parametrize("raw", [b'{"query": "\xff"}', b"\x80", '{"query": "a"}'.encode("utf-16")])
async def test_a_body_that_is_not_utf8_is_400(raw):
    assert_problem(await search_raw(raw), 400, "invalid_encoding")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
async def test_the_error_of_bad_utf8_says_how_many_bytes_are_valid(mark):
    problem = assert_problem(await search_raw(mark + b'{"query": "caf\xe9"}'), 400, "invalid_encoding")
    assert f"after {len(mark) + 14} bytes" in problem["detail"]


async def test_a_compressed_body_is_refused_as_such():
    compressed = gzip.compress(b'{"query": "a"}')
    response = await example_app.post("/rag/search", compressed, **{"Content-Encoding": "gzip"})
    problem = assert_problem(response, 415, "unsupported_media_type")
    assert "without Content-Encoding" in problem["detail"]


async def test_a_byte_order_mark_is_accepted():
    assert (await search_raw(b'\xef\xbb\xbf{"query": "a"}')).status_code == 200


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "json", "application/jsonp"]
)
async def test_another_content_type_is_415_without_an_echo(content_type):
    assert_problem(
        await example_app.post("/rag/search", f'{{"query": "{CANARY}"}}', content_type), 415, "unsupported_media_type"
    )


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "Application/JSON", "application/vnd.a+json"]
)
async def test_json_by_any_of_its_names_is_read(content_type):
    assert (await example_app.post("/rag/search", '{"query": "a"}', content_type)).status_code == 200


@pytest.mark.parametrize(("depth", "opening"), [(64, "["), (900, '{"a":'), (100_000, '[{"a":'), (1_000_000, "[")])
async def test_deep_nesting_is_refused_whether_closed_or_not(depth, opening):
    assert_problem(await search_raw('{"query": "a", "filters": ' + opening * depth), 422, "too_deep", "body")


def test_sixty_four_levels_are_read():
    assert strict_json.parse(b"[" * 64 + b"]" * 64) == json.loads("[" * 64 + "]" * 64)


async def test_brackets_in_strings_and_side_by_side_are_not_depth():
    text = json.dumps({"query": "[" * 500 + '\\"{' * 100, "filters": {"metadata": {"a": [[]] * 500}}})
    assert (await search_raw(text)).status_code == 200


async def test_a_flood_of_empty_lists_is_refused():
    raw = '{"query": "a", "filters": {"metadata": {"a": [' + "[]," * 100_000 + "[]]}}}"
    assert_problem(await search_raw(raw), 422, "too_many_parts", "body")


@pytest.mark.parametrize(
    "number", ["1e308", "9223372036854775807", "-9223372036854775808", "1E+0300", "0.1234567890123456789012"]
)
def test_the_largest_numbers_that_fit_are_read_as_they_are(number):
    assert strict_json.parse(number.encode()) == json.loads(number)


NOT_FINITE = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9223372036854775808", "1E+0999"]


@pytest.mark.parametrize("number", [*NOT_FINITE, "1" + "0" * 5_000, "9" * 400 + ".5"], ids=lambda number: number[:20])
async def test_a_number_that_is_not_finite_is_refused_by_name(number):
    assert_problem(await search_raw(f'{{"query": "a", "min_score": {number}}}'), 422, "invalid_number", "min_score")


@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800", "\\uDFFF", "\\udc00\\ud800"])
async def test_nul_and_half_surrogates_are_refused_at_every_position(escape):
    assert_problem(await search_raw(f'{{"query": "{CANARY}{escape}"}}'), 422, "invalid_text", "query")
    assert_problem(await search_raw(f'{{"query": "a", "limit": "{escape}"}}'), 422, "invalid_text", "limit")
    value = f'{{"query": "a", "filters": {{"metadata": {{"k": ["{escape}"]}}}}}}'
    assert_problem(await search_raw(value), 422, "invalid_text", "filters.metadata.k[0]")
    key = f'{{"query": "a", "filters": {{"metadata": {{"{CANARY}{escape}": 1}}}}}}'
    assert_problem(await search_raw(key), 422, "invalid_text", "filters.metadata.(key)")


async def test_a_whole_surrogate_pair_and_an_escaped_backslash_are_text():
    response = await search_raw('{"query": "\\ud83d\\ude00 \\\\u0000"}')
    assert response.json()["query"] == "😀 \\u0000"


async def test_of_duplicate_keys_the_last_one_wins():
    assert (await search_raw('{"query": "a", "limit": 99, "limit": 7}')).json()["limit"] == 7


async def test_ten_megabytes_of_bad_items_get_one_short_error():
    ids = json.dumps({"query": "a", "filters": {"document_ids": [1] * 1_000_000}})
    assert_problem(await search_raw(ids), 422, "invalid_request", "filters.document_ids")


_scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
_texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
_trees = st.recursive(_scalars | _texts, lambda inner: st.lists(inner) | st.dictionaries(_texts, inner), max_leaves=30)


@settings(max_examples=40, deadline=None)
@given(_trees, st.booleans())
def test_every_ordinary_value_is_read_as_json_reads_it(value, ascii_only):
    assert strict_json.parse(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@settings(deadline=None)
@given(st.text(alphabet='[]{}"\\,:a0u', max_size=200))
def test_any_soup_is_read_or_refused_as_broken_json(soup):
    try:
        expected = json.loads(soup)
    except json.JSONDecodeError:
        with pytest.raises(RequestValidationError):
            strict_json.parse(soup.encode())
    else:
        assert strict_json.parse(soup.encode()) == expected


async def _no_message() -> Message:
    raise AssertionError("a body that was set is not received")


async def _send(message: Message) -> None:
    assert message


async def test_a_body_that_was_set_is_what_the_framework_reads() -> None:
    """It is set by private names of Starlette, which another version may rename."""
    request = ReceivedRequest(Request({"type": "http", "headers": []}, _no_message, _send), _no_message)
    request.set_body(b"{}")
    assert await request.body() == b"{}"
    assert request._send is _send
