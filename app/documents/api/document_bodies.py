"""Reads the documents of a request: one as JSON, a list, the address of a page, or the files of a form.

An item of a list or a form that cannot be read is a RefusedItem, and the others are stored.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from app import errors, limits
from app.concurrency import offload
from app.documents.api import uploads
from app.documents.api.document_models import MAX_DOCUMENTS, DocumentInput, PageInput, RefusedItem
from app.documents.api.uploads import Item
from app.documents.types import Upload
from app.http import bodies, problems
from app.requests import strict_json, validation_errors
from app.services import Services
from app.text import json_values

_NOT_WITH_URL = {
    "content": "Send content or url, not both.",
    "uri": "Leave it out: the url is the URI of the page.",
}
_Model = TypeVar("_Model", bound=BaseModel)


@asynccontextmanager
async def opened(request: Request, services: Services) -> AsyncIterator[Upload | PageInput | AsyncIterator[Item]]:
    """The body's one document or page, or the items of its list or form with their indices.

    Files are read while the items are iterated over, one after the other. Raises BadRequest or RequestValidationError
    if the body is no document, list or form, and for an invalid document that is not in a list.
    """
    if uploads.is_multipart(request):
        async with uploads.opened(request, services) as items:
            yield items
        return
    value, size = await _json(request)
    if isinstance(value, list):
        yield _each(await offload.run(size, _items, value))
    elif isinstance(value, dict) and "url" in value:
        yield await offload.run(size, _page, value)
    else:
        yield (await offload.run(size, _validate, value, DocumentInput)).shape()


async def _each(items: list[Upload | RefusedItem]) -> AsyncIterator[Item]:
    for numbered in enumerate(items):
        yield numbered


async def _json(request: Request) -> tuple[object, int]:
    """The body's value, and its size in bytes."""
    strict = bodies.StrictRequest(request, request.receive)
    await strict.read(strict_json.parse_items)
    try:
        return await strict.json(), strict.size
    except AttributeError as error:
        raise RequestValidationError([{"loc": ("body",), "type": "missing", "msg": "empty"}]) from error


def _items(values: list[object]) -> list[Upload | RefusedItem]:
    if not 1 <= len(values) <= MAX_DOCUMENTS:
        raise errors.BadRequest(f"Send 1 to {MAX_DOCUMENTS} documents at once.", field="body")
    return [_item(value) for value in values]


def _item(value: object) -> Upload | RefusedItem:
    try:
        if isinstance(value, RequestValidationError):
            raise value
        if isinstance(value, dict) and "url" in value:
            raise errors.BadRequest("Send each url in a request of its own.", field="url")
        return _validate(value, DocumentInput).shape()
    except errors.BadRequest as error:
        return RefusedItem(error, _uri(value))
    except RequestValidationError as error:
        return RefusedItem(_refusal(error), _uri(error.body))


def _refusal(error: RequestValidationError) -> errors.BadRequest:
    """The first of an item's field errors, with the code that the errors of a whole request would have."""
    fields = validation_errors.read(error.errors(), error.body)
    field = None if fields[0].field == "body" else fields[0].field
    refused = errors.BadRequest(fields[0].message, field=field)
    refused.code = problems.code_of(fields)
    return refused


def _uri(value: object) -> str | None:
    uri = value.get("uri") if isinstance(value, dict) else None
    return uri if isinstance(uri, str) and len(uri) <= limits.MAX_URI and json_values.is_usable(uri) else None


def _page(value: dict[str, object]) -> PageInput:
    for field, message in _NOT_WITH_URL.items():
        if field in value:
            raise errors.BadRequest(message, field=field)
    return _validate(value, PageInput)


def _validate(value: object, model: type[_Model]) -> _Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raised = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**e, "loc": ("body", *e["loc"])} for e in raised], body=value) from error
