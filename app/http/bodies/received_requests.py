"""Gives FastAPI a request whose body was received elsewhere; the only user of its private names and of Starlette's."""

from __future__ import annotations

from fastapi._compat import ModelField
from starlette.requests import Request
from starlette.types import Receive

__all__ = ["ModelField", "ReceivedRequest"]


class ReceivedRequest(Request):
    """A request whose messages another function receives."""

    def __init__(self, request: Request, receive: Receive) -> None:
        super().__init__(request.scope, receive, request._send)

    def set_body(self, body: bytes) -> None:
        """Make `body` what the framework reads; no message is received for it."""
        self._body = body
