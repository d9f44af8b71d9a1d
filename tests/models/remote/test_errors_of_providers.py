"""An error of an endpoint says what was wrong with the call, without its content and its key."""

import pytest
from fake_provider import FakeProvider, serve

from app import errors
from app.models import remote_calls
from app.models.remote.endpoint import MAX_BYTES, Endpoint

KEY = "sk-canary-0123456789"


async def _fault(url: str) -> str | None:
    endpoint = Endpoint("The model", url=url, api_key=KEY)
    try:
        with pytest.raises(errors.ProviderError) as raised:
            await endpoint.post("x", {"text": "canary text"})
    finally:
        await endpoint.aclose()
    assert KEY not in repr(raised.value)
    assert "canary" not in raised.value.message
    return raised.value.fault


@pytest.mark.parametrize(
    ("status", "fault", "counts"),
    [
        *((401, "key", True), (403, "key", True), (404, "model", True), (400, "request", False)),
        *((429, "limit", True), (503, "server", True), (500, "server", True)),
    ],
)
async def test_a_status_is_a_fault_and_the_body_is_not_repeated(provider, status, fault, counts) -> None:
    provider.status, provider.body = status, {"error": f"Incorrect API key provided: {KEY}"}
    assert await _fault(provider.url) == fault
    assert remote_calls.is_of_provider(remote_calls.error_for_status(status, {}, "x")) is counts, (
        "what depends on the request does not"
    )


async def test_an_address_that_cannot_be_reached_is_a_fault(provider: FakeProvider) -> None:
    async with serve() as gone:
        pass
    assert await _fault(gone.url) == "address"
    assert await _fault("http://no-such-host.invalid") == "address"
    assert await _fault("http://[") == "address"
    assert await _fault(provider.url.replace("http:", "https:")) == "tls"
    provider.hang_up = True
    assert await _fault(provider.url) == "address"


@pytest.mark.parametrize(
    "body", [b"<html>", b"", b"[" * 100_000, b"\xff", b" " * (MAX_BYTES + 1)], ids=lambda body: repr(body)[:20]
)
async def test_an_answer_without_json_or_of_more_bytes_than_any_has_is_a_fault(provider, body) -> None:
    provider.body = body
    assert await _fault(provider.url) == "answer"
