"""Reads request bodies: after authentication, within limits of size and time, and as strict JSON.

The order of every request on a StrictRoute is: authenticate by the header fields, read the body, validate. A request
that takes turns with others, such as an upload, does so once its body has been received.
"""

from __future__ import annotations

import asyncio
import math
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from fastapi import APIRouter, FastAPI, params
from fastapi._compat import ModelField
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive

from app import errors
from app.access.callers import Caller
from app.concurrency import offload
from app.http import auth, idempotency, problems, spooling
from app.requests import field_suggestions, strict_json, validation_errors

__all__ = ["ModelField", "ReceivedRequest"]


class ReceivedRequest(Request):
    """A request whose messages another function receives."""

    def __init__(self, request: Request, receive: Receive) -> None:
        super().__init__(request.scope, receive, request._send)

    def set_body(self, body: bytes) -> None:
        """Give the framework this body, so that it does not receive one."""
        self._body = body


_JSON_TYPE = re.compile(r"application/([a-z0-9!#$&^_.+-]+\+)?json", re.IGNORECASE)


class UnsupportedMediaType(errors.BadRequest):
    """The Content-Type of the body is not the expected one."""

    status = 415
    code = "unsupported_media_type"


MAX_BYTES = 64_000_000
"""Largest size in bytes of a body with documents."""


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits of a body: its size in bytes and the time to receive it.

    It must be complete after `seconds` plus its size in bytes divided by `bytes_per_s`, and after `longest_s` in any
    case; each message with a part of it must arrive within `seconds` of the previous one.
    """

    max_bytes: int
    seconds: float
    bytes_per_s: float = math.inf
    longest_s: float = 600.0


def install(app: FastAPI) -> None:
    """Make StrictRoute the class of the app's own routes.

    A router that is included later is made by `router`, or needs `APIRouter(route_class=bodies.StrictRoute)`.
    """
    app.router.route_class = StrictRoute


class StrictRoute(APIRoute):
    """A route that authenticates first, checks the URL, limits the body and parses JSON strictly.

    The default limits are 10 MB, and at least 20 kB/s after the first five seconds.
    """

    limits: ClassVar[BodyLimits] = BodyLimits(10_000_000, seconds=5.0, bytes_per_s=20_000)

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle = super().get_route_handler()
        expects_json = self.body_field is not None and not isinstance(self.body_field.field_info, params.Form)
        dependants = list(_dependants(self.dependant))
        scopes = [one.call for one in dependants if isinstance(one.call, auth.Scope)]
        if scopes:
            self.openapi_extra = {**(self.openapi_extra or {}), "security": auth.REQUIREMENT}
        parameters = {field.alias: field.alias for one in dependants for field in one.query_params}
        limits = self.limits
        writes = any(isinstance(scope, auth.WriteScope) for scope in scopes)

        async def strict(request: Request) -> Response:
            for scope in scopes:
                await scope.authenticate(request)
            _check_url(request, parameters, with_body=expects_json)
            body = Body(request, limits)
            if writes:
                return await idempotency.answer(request, body.receive, partial(answer, request))
            return await answer(request, body.receive)

        async def answer(request: Request, receive: Receive) -> Response:
            async with self.admit(request, receive) as received:
                if not expects_json:
                    return await handle(ReceivedRequest(request, received))
                strict_request = StrictRequest(request, received)
                await strict_request.read()
                await strict_request.validate(self.body_field)
                return await handle(strict_request)

        return strict

    @asynccontextmanager
    async def admit(self, request: Request, receive: Receive) -> AsyncIterator[Receive]:
        """Holds a place while a request is read and answered. Yields the function that receives its messages.

        A GET takes a turn of the user's reads; a request with a body takes a turn of bodies. Raises Overloaded.
        """
        caller: Caller | None = getattr(request.state, "caller", None)
        state = request.app.state
        if caller is not None and request.method == "GET":
            async with state.reads.turn(caller.user_id):
                yield receive
        elif caller is not None and (
            "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
        ):
            async with state.bodies.turn(caller.user_id):
                yield receive
        else:
            yield receive


class DocumentsRoute(StrictRoute):
    """A route for documents: 64 MB, and at least 20 kB/s after the first five seconds.

    A request with a body holds a turn of an upload, once its body has been received.
    """

    limits = BodyLimits(MAX_BYTES, seconds=5.0, bytes_per_s=20_000)

    @asynccontextmanager
    async def admit(self, request: Request, receive: Receive) -> AsyncIterator[Receive]:
        """Also receives the body, then takes a turn of uploads. Raises DiskFull, Overloaded and errors of receiving."""
        async with super().admit(request, receive) as receive:
            if request.method not in ("POST", "PUT", "PATCH"):
                yield receive
                return
            with spooling.SpooledBody() as body:
                await body.receive(ReceivedRequest(request, receive).stream())
                async with request.app.state.uploads.turn(request.state.caller.user_id) as turn:
                    request.state.upload_turn = turn
                    yield body.replay(then=receive)


class QuickRoute(StrictRoute):
    """A route whose body must arrive within seconds; the number of such bodies is not limited."""

    @asynccontextmanager
    async def admit(self, request: Request, receive: Receive) -> AsyncIterator[Receive]:
        """Holds no place."""
        yield receive


class SearchRoute(QuickRoute):
    """A route whose body is a small JSON object: 256 KB within two seconds."""

    limits = BodyLimits(256_000, seconds=2.0)


class ListsRoute(QuickRoute):
    """A route whose body holds lists of passages: 2 MB, and at least 100 kB/s after the first two seconds."""

    limits = BodyLimits(2_000_000, seconds=2.0, bytes_per_s=100_000)


def router(tag: str, route_class: type[StrictRoute] = StrictRoute) -> APIRouter:
    """A router of operations that need a key."""
    return APIRouter(prefix="/api/rag", tags=[tag], route_class=route_class, responses=problems.AUTHENTICATED)


def _dependants(dependant: Dependant) -> Iterator[Dependant]:
    """A route and its dependencies, at any depth."""
    yield dependant
    for dependency in dependant.dependencies:
        yield from _dependants(dependency)


def _check_url(request: Request, known: Mapping[str, str], *, with_body: bool) -> None:
    """Raises RequestValidationError that names the wrong parameters, and HTTPException 404 for NUL in the path.

    `known` maps the names of the route's parameters to themselves. `with_body`: the route takes fields as JSON.
    """
    if "\0" in request.scope["path"]:
        raise HTTPException(404)
    if not request.scope["query_string"]:
        return
    for name in [name for name, value in request.query_params.multi_items() if "\0" in name + value]:
        raise RequestValidationError(
            [{"loc": ("query", name), "type": "invalid_text", "msg": "Must not contain the NUL character."}]
        )
    names = [name for name in request.query_params if name not in known][: validation_errors.MAX_ERRORS]
    if names:
        raise RequestValidationError([unknown_parameter(name, known, with_body=with_body) for name in names])


def unknown_parameter(name: str, known: Mapping[str, str], *, with_body: bool) -> dict[str, object]:
    """The validation error of an unknown parameter, in pydantic's form. It takes the arguments of `_check_url`."""
    advice = {"remark": "Send it as a field of the JSON body."} if with_body else field_suggestions.advice(name, known)
    return {"loc": ("query", name), "type": "extra_forbidden", "msg": "Unknown query parameter.", "ctx": advice}


class Body:
    """Receives a request's body within limits of size and time; after the body `receive` waits for the disconnect.

    Raises `too_large` if the Content-Length header says that it is.
    """

    def __init__(self, request: Request, limits: BodyLimits) -> None:
        self._receive: Receive = request.receive
        self._limits = limits
        self._began: float | None = None
        self._received = 0
        self._complete = False
        if (_declared_length(request.headers) or 0) > limits.max_bytes:
            raise self._too_large()

    async def receive(self) -> Message:
        """The next message of the request. Raises `too_large`, `request_timeout`."""
        if self._complete:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline()):
                message = await self._receive()
        except TimeoutError as error:
            raise errors.RequestRefused(
                "The body did not arrive in time: send it faster, or in parts.", code="request_timeout"
            ) from error
        self._received += len(message.get("body", b""))
        if self._received > self._limits.max_bytes:
            raise self._too_large()
        self._complete = not message.get("more_body", False)
        return message

    def _deadline(self) -> float:
        now = asyncio.get_running_loop().time()
        if self._began is None:
            self._began = now
        allowed = self._limits.seconds
        whole_s = min(allowed + self._received / self._limits.bytes_per_s, self._limits.longest_s)
        return min(self._began + whole_s, now + allowed)

    def _too_large(self) -> errors.RequestRefused:
        return errors.RequestRefused(
            f"The body is larger than {self._limits.max_bytes:,} bytes: send less, or in several requests.",
            code="too_large",
        )


class StrictRequest(ReceivedRequest):
    """A request whose `json()` returns the value that `read` parsed strictly."""

    @property
    def size(self) -> int:
        """The size of the body in bytes; handlers find it in `state.body_bytes`."""
        return int(self.state.body_bytes)

    async def read(self, parse: Callable[[bytes], object] = strict_json.parse) -> None:
        """Read and parse the body, if there is one. Raises UnsupportedMediaType, DiskFull and the errors of `parse`."""
        self.state.body_bytes = 0
        length = _declared_length(self.headers)
        if length == 0:
            return
        if (content_type := self.headers.get("content-type")) is not None:
            _require_json(content_type)
        if length is not None and length <= spooling.IN_MEMORY:
            body = await self.body()
            await self._parse(len(body), partial(parse, body))
            return
        with spooling.SpooledBody() as spooled:
            await spooled.receive(self.stream())
            # The framework only asks whether there is a body, and takes its value from `json()`.
            self.set_body(b" " if spooled.size else b"")
            await self._parse(spooled.size, lambda: parse(spooled.content()))

    async def _parse(self, size: int, parse: Callable[[], object]) -> None:
        self.state.body_bytes = size
        if size:
            _require_json(self.headers.get("content-type", ""))
            try:
                self._parsed = await offload.run(size, parse)
            except strict_json.InvalidEncoding:
                if "content-encoding" in self.headers:
                    raise UnsupportedMediaType("Send the body uncompressed, without Content-Encoding.") from None
                raise

    async def validate(self, field: ModelField | None) -> None:
        """Validate a large body in a thread; the framework does not validate the resulting model again.

        Raises RequestValidationError.
        """
        if field is None or self.size <= offload.INLINE:
            return
        value, invalid = await offload.run(self.size, field.validate, self._parsed, {}, loc=("body",))
        if invalid:
            raise RequestValidationError(invalid, body=self._parsed)
        self._parsed = value

    async def json(self) -> object:
        return self._parsed


def require(request: Request, *media_types: str) -> None:
    """Raises UnsupportedMediaType unless the Content-Type is one of these."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared not in media_types:
        raise UnsupportedMediaType(f"Send the body with the header Content-Type: {media_types[0]}.")


def _declared_length(headers: Headers) -> int | None:
    """The Content-Length in bytes; None without one that is a number."""
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        return None
    return int(length) if len(length) < 20 else sys.maxsize


def _require_json(content_type: str) -> None:
    if not _JSON_TYPE.fullmatch(content_type.partition(";")[0].strip()):
        raise UnsupportedMediaType("Send the body as JSON, with the header Content-Type: application/json.")
