"""Converts between the URI of a file and its path, so that people can write and read either.

URIs are stored in Unicode NFC. The URI of a file is stored as it was first given: by the command line and sources as
RFC 8089 has it, with percent-encoding. It is shown as a path, and every spelling means the same document.
"""

from __future__ import annotations

import unicodedata
from typing import Literal
from urllib.parse import quote, unquote

_FILE = "file://"


def compose(uri: str) -> str:
    """The URI in NFC, as it is stored; of the URI of a file also the characters that are percent-encoded."""
    return _in_form("NFC", uri)


def decomposed(uri: str) -> str:
    """The URI in NFD, in which early versions may have stored it."""
    return _in_form("NFD", uri)


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
    the URI of a file; then the same in NFC and in NFD. A percent sign in a completely encoded URI is no character of
    the path.
    """
    forms = dict.fromkeys((given, compose(given), decomposed(given)))
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


def _in_form(form: Literal["NFC", "NFD"], uri: str) -> str:
    """The URI in a Unicode normal form, which the URI of a file has also when it is decoded."""
    normal = unicodedata.normalize(form, uri)
    if not normal.startswith(f"{_FILE}/"):
        return normal
    path, mark, fragment = normal.removeprefix(_FILE).partition("#")
    decoded = unquote(path, errors="surrogateescape")
    normal_path = unicodedata.normalize(form, decoded)
    if normal_path == decoded:
        return normal
    return _FILE + quote(normal_path, errors="surrogateescape") + mark + fragment
