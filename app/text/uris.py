"""Converts between the URI of a file and its path, so that people can write and read either.

The URI of a file is stored as it was first given: by the command line and sources as RFC 8089 has it, with
percent-encoding. It is shown as a path, and every spelling means the same document.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

_FILE = "file://"


def shown(uri: str) -> str:
    """The path of a file's URI as people write it, with the fragment of a row; another URI as it is."""
    path, mark, fragment = uri.partition("#")
    if not path.startswith(f"{_FILE}/"):
        return uri
    decoded = unquote(path.removeprefix(_FILE), errors="surrogateescape")
    return decoded + mark + fragment if decoded.isprintable() else uri


def spellings(given: str) -> list[str]:
    """The URIs by which a document may be stored that somebody calls `given`, most probable first.

    These are `given` itself, the URI of a file if it is a path or an incompletely encoded URI of one, and the path of
    the URI of a file. A percent sign in a completely encoded URI is no character of the path.
    """
    if given.startswith(f"{_FILE}/"):
        path, mark, fragment = given.removeprefix(_FILE).partition("#")
        encoded = quote(unquote(path))
        found = [given, _FILE + encoded + mark + fragment]
        if path != encoded:
            found.append(_FILE + quote(path) + mark + fragment)
        found.append(shown(given))
    elif given.startswith("/"):
        path, mark, fragment = given.rpartition("#") if "#" in given else (given, "", "")
        found = [given, _FILE + quote(given), _FILE + quote(path) + mark + fragment]
    else:
        found = [given]
    return list(dict.fromkeys(found))
