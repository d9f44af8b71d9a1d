"""Converts between the URI of a file and its path, so that people can write and read either.

URIs are stored in Unicode NFC. The URI of a file is stored as it was first given: by the command line and sources as
RFC 8089 has it, with percent-encoding. It is shown as a path, and every spelling has the same identity.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from urllib.parse import quote, unquote

_FILE = "file://"


def compose(uri: str) -> str:
    """The URI in NFC, as it is stored; of the URI of a file also the characters that are percent-encoded."""
    composed = unicodedata.normalize("NFC", uri)
    if not composed.startswith(f"{_FILE}/"):
        return composed
    path, mark, fragment = composed.removeprefix(_FILE).partition("#")
    decoded = unquote(path, errors="surrogateescape")
    composed_path = unicodedata.normalize("NFC", decoded)
    if composed_path == decoded:
        return composed
    return _FILE + quote(composed_path, errors="surrogateescape") + mark + fragment


def identity(uri: str) -> bytes:
    """The hash by which a document is found that has this URI in any spelling: that of a file's path, or of the URI.

    A percent sign in a completely encoded URI is no character of the path.
    """
    return hashlib.sha256(json.dumps(["uri", show(compose(uri))]).encode()).digest()


def show(uri: str) -> str:
    """The path of a file's URI as people write it, with the fragment of a row; another URI as it is."""
    path, mark, fragment = uri.partition("#")
    if not path.startswith(f"{_FILE}/"):
        return uri
    decoded = unquote(path.removeprefix(_FILE), errors="surrogateescape")
    return decoded + mark + fragment if decoded.isprintable() else uri


def spellings(given: str) -> list[str]:
    """The URIs by which a document may be stored that somebody calls `given`, most probable first.

    These are `given` itself, the URI of a file if it is a path or an incompletely encoded URI of one, and the path of
    the URI of a file; then the same in NFC.
    """
    forms = dict.fromkeys((given, compose(given)))
    return list(dict.fromkeys(spelling for form in forms for spelling in _encodings(form)))


def _encodings(given: str) -> list[str]:
    if given.startswith(f"{_FILE}/"):
        path, mark, fragment = given.removeprefix(_FILE).partition("#")
        encoded = quote(unquote(path))
        found = [given, _FILE + encoded + mark + fragment]
        if path != encoded:
            found.append(_FILE + quote(path) + mark + fragment)
        return [*found, show(given)]
    if given.startswith("/"):
        path, mark, fragment = given.rpartition("#") if "#" in given else (given, "", "")
        return [given, _FILE + quote(given), _FILE + quote(path) + mark + fragment]
    return [given]
