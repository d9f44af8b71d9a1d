"""Reads the documents of a request: one as JSON, a list, the address of a page, or the files of a form.

An item of a list or a form that cannot be read is a RefusedItem; the other items are stored. A client's file name is an
identifier, never a path on this machine. The uri of a file is its name, or its relative path if the client sends one,
so that an edited file replaces the stored one.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from app import errors, limits
from app.concurrency import offload
from app.concurrency.limiter import Limiter, Turn
from app.documents.api.document_models import (
    MAX_DOCUMENTS,
    DocumentForm,
    DocumentInput,
    FileFields,
    PageInput,
    RefusedItem,
)
from app.documents.files import file_reading
from app.documents.files.file_reading import FileReader, NamedFile, ParseShare, UnreadMember
from app.documents.types import Upload
from app.http import bodies, problems, spooling
from app.requests import strict_json, validation_errors
from app.services import Services
from app.text import unstorable_json, uris
from app.text.words import cleaning

_NOT_WITH_URL = {"content": "Send content or url, not both.", "uri": "Leave it out: the url is the URI of the page."}
Item = tuple[int, Upload | RefusedItem]
"""The index of a file, or the place in a list, and its document or the reason why it cannot be read."""
MAX_FILES = 100
MAX_FIELDS = MAX_FILES + 16
FORM = "multipart/form-data"
SCHEMA: dict[str, Any] = {
    "schema": {
        "title": "DocumentsForm",
        "type": "object",
        "required": ["files"],
        "properties": {
            "files": {
                "type": "array",
                "items": {"type": "string", "format": "binary"},
                "description": f"1 to {MAX_FILES} files: {file_reading.SUPPORTED}. "
                "The URI of a file is its name, or its relative path.",
            },
            **DocumentForm.form_schemas(),
        },
    }
}
"""The form in the OpenAPI document."""
_USAGE = f"Send 1 to {MAX_FILES} files as multipart/form-data in the field `files`."
_FIELDS = "Use the form fields files, uri, title, metadata, language and text_field."
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")
PARSED_AT_ONCE, PARSED_OF_USER = 4, 2
"""Most files that a process of the service parses at once, in all and per user; each has its own parser process."""
WAITING, WAIT_S = 256, 300.0
"""Files that wait to be parsed, and how many seconds each waits at most."""


def install(app: FastAPI, _settings: object) -> None:
    """Creates the limit on the files that an application parses at once."""
    app.state.parse_places = Limiter(PARSED_AT_ONCE, of_user=PARSED_OF_USER, max_waiting=WAITING, timeout_s=WAIT_S)


@asynccontextmanager
async def opened(request: Request, services: Services) -> AsyncIterator[Upload | PageInput | AsyncIterator[Item]]:
    """The single document or page of a body, or the items of its list or form with their indices.

    Files are read one after the other, during the iteration. Raises BadRequest or RequestValidationError if the body is
    not a document, list or form, and for an invalid document that is not in a list.
    """
    if is_multipart(request):
        async with open_form(request, services) as items:
            yield items
        return
    strict = bodies.StrictRequest(request, request.receive)
    await strict.read(strict_json.parse_items)
    try:
        value = await strict.json()
    except AttributeError as error:
        raise RequestValidationError([{"loc": ("body",), "type": "missing", "msg": "empty"}]) from error
    if isinstance(value, list):
        if not 1 <= len(value) <= MAX_DOCUMENTS:
            raise errors.BadRequest(f"Send 1 to {MAX_DOCUMENTS} documents at once.", field="body")
        yield each(await offload.run(strict.size, lambda: [(place, _item(one)) for place, one in enumerate(value)]))
    elif isinstance(value, dict) and "url" in value:
        for field, message in _NOT_WITH_URL.items():
            if field in value:
                raise errors.BadRequest(message, field=field)
        yield await offload.run(strict.size, strict_json.validate, value, PageInput)
    else:
        yield (await offload.run(strict.size, strict_json.validate, value, DocumentInput)).shape()


async def each(items: Sequence[Item]) -> AsyncIterator[Item]:
    """Iterates over known items as if they were read one after the other."""
    for item in items:
        yield item


def _item(value: object) -> Upload | RefusedItem:
    try:
        if isinstance(value, RequestValidationError):
            raise value
        if isinstance(value, dict) and "url" in value:
            raise errors.BadRequest("Send each url in a request of its own.", field="url")
        return strict_json.validate(value, DocumentInput).shape()
    except errors.BadRequest as error:
        return RefusedItem(error, _uri(value))
    except RequestValidationError as error:
        # The first of its field errors, with the code that the errors of a whole request would have.
        fields = validation_errors.read(error.errors(), error.body)
        field = None if fields[0].field == "body" else fields[0].field
        refused = errors.BadRequest(fields[0].message, field=field)
        refused.code = problems.code_of(fields)
        return RefusedItem(refused, _uri(error.body))


def _uri(value: object) -> str | None:
    uri = value.get("uri") if isinstance(value, dict) else None
    return uri if isinstance(uri, str) and len(uri) <= limits.MAX_URI and unstorable_json.is_usable(uri) else None


def is_multipart(request: Request) -> bool:
    """Whether the body is a multipart form."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == FORM


@dataclasses.dataclass(frozen=True, slots=True)
class _Form:
    """A form: its text fields, the reader of its files, and the uris of the files read so far.

    `turn` is the request's place among the uploads. It is given back while a file is read.
    """

    fields: DocumentForm
    reader: FileReader
    turn: Turn
    seen: set[str] = dataclasses.field(default_factory=set)


class _FormParser(MultiPartParser):
    """Parses a form. Starlette's parser drops the last part of one that is cut off, because it does not ask for an end.

    `parse` raises MultiPartException for a malformed form, and BadRequest for one that is cut off.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request.headers, self._whole(request.stream()), max_files=MAX_FILES, max_fields=MAX_FIELDS)
        self._has_ended = False

    def on_end(self) -> None:
        """The last boundary was read."""
        self._has_ended = True

    async def _whole(self, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        async with aclosing(stream):
            async for part in stream:
                yield part
        if not self._has_ended:  # raised here, it lets the parser close its files
            raise errors.BadRequest("The form ends before its last boundary: send it again, whole.", field="files")


@asynccontextmanager
async def open_form(request: Request, services: Services) -> AsyncIterator[AsyncIterator[Item]]:
    """The documents of the form's files. The files are on disk and are read one after the other.

    Raises BadRequest and RequestValidationError with the field if the form itself is invalid, and DiskFull.
    """
    async with AsyncExitStack() as stack:
        try:
            with spooling.disk_errors():
                form = await _FormParser(request).parse()
                stack.push_async_callback(form.close)  # deletes its files
        except MultiPartException as error:
            raise errors.BadRequest(_USAGE, field="files") from error
        sent = form.getlist("files")
        files = [file for file in sent if isinstance(file, UploadFile)]
        if not files or len(files) != len(sent):
            raise errors.BadRequest(_USAGE, field="files")
        fields = _fields(form, len(files))
        reader = await stack.enter_async_context(open_reader(request, services))
        yield _documents(files, _Form(fields, reader, request.state.upload_turn))


@asynccontextmanager
async def open_reader(request: Request, services: Services) -> AsyncIterator[FileReader]:
    """A reader of the request's files."""
    user_id, limits = request.state.caller.user_id, services.parse_limits
    share = ParseShare(limits.request_s, partial(request.app.state.parse_places.turn, user_id))
    async with file_reading.opened(limits, share, file_reading.recogniser(user_id, services)) as reader:
        yield reader


async def _documents(files: Sequence[UploadFile], form: _Form) -> AsyncIterator[Item]:
    named: Sequence[str | None] = form.fields.uri or [None] * len(files)
    for index, (file, uri) in enumerate(zip(files, named, strict=True)):
        for item in await _read_file(file, uri, form):
            yield index, item


def _fields(form: FormData, files: int) -> DocumentForm:
    """The form's text fields. Raises BadRequest, RequestValidationError."""
    values: dict[str, object] = {}
    named: list[object] = []
    for name, value in form.multi_items():
        if name == "files":
            continue
        field = unstorable_json.path_of([name])
        if name not in DocumentForm.model_fields:
            raise errors.BadRequest(f"Unknown form field. {_FIELDS}", field=field)
        if name in values or not isinstance(value, str):
            raise errors.BadRequest("Send this form field once, as text.", field=field)
        if name == "uri":
            named.append(value)
        else:
            values[name] = value
    if "title" in values and files > 1:
        raise errors.BadRequest("Send this form field with one file only.", field="title")
    if named:
        if len(named) != files:
            raise errors.BadRequest("Send this form field once for each file.", field="uri")
        values["uri"] = named
    strict_json.check(values)
    if isinstance(text := values.get("metadata"), str):
        values["metadata"] = _metadata(text)
    return strict_json.validate(values, DocumentForm)


def _metadata(text: str) -> object:
    """The value of the field `metadata`. Raises RequestValidationError."""
    try:
        return strict_json.parse(text.encode())
    except RequestValidationError as error:
        located: Sequence[Mapping[str, Any]] = error.errors()
        raise RequestValidationError([{**e, "loc": ("body", "metadata", *e["loc"][1:])} for e in located]) from error


async def _read_file(file: UploadFile, uri: str | None, form: _Form) -> list[Upload | RefusedItem]:
    """The documents of a file, or a RefusedItem if it cannot be read or an earlier file has its uri."""
    try:
        path = relative_path(file.filename or "")
        uri = uri or path
        if uri is not None and uris.compose(uri) in form.seen:
            raise errors.BadRequest(
                "An earlier file of this form has this name: send relative paths as file names, or the field `uri`.",
                code="duplicate_uri",
            )
        if uri is not None:
            form.seen.add(uris.compose(uri))
        name, fields = (path or "").rpartition("/")[2][-200:], form.fields
        titled = not cleaning.is_blank(fields.title or "")
        named = NamedFile(await file.read(), name, uri=uri, text_field=fields.text_field, titled=titled)
        async with form.turn.released():
            found = await read(named, form.reader)
        return apply(found, fields)
    except errors.BadRequest as error:
        return [RefusedItem(error, uri)]


async def read(file: NamedFile, reader: FileReader) -> list[Upload | UnreadMember]:
    """The documents of a file, and the files of an archive that cannot be read. Raises BadRequest."""
    found: list[Upload | UnreadMember] = []
    async with aclosing(reader.uploads(file)) as uploads:
        async for upload in uploads:
            found.append(upload)
            if len(found) > reader.most_documents:
                raise errors.BadRequest(
                    f"The file holds more than {reader.most_documents:,} documents: split it, or use `stepwell ingest` "
                    "beside the database."
                )
    return found


def apply(found: Sequence[Upload | UnreadMember], fields: FileFields) -> list[Upload | RefusedItem]:
    """Applies the fields of the request to the documents of a file. Files that cannot be read become RefusedItems."""
    return [
        fields.apply_to(one) if isinstance(one, Upload) else RefusedItem(one.error, one.uri, one.left_out)
        for one in found
    ]


def relative_path(filename: str) -> str | None:
    """Converts a sent file name to a relative path in NFC, without control characters and direction marks.

    An absolute path is reduced to its name. None if there is no name. Raises BadRequest for a path with `..`.
    """
    sent = unicodedata.normalize("NFC", _UNSAFE.sub("", filename)).replace("\\", "/").strip()
    parts = [part for part in (part.strip() for part in sent.split("/")) if part not in ("", ".")]
    if ".." in parts:
        raise errors.BadRequest("The name of the file must not contain `..`: send its name, or a path inside a folder.")
    return "/".join(parts[-1:] if _ABSOLUTE.match(sent) else parts) or None
