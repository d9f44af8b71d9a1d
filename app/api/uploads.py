"""Reads the documents of a multipart form.

Files come in the field `files`. A client's file name is a label only: it is never used as a path, and it is not the
document's identity either, since two files of one name need not be one document.
"""

from __future__ import annotations

import re

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from app import errors
from app.pipelines import offload
from app.shapes import Upload
from app.text import cleaning

MAX_FILES = 100
MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
TEXT = (".txt", ".text", ".log", "")
_USAGE = f"Send 1 to {MAX_FILES} files as multipart/form-data in the field `files`, and nothing else."
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")


def is_multipart(request: Request) -> bool:
    """Whether the body is a multipart form."""
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


async def read(request: Request) -> list[Upload | errors.BadRequest]:
    """The form's files as uploads, or why one cannot be read. Raises BadRequest naming `files`."""
    try:
        async with request.form(max_files=MAX_FILES, max_fields=0) as form:
            files = [file for file in form.getlist("files") if isinstance(file, UploadFile)]
            if not files or len(files) != len(form.multi_items()):
                raise errors.BadRequest(_USAGE, field="files")
            return [await _upload(file) for file in files]
    except HTTPException as error:
        # The parser reports a malformed form, or too many files, as 400; a too large body stays 413.
        if error.status_code != 400:
            raise
        raise errors.BadRequest(_USAGE, field="files") from error


async def _upload(file: UploadFile) -> Upload | errors.BadRequest:
    name = label(file.filename or "")
    suffix = "." + name.rpartition(".")[2].lower() if "." in name else ""
    if suffix not in (*MARKDOWN, *TEXT):
        kinds = ", ".join((*MARKDOWN, *TEXT[:-1]))
        return errors.BadRequest(f"Only text and Markdown can be read ({kinds}).", field="files")
    try:
        raw = await file.read()
        decoded = await offload.run(len(raw), cleaning.decode, raw)
    except errors.BadRequest as error:
        return error
    if await offload.run(len(raw), cleaning.is_blank, decoded.text):
        return errors.BadRequest("The file contains no text.", field="files")
    metadata = {"filename": name} if name else {}
    return Upload(decoded.text, title=None, metadata=metadata, markdown=suffix in MARKDOWN)


def label(filename: str) -> str:
    """A file name without folders, control characters or direction marks, at most 200 characters."""
    return _UNSAFE.sub("", filename.replace("\\", "/").rpartition("/")[2]).strip()[-200:]
