"""Tests that Starlette still has the private names that a received request needs."""

from starlette.requests import Request
from starlette.types import Message

from app.http.bodies import ReceivedRequest


async def _no_message() -> Message:
    raise AssertionError("a body that was set is not received")


async def _send(message: Message) -> None:
    assert message


async def test_a_body_that_was_set_is_what_the_framework_reads() -> None:
    request = ReceivedRequest(Request({"type": "http", "headers": []}, _no_message, _send), _no_message)
    request.set_body(b"{}")
    assert await request.body() == b"{}"
    assert request._send is _send
