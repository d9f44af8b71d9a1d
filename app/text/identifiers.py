"""Finds the pieces of identifiers, paths, addresses and tags in a text."""

from __future__ import annotations

import re

from app.text import lexical, names

_JOINED = re.compile(r"_|[^\W_][./@\\:=][^\W_]|^[#@]\w|^[a-z]+[A-Z]")
"""A token of several words, such as `ERR_STREAM`, `app/main.py`, `#howto` and `getUserName`."""


def pieces(text: str, config: str = "simple") -> str:
    """Returns the words that the text contains only as pieces of such tokens, as they are indexed.

    A token as a whole is no piece: `ERR_STREAM` is indexed as "errstream err stream".
    """
    tokens = text.split()
    joined = dict.fromkeys(token for token in tokens if _JOINED.search(token))
    if not joined:
        return ""
    alone = set(names.words(" ".join(token for token in tokens if token not in joined)))
    found = (word for token in joined for word in _pieces(token, config))
    return " ".join(dict.fromkeys(word for word in found if word not in alone))


def _pieces(token: str, config: str) -> list[str]:
    words = lexical.index_text(token, config).split()
    return words if token.startswith(("#", "@")) else words[1:]
