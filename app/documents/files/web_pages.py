"""Fetches a web page or a file by its address, and returns it as a file to store."""

from __future__ import annotations

import codecs
import re
from urllib.parse import unquote, urlsplit

from app import errors
from app.concurrency import offload
from app.documents.files.file_reading import MAX_NAME, NamedFile
from app.fetching.types import WebPage
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
"""Suffixes by media type, for the formats that only a file's name distinguishes."""
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f/\\]+")
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_AS_BROWSERS = {"ascii": "cp1252", "iso8859-1": "cp1252"}
"""Encodings that browsers replace by another one (https://encoding.spec.whatwg.org/#names-and-labels)."""
_NOT_OF_THE_WEB = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7"})


async def fetch(address: str, services: Services) -> NamedFile:
    """The page at an address, with a name that shows its format, and its address as URI.

    Raises `blocked_url`, `fetch_not_allowed`, `fetch_failed` and `site_unavailable`.
    """
    if services.pages is None:
        raise errors.Forbidden(errors.FETCH_NOT_ALLOWED, field="url", code="fetch_not_allowed")
    uri = services.pages.normalise(address)
    page = await services.pages.fetch(uri, allowed=services.fetch_hosts)
    name = _name(uri, page.media_type)
    return NamedFile(await offload.run(len(page.raw), _decode, page, name), name, uri)


def _name(uri: str, media_type: str) -> str:
    """The last part of an address. If it shows another format than the media type, that type's suffix is added."""
    name = _NOT_IN_NAMES.sub("", unquote(urlsplit(uri).path.rpartition("/")[2])).strip()[-MAX_NAME:] or "index"
    suffix = _SUFFIXES.get(media_type)
    return name if suffix is None or formats.by_suffix(name) == formats.by_suffix(f"a.{suffix}") else f"{name}.{suffix}"


def _decode(page: WebPage, name: str) -> bytes:
    """Recodes a text to UTF-8 with a byte order mark, if it is valid in the encoding that the site declares.

    As in browsers, a byte order mark outweighs the header, and the header outweighs what the page itself declares.
    """
    if page.raw.startswith(_MARKS) or not page.charset:
        return page.raw
    try:
        format = formats.sniff(page.raw, name)
        if format.content != "plain" and format.name != "html":
            return page.raw
        codec = codecs.lookup(page.charset).name
        if codec in _NOT_OF_THE_WEB:
            return page.raw
        return codecs.BOM_UTF8 + page.raw.decode(_AS_BROWSERS.get(codec, codec)).encode()
    except (errors.UnreadableFile, LookupError, ValueError):
        return page.raw
