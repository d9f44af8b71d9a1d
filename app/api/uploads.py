"""Reads the documents of a multipart form: files in the field `files`, and text fields that apply to them.

A client's file name is an identifier and never a path on this machine: the uri of a file is its name, or its relative
path if the client sends one, so that an edited file replaces the stored one.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from app import errors
from app.api import strict_json, validation_errors
from app.api.document_models import DocumentForm, RefusedItem
from app.pipelines import offload
from app.shapes import Upload
from app.text import cleaning

MAX_FILES = 100
MAX_FIELDS = 16
MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
TEXT = (".txt", ".text", ".log", "")
_USAGE = f"Send 1 to {MAX_FILES} files as multipart/form-data in the field `files`."
_FIELDS = "Use the form fields files, uri, title, metadata and language."
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")


def is_multipart(request: Request) -> bool:
    """Whether the body is a multipart form."""
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


async def read(request: Request) -> list[Upload | RefusedItem]:
    """The form's files as uploads, or why one cannot be read.

    Raises BadRequest and RequestValidationError naming the field if the form itself is invalid.
    """
    try:
        async with request.form(max_files=MAX_FILES, max_fields=MAX_FIELDS) as form:
            files = _files(form)
            fields = _fields(form, len(files))
            seen: set[str] = set()
            return [await _item(file, fields, seen) for file in files]
    except HTTPException as error:
        # The parser reports a malformed form, or too many files, as 400; a too large body stays 413.
        if error.status_code != 400:
            raise
        raise errors.BadRequest(_USAGE, field="files") from error


def _files(form: FormData) -> list[UploadFile]:
    files = form.getlist("files")
    found = [file for file in files if isinstance(file, UploadFile)]
    if not found or len(found) != len(files):
        raise errors.BadRequest(_USAGE, field="files")
    return found


def _fields(form: FormData, files: int) -> DocumentForm:
    """The form's text fields. Raises BadRequest, RequestValidationError."""
    values: dict[str, object] = {}
    for name, value in form.multi_items():
        if name == "files":
            continue
        field = validation_errors.path_of([name])
        if name not in DocumentForm.model_fields:
            raise errors.BadRequest(f"Unknown form field. {_FIELDS}", field=field)
        if name in values or not isinstance(value, str):
            raise errors.BadRequest("Send this form field once, as text.", field=field)
        values[name] = value
    for name in ("uri", "title"):
        if name in values and files > 1:
            raise errors.BadRequest("Send this form field with one file only.", field=name)
    return _validated(values)


def _validated(values: dict[str, object]) -> DocumentForm:
    strict_json.check(values)
    if isinstance(text := values.get("metadata"), str):
        values["metadata"] = _metadata(text)
    try:
        return DocumentForm.model_validate(values)
    except ValidationError as error:
        raised = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**e, "loc": ("body", *e["loc"])} for e in raised], body=values) from error


def _metadata(text: str) -> object:
    """The value of the field `metadata`. Raises RequestValidationError."""
    try:
        return strict_json.parse(text.encode())
    except RequestValidationError as error:
        located: Sequence[Mapping[str, Any]] = error.errors()
        raise RequestValidationError([{**e, "loc": ("body", "metadata", *e["loc"][1:])} for e in located]) from error


async def _item(file: UploadFile, fields: DocumentForm, seen: set[str]) -> Upload | RefusedItem:
    """A file as an upload, unless it cannot be read or an earlier file has its uri."""
    uri = fields.uri
    try:
        path = relative_path(file.filename or "")
        uri = uri or path
        if uri in seen:
            raise errors.DuplicateUri(
                "An earlier file of this form has this name: send relative paths as file names, or one file a request."
            )
        if uri is not None:
            seen.add(uri)
        return dataclasses.replace(fields.applied_to(await _upload(file, path or "")), uri=uri)
    except errors.BadRequest as error:
        return RefusedItem(error, uri)


async def _upload(file: UploadFile, path: str) -> Upload:
    """The file's text with its name. Raises BadRequest."""
    name = path.rpartition("/")[2][-200:]
    suffix = "." + name.rpartition(".")[2].lower() if "." in name else ""
    if suffix not in (*MARKDOWN, *TEXT):
        kinds = ", ".join((*MARKDOWN, *TEXT[:-1]))
        raise errors.BadRequest(f"Only text and Markdown can be read ({kinds}).")
    raw = await file.read()
    decoded = await offload.run(len(raw), cleaning.decode, raw)
    if await offload.run(len(raw), cleaning.is_blank, decoded.text):
        raise errors.BadRequest("The file contains no text.")
    metadata = {"filename": name} if name else {}
    return Upload(decoded.text, default_title=name, metadata=metadata, markdown=suffix in MARKDOWN)


def relative_path(filename: str) -> str | None:
    """A file name as sent, as a relative path in NFC, without control characters and direction marks.

    Of an absolute path only the name is kept. None if there is no name. Raises BadRequest for a path with `..`.
    """
    sent = unicodedata.normalize("NFC", _UNSAFE.sub("", filename)).replace("\\", "/").strip()
    parts = [part for part in (part.strip() for part in sent.split("/")) if part not in ("", ".")]
    if ".." in parts:
        raise errors.BadRequest("The name of the file must not contain `..`: send its name, or a path inside a folder.")
    return "/".join(parts[-1:] if _ABSOLUTE.match(sent) else parts) or None
