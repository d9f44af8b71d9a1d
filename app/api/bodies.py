"""How is a request body read, so that no input can break the service?

Python's `json` accepts NaN, turns 1e999 into infinity, keeps halves of surrogate pairs and NUL characters that Postgres
refuses, raises a bare ValueError on a number of 4,301 digits, and RecursionError deep down. Here each is a 422 that
names the field. Of duplicate keys the last one wins (RFC 8259 leaves it open).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable, Iterator

from fastapi import FastAPI, params
from fastapi._compat import ModelField
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import errors
from app.api import problems
from app.pipelines import offload

MAX_BYTES = 10_000_000
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
    """The body is not declared to be JSON."""

    status = 415
    code = "unsupported_media_type"


def install(app: FastAPI, *, max_bytes: int = MAX_BYTES) -> None:
    """Cap every body at `max_bytes` and read JSON strictly on the app's own routes.

    A router that is included later needs `APIRouter(route_class=bodies.StrictRoute)`.
    """
    app.add_middleware(BodyLimit, max_bytes=max_bytes)
    app.router.route_class = StrictRoute


class StrictRoute(APIRoute):
    """A route whose JSON body comes from `parse`, and whose URL holds no NUL character."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle = super().get_route_handler()
        takes_json = self.body_field is not None and not isinstance(self.body_field.field_info, params.Form)

        async def strict(request: Request) -> Response:
            _refuse_nul_in_url(request)
            if takes_json:
                request = StrictRequest(request.scope, request.receive)
                await request.read()
                await request.validate(self.body_field)
            return await handle(request)

        return strict


class StrictRequest(Request):
    """A request whose `json()` was read strictly, before the framework could turn its errors into its own."""

    async def read(self) -> None:
        """Read and parse the body, if there is one. Raises as `parse` does, and UnsupportedMediaType."""
        if self.headers.get("content-length") == "0":
            return
        if (content_type := self.headers.get("content-type")) is not None:
            _require_json(content_type)
        raw = await self.body()
        if raw:
            _require_json(content_type or "")
            self._parsed = await offload.run(len(raw), parse, raw)

    async def validate(self, field: ModelField | None) -> None:
        """Validate a large body in a thread; the framework accepts the resulting model as it is.

        Raises RequestValidationError.
        """
        size = len(await self.body())
        if field is None or size <= offload.INLINE:
            return
        value, found = await offload.run(size, field.validate, self._parsed, {}, loc=("body",))
        if found:
            raise RequestValidationError(found, body=self._parsed)
        self._parsed = value

    async def json(self) -> object:
        return self._parsed


def require(request: Request, *media_types: str) -> None:
    """Raises UnsupportedMediaType unless the body is declared as one of these."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared not in media_types:
        raise UnsupportedMediaType(f"Send the body with the header Content-Type: {media_types[0]}.")


def _require_json(content_type: str) -> None:
    if not _JSON_TYPE.fullmatch(content_type.partition(";")[0].strip()):
        raise UnsupportedMediaType("Send the body as JSON, with the header Content-Type: application/json.")


def _refuse_nul_in_url(request: Request) -> None:
    for name in [name for name, value in request.query_params.multi_items() if "\0" in name + value]:
        raise _invalid([(("query", name), "invalid_text", "Must not hold the NUL character.")])
    if "\0" in request.scope["path"]:
        raise HTTPException(404)


def parse(raw: bytes) -> object:
    """The value of a JSON text.

    Raises InvalidEncoding if it is not UTF-8, and RequestValidationError with one of the codes
    `invalid_json` (at its position), `too_deep` (past 64 levels, seen by a linear scan before any recursion),
    `too_many_parts` (past 100,000 objects and lists, which would take twenty times the memory of their text),
    `invalid_number` (NaN, infinite, or an integer beyond 64 bits), `invalid_text` (NUL or half a surrogate pair).
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidEncoding("The body is not valid UTF-8: encode it as UTF-8.") from None
    _refuse_depth(text)
    reader = _Reader()
    try:
        value = reader.read(text)
    except json.JSONDecodeError as error:
        raise _invalid([((), "invalid_json", _where(error))]) from None
    if reader.refused or _RISKY_ESCAPE.search(text):
        _refuse_unusable(value)
    return value


def _refuse_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = opened = 0
    for found in _STRING_OR_BRACKETS.finditer(text):
        kind = found.group()[0]
        if kind in "[{":
            depth += found.end() - found.start()
            opened += found.end() - found.start()
            if depth > MAX_DEPTH:
                raise _invalid([((), "too_deep", f"The body is nested more than {MAX_DEPTH} levels deep: flatten it.")])
            if opened > MAX_CONTAINERS:
                raise _invalid([((), "too_many_parts", f"Send at most {MAX_CONTAINERS:,} objects and lists at once.")])
        elif kind in "]}":
            depth -= found.end() - found.start()


def _where(error: json.JSONDecodeError) -> str:
    reason = error.msg.partition(":")[0]
    return f"The body is not valid JSON at line {error.lineno}, column {error.colno}: {reason}."


class _Refused:
    """Stands where a number was that cannot be used, until its path is known."""


class _Reader:
    """Reads numbers, and remembers whether one was refused."""

    def __init__(self) -> None:
        self.refused = False

    def read(self, text: str) -> object:
        # Python called for every number takes eight times as long, so only where digits or exponents look too large.
        if not _RISKY_NUMBER.search(text):
            return json.loads(text, parse_constant=self.constant)
        return json.loads(text, parse_constant=self.constant, parse_float=self.decimal, parse_int=self.whole)

    def constant(self, _: str) -> object:
        self.refused = True
        return _Refused()

    def decimal(self, digits: str) -> object:
        return value if math.isfinite(value := float(digits)) else self.constant(digits)

    def whole(self, digits: str) -> object:
        # Longer than any 64-bit integer: `int` would refuse 4,301 digits, and take quadratic time before that.
        if len(digits) > 20:
            return self.constant(digits)
        return value if (value := int(digits)) in _INT64 else self.constant(digits)


def _refuse_unusable(value: object) -> None:
    found = [fault for fault, _ in zip(_unusable(value, ()), range(20), strict=False)]
    if found:
        raise _invalid(found)


_Fault = tuple[tuple[str | int, ...], str, str]
_BAD_TEXT = "Must not hold the NUL character or half of a surrogate pair."
_BAD_NUMBER = "Must be a finite number; whole numbers must fit into 64 bits."


def _unusable(value: object, path: tuple[str | int, ...]) -> Iterator[_Fault]:
    """Every place that holds a refused number or text that Postgres cannot store; the depth is bounded already."""
    if isinstance(value, _Refused):
        yield path, "invalid_number", _BAD_NUMBER
    elif isinstance(value, str) and _UNUSABLE.search(value):
        yield path, "invalid_text", _BAD_TEXT
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unusable(item, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            if _UNUSABLE.search(key):
                yield (*path, key), "invalid_text", f"Its key is unusable. {_BAD_TEXT}"
            yield from _unusable(item, (*path, key))


def _invalid(found: list[_Fault]) -> RequestValidationError:
    return RequestValidationError([{"loc": _located(path), "type": code, "msg": text} for path, code, text in found])


def _located(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    return path if path[:1] == ("query",) else ("body", *path)


class BodyLimit:
    """Refuses a body of more than `max_bytes`: at once if its length is declared, else when it gets there.

    FastAPI's own `max_body_size` answers a declared length in plain text, which no exception handler can change.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif _declared(scope) > self.max_bytes:
            await self._refuse(scope, receive, send)
        else:
            await self._counted(scope, receive, send)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        taken, over, started = 0, False, False

        async def counting() -> Message:
            nonlocal taken, over
            message = await receive()
            taken += len(message.get("body", b""))
            over = taken > self.max_bytes
            if over:
                raise HTTPException(413)
            return message

        async def replacing(message: Message) -> None:
            # Whatever the application made of the exception above, the caller gets the one answer that is true.
            nonlocal started
            if over and not started:
                return
            started = True
            await send(message)

        try:
            await self.app(scope, counting, replacing)
        except Exception:
            if not over or started:
                raise
        if over and not started:
            await self._refuse(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        detail = f"The body is larger than {self.max_bytes:,} bytes: send less, or in several requests."
        await problems.respond(scope, 413, detail)(scope, receive, send)


def _declared(scope: Scope) -> int:
    length = Headers(scope=scope).get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else 0
