"""Reads request bodies: after authentication, within limits of size and time, and as strict JSON.

The order of every request on a StrictRoute is: authenticate by the header fields, read the body, validate.

Python's `json` accepts NaN, parses 1e999 as infinity, accepts lone surrogates and NUL characters that Postgres rejects,
and raises ValueError for a number of 4,301 digits and RecursionError for deep nesting. Here each of these is a 422 that
names the field. Of duplicate keys the last one is used (RFC 8259 leaves it open).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from fastapi import FastAPI, params
from fastapi._compat import ModelField
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive

from app import errors
from app.api import auth
from app.pipelines import offload

MAX_DEPTH = 64
MAX_CONTAINERS = 100_000
_INT64 = range(-(2**63), 2**63)

_JSON_TYPE = re.compile(r"application/([a-z0-9!#$&^_.+-]+\+)?json", re.IGNORECASE)
_STRING_OR_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]++|[\]}]++', re.DOTALL)
_RISKY_NUMBER = re.compile(r"[0-9](?:[0-9]{18}(?<![0-9.].{19})|[eE]\+?[0-9]{3})")
_RISKY_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")


class InvalidEncoding(errors.BadRequest):
    """The body is not UTF-8."""

    status = 400
    code = "invalid_encoding"


class UnsupportedMediaType(errors.BadRequest):
    """The Content-Type of the body is not the expected one."""

    status = 415
    code = "unsupported_media_type"


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits of a body: its size in bytes (None: as configured) and the time to receive it.

    It must be complete after `seconds` plus its size in bytes divided by `bytes_per_s`, and each message with a part of
    it must arrive within `seconds` of the previous one.
    """

    max_bytes: int | None
    seconds: float
    bytes_per_s: float = math.inf


def install(app: FastAPI, *, max_bytes: int) -> None:
    """Make StrictRoute the class of the app's own routes and set the configured size limit.

    A router that is included later needs `APIRouter(route_class=bodies.StrictRoute)`.
    """
    app.state.max_body_bytes = max_bytes
    app.router.route_class = StrictRoute


class StrictRoute(APIRoute):
    """A route that authenticates first, limits the body, parses JSON with `parse` and rejects NUL in the URL.

    The default limits are for documents: the configured size, and at least 20 kB/s after the first five seconds.
    """

    limits: ClassVar[BodyLimits] = BodyLimits(None, seconds=5.0, bytes_per_s=20_000)

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle = super().get_route_handler()
        expects_json = self.body_field is not None and not isinstance(self.body_field.field_info, params.Form)
        scopes = list(_scopes(self.dependant))
        limits = self.limits

        async def strict(request: Request) -> Response:
            for scope in scopes:
                await scope.authenticate(request)
            _reject_nul_in_url(request)
            max_bytes = request.app.state.max_body_bytes
            if limits.max_bytes is not None:
                max_bytes = min(max_bytes, limits.max_bytes)
            body = Body(request, limits, max_bytes=max_bytes)
            body.check_declared_length()
            if not expects_json:
                return await handle(Request(request.scope, body.receive, request._send))
            strict_request = StrictRequest(request.scope, body.receive, request._send)
            await strict_request.read()
            await strict_request.validate(self.body_field)
            return await handle(strict_request)

        return strict


class SearchRoute(StrictRoute):
    """A route whose body is a small JSON object: 256 KB within two seconds."""

    limits = BodyLimits(256_000, seconds=2.0)


class ListsRoute(StrictRoute):
    """A route whose body holds lists of passages: 2 MB, and at least 100 kB/s after the first two seconds."""

    limits = BodyLimits(2_000_000, seconds=2.0, bytes_per_s=100_000)


def _scopes(dependant: Dependant) -> Iterator[auth.Scope]:
    """The scopes that a route requires, at any depth of its dependencies."""
    if isinstance(dependant.call, auth.Scope):
        yield dependant.call
    for dependency in dependant.dependencies:
        yield from _scopes(dependency)


class Body:
    """Receives a request's body within limits of size and time; after the body `receive` waits for the disconnect."""

    def __init__(self, request: Request, limits: BodyLimits, *, max_bytes: int) -> None:
        self._headers = request.headers
        self._receive: Receive = request.receive
        self._limits = limits
        self._max_bytes = max_bytes
        self._began: float | None = None
        self._received = 0
        self._complete = False

    def check_declared_length(self) -> None:
        """Raises TooLarge if the Content-Length header is larger than `max_bytes`."""
        length = self._headers.get("content-length", "")
        if length.isascii() and length.isdigit() and (len(length) > 19 or int(length) > self._max_bytes):
            raise self._too_large()

    async def receive(self) -> Message:
        """The next message of the request. Raises TooLarge, RequestTimeout."""
        if self._complete:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline()):
                message = await self._receive()
        except TimeoutError as error:
            raise errors.RequestTimeout("The body did not arrive in time: send it faster, or in parts.") from error
        self._received += len(message.get("body", b""))
        if self._received > self._max_bytes:
            raise self._too_large()
        self._complete = not message.get("more_body", False)
        return message

    def _deadline(self) -> float:
        now = asyncio.get_running_loop().time()
        if self._began is None:
            self._began = now
        allowed = self._limits.seconds
        return min(self._began + allowed + self._received / self._limits.bytes_per_s, now + allowed)

    def _too_large(self) -> errors.TooLarge:
        return errors.TooLarge(f"The body is larger than {self._max_bytes:,} bytes: send less, or in several requests.")


class StrictRequest(Request):
    """A request whose `json()` returns the value that `read` parsed strictly."""

    async def read(self) -> None:
        """Read and parse the body, if there is one. Raises UnsupportedMediaType and the errors of `parse`."""
        if self.headers.get("content-length") == "0":
            return
        if (content_type := self.headers.get("content-type")) is not None:
            _require_json(content_type)
        raw = await self.body()
        if raw:
            _require_json(content_type or "")
            self._parsed = await offload.run(len(raw), parse, raw)

    async def validate(self, field: ModelField | None) -> None:
        """Validate a large body in a thread; the framework does not validate the resulting model again.

        Raises RequestValidationError.
        """
        size = len(await self.body())
        if field is None or size <= offload.INLINE:
            return
        value, invalid = await offload.run(size, field.validate, self._parsed, {}, loc=("body",))
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


def _require_json(content_type: str) -> None:
    if not _JSON_TYPE.fullmatch(content_type.partition(";")[0].strip()):
        raise UnsupportedMediaType("Send the body as JSON, with the header Content-Type: application/json.")


def _reject_nul_in_url(request: Request) -> None:
    for name in [name for name, value in request.query_params.multi_items() if "\0" in name + value]:
        raise _invalid([(("query", name), "invalid_text", "Must not contain the NUL character.")])
    if "\0" in request.scope["path"]:
        raise HTTPException(404)


def parse(raw: bytes) -> object:
    """The value of a JSON text.

    Raises InvalidEncoding if it is not UTF-8, and RequestValidationError with one of the codes
    `invalid_json` (with the position), `too_deep` (more than 64 levels, found by a linear scan before the recursion),
    `too_many_parts` (more than 100,000 objects and lists, which take twenty times the memory of their text),
    `invalid_number` (NaN, infinite, or an integer beyond 64 bits), `invalid_text` (NUL or a lone surrogate).
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidEncoding("The body is not valid UTF-8: encode it as UTF-8.") from None
    _check_nesting(text)
    decoder = _Decoder()
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise _invalid([((), "invalid_json", _position(error))]) from None
    if decoder.has_bad_numbers or _RISKY_ESCAPE.search(text):
        _reject_unusable(value)
    return value


def _check_nesting(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = opened = 0
    for match in _STRING_OR_BRACKETS.finditer(text):
        kind = match.group()[0]
        if kind in "[{":
            depth += match.end() - match.start()
            opened += match.end() - match.start()
            if depth > MAX_DEPTH:
                raise _invalid([((), "too_deep", f"The body is nested more than {MAX_DEPTH} levels deep: flatten it.")])
            if opened > MAX_CONTAINERS:
                raise _invalid([((), "too_many_parts", f"Send at most {MAX_CONTAINERS:,} objects and lists at once.")])
        elif kind in "]}":
            depth -= match.end() - match.start()


def _position(error: json.JSONDecodeError) -> str:
    reason = error.msg.partition(":")[0]
    return f"The body is not valid JSON at line {error.lineno}, column {error.colno}: {reason}."


class _BadNumber:
    """Marks a number that cannot be used; `_unusable` reports its path."""


class _Decoder:
    """Decodes JSON and marks numbers that cannot be used."""

    def __init__(self) -> None:
        self.has_bad_numbers = False

    def decode(self, text: str) -> object:
        # A Python call per number takes eight times as long, so it is made only if a number may be too large.
        if not _RISKY_NUMBER.search(text):
            return json.loads(text, parse_constant=self.constant)
        return json.loads(text, parse_constant=self.constant, parse_float=self.decimal, parse_int=self.whole)

    def constant(self, _: str) -> object:
        self.has_bad_numbers = True
        return _BadNumber()

    def decimal(self, digits: str) -> object:
        return value if math.isfinite(value := float(digits)) else self.constant(digits)

    def whole(self, digits: str) -> object:
        # Longer than any 64-bit integer: `int` would refuse 4,301 digits, and take quadratic time before that.
        if len(digits) > 20:
            return self.constant(digits)
        return value if (value := int(digits)) in _INT64 else self.constant(digits)


def _reject_unusable(value: object) -> None:
    if invalid := list(itertools.islice(_unusable(value, ()), 20)):
        raise _invalid(invalid)


_InvalidValue = tuple[tuple[str | int, ...], str, str]
_BAD_TEXT = "Must not contain the NUL character or a lone surrogate."
_BAD_NUMBER = "Must be a finite number; whole numbers must fit into 64 bits."


def _unusable(value: object, path: tuple[str | int, ...]) -> Iterator[_InvalidValue]:
    """Every marked number and every text that Postgres cannot store; the nesting depth is already limited."""
    if isinstance(value, _BadNumber):
        yield path, "invalid_number", _BAD_NUMBER
    elif isinstance(value, str) and _UNUSABLE.search(value):
        yield path, "invalid_text", _BAD_TEXT
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unusable(item, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            if _UNUSABLE.search(key):
                yield (*path, key), "invalid_text", f"Its key is invalid. {_BAD_TEXT}"
            yield from _unusable(item, (*path, key))


def _invalid(values: list[_InvalidValue]) -> RequestValidationError:
    return RequestValidationError([{"loc": _location(path), "type": code, "msg": text} for path, code, text in values])


def _location(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    return path if path[:1] == ("query",) else ("body", *path)
