"""Converts between the URI of a file and its path, so that people can write and read either.

URIs are stored in Unicode NFC. The URI of a file is stored as first given. The command line and sources give it in the
form of RFC 8089, with percent-encoding. It is shown as a path. All spellings have the same identity.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from urllib.parse import quote, unquote

_FILE = "file://"


def compose(uri: str) -> str:
    """Converts a URI to NFC for storing. In the URI of a file, percent-encoded characters are converted too."""
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
    """The hash that finds the document with this URI in any spelling: the hash of a file's path, or of the URI.

    A percent sign in a completely encoded URI is not a character of the path.
    """
    return hashlib.sha256(json.dumps(["uri", show(compose(uri))]).encode()).digest()


def show(uri: str) -> str:
    """Returns a file's URI as people write its path, with the fragment. Other or unprintable URIs are unchanged."""
    path, mark, fragment = uri.partition("#")
    if not path.startswith(f"{_FILE}/"):
        return uri
    decoded = unquote(path.removeprefix(_FILE), errors="surrogateescape")
    return decoded + mark + fragment if decoded.isprintable() else uri


def spellings(given: str) -> list[str]:
    """The URIs under which a document called `given` may be stored, most probable first.

    These are `given` itself, its file URI if it is a path or an incompletely encoded file URI, and its path if it is a
    file URI; then the same in NFC.
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
