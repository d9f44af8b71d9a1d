"""Fetches a page or file by its address as a file to store, unless the stored document is still its version.

A conditional request is sent if the document is as the last fetch with the same options, by the same version of this
program, has stored it: then a page that the site calls unchanged would be stored as what is there already.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any
from urllib.parse import unquote, urlsplit

from app import errors
from app.concurrency import offload
from app.documents.files.file_reading import MAX_NAME
from app.documents.storing import document_drafts
from app.documents.types import IngestResult
from app.documents.web import store as fetched_pages
from app.documents.web.store import DocumentOfPage
from app.fetching.pages import AllowedHosts, Validators, WebPage
from app.parsing import formats
from app.services import Services

_SUFFIXES = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "md",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/jsonl": "jsonl",
    "application/x-ndjson": "jsonl",
    "application/x-ipynb+json": "ipynb",
    "message/rfc822": "eml",
    "text/vtt": "vtt",
}
"""Suffixes of the formats that only a name distinguishes, by media type."""
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f/\\]+")
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_AS_BROWSERS = {"ascii": "cp1252", "iso8859-1": "cp1252"}
"""Encodings that stand for another one on the web (https://encoding.spec.whatwg.org/#names-and-labels)."""
_NOT_OF_THE_WEB = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7"})


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page as a file: its content, a name that shows its format, and its URI, which is its address.

    `note` is what is kept with its document.
    """

    raw: bytes
    name: str
    uri: str
    note: Mapping[str, Any]


async def fetch(
    address: str, options: Mapping[str, Any], user_id: str, services: Services, *, allowed: AllowedHosts
) -> FetchedPage | IngestResult:
    """The page at an address; or that its document is stored already, as the site says.

    `options` are the other fields of the request. Raises `blocked_url`, `fetch_not_allowed`, `fetch_failed` and
    `site_unavailable`.
    """
    if services.pages is None:
        raise errors.Forbidden(errors.FETCH_NOT_ALLOWED, field="url", code="fetch_not_allowed")
    uri = services.pages.normalised(address)
    request = _digest(options)
    async with services.db.reading(user_id) as reading:
        stored = await fetched_pages.find(reading, identity=document_drafts.uri_identity(uri))
    known = None if stored is None else _known(stored, request)
    page = await services.pages.fetch(uri, allowed=allowed, known=known)
    if page is not None:
        name = _name(uri, page.media_type)
        raw = await offload.run(len(page.raw), _decode, page, name)
        return FetchedPage(raw, name, uri, {**asdict(page.validators), "request": request})
    assert stored is not None
    return IngestResult(stored.document_id, "unchanged", uri, stored.title, stored.chunk_count, embedded=0)


async def note(page: FetchedPage, stored: IngestResult, user_id: str, services: Services) -> None:
    """Keep what the site said about a page with its document, for the next request.

    A file of several documents, such as a table, is fetched whole each time: none of them has its address as its URI.
    """
    if stored.uri != page.uri or stored.job_id is not None:
        return
    async with services.db.writing(user_id, checked=True) as writing:
        await fetched_pages.note(writing, stored.document_id, {**page.note, "version": stored.version.hex()})


def _known(stored: DocumentOfPage, request: str) -> Validators | None:
    fetched = stored.fetched
    if (fetched.get("version"), fetched.get("request")) != (stored.version.hex(), request):
        return None
    return Validators(fetched["address"], fetched["etag"], fetched["last_modified"])


def _digest(options: Mapping[str, Any]) -> str:
    described = json.dumps([metadata.version("stepwell"), options], sort_keys=True, default=str)
    return hashlib.sha256(described.encode()).hexdigest()


def _name(uri: str, media_type: str) -> str:
    """The last part of an address, with the suffix of its media type if the name shows another format."""
    name = _NOT_IN_NAMES.sub("", unquote(urlsplit(uri).path.rpartition("/")[2])).strip()[-MAX_NAME:] or "index"
    suffix = _SUFFIXES.get(media_type)
    return name if suffix is None or formats.by_suffix(name) == formats.by_suffix(f"a.{suffix}") else f"{name}.{suffix}"


def _decode(page: WebPage, name: str) -> bytes:
    """A text in UTF-8 with a byte order mark if the site names an encoding in which it is valid.

    A mark at its beginning outweighs the header, and the header what a page declares of itself, as in browsers.
    """
    if page.raw.startswith(_MARKS) or not page.charset or not _is_text(page.raw, name):
        return page.raw
    try:
        codec = codecs.lookup(page.charset).name
        if codec in _NOT_OF_THE_WEB:
            return page.raw
        return codecs.BOM_UTF8 + page.raw.decode(_AS_BROWSERS.get(codec, codec)).encode()
    except (LookupError, ValueError):
        return page.raw


def _is_text(raw: bytes, name: str) -> bool:
    try:
        format = formats.sniff(raw, name)
    except errors.UnreadableFile:
        return False
    return format.content == "plain" or format.name == "html"
