"""Tests that FastAPI and Starlette still have the private names that a received request needs."""

from __future__ import annotations

from inspect import signature

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request
from starlette.types import Message

from app.http.bodies import ModelField, ReceivedRequest


class Item(BaseModel):
    """A body."""

    name: str


async def _no_message() -> Message:
    raise AssertionError("a body that was set is not received")


async def _send(message: Message) -> None:
    assert message


async def test_a_body_that_was_set_is_what_the_framework_reads() -> None:
    request = ReceivedRequest(Request({"type": "http", "headers": []}, _no_message, _send), _no_message)
    request.set_body(b"{}")
    assert await request.body() == b"{}"
    assert request._send is _send


def test_the_field_of_a_body_validates_values_and_returns_its_errors() -> None:
    app = FastAPI()

    @app.post("/items")
    def store(item: Item) -> None:
        """Takes a body."""

    field = next(route for route in app.routes if isinstance(route, APIRoute)).body_field
    assert isinstance(field, ModelField)
    assert list(signature(field.validate).parameters) == ["value", "values", "loc"]
    assert field.validate({"name": "a"}, {}, loc=("body",)) == (Item(name="a"), [])
    assert field.validate({}, {}, loc=("body",))[1][0]["loc"] == ("body", "name")
