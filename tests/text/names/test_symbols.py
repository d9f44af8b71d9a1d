"""Symbols count in short names, and only there."""

from __future__ import annotations

from uuid import UUID, uuid5

import pytest

from app.text.names import gazetteer
from app.text.names.gazetteer import Gazetteer

HERE = UUID(int=7)
KNOWN = ("C++", "C#", "C", "K&V", ".NET", "net", "AT&T", "I/O", "R", "IT", "24/7")


def found(text: str, *known: str) -> list[str]:
    """The keys of the names in a text."""
    return [match.key for match in Gazetteer.build((name, uuid5(HERE, name)) for name in known or KNOWN).find(text)]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("C++", "c++"),
        ("C#", "c#"),
        ("K & V", "k&v"),
        (".NET", ".net"),
        ("24/7", "24/7"),
        ("€5", "€5"),
        ("C", "c"),
        ("UTF-8", "utf 8"),
        ("A.I.", "a i"),
        ("*IT*", "it"),
        ("Josh.ai", "josh ai"),
        ("C++ guild", "c guild"),
        ("Kestrel & Vane", "kestrel vane"),
    ],
)
def test_the_key_of_a_short_name_has_its_symbols(name: str, key: str) -> None:
    assert gazetteer.key(name) == key
    assert gazetteer.key(key) == key


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("class LruCache<K, V>", []),
        ("K&V, K & V and k&v's", ["k&v", "k&v", "k&v"]),
        ("C++ and C# are not C", ["c++", "c#", "c"]),
        ("(C++11), **C++**/C#.", ["c++", "c++", "c#"]),
        ("C+ and C+++ and a C#section", []),
        ("the net of .NET", ["net", ".net"]),
        ("example.net", ["net"]),
        ("AT&T at t", ["at&t"]),
        ("R, not R&D", ["r"]),
        ("the IT/OT team, i/o", ["it", "i/o"]),
        ("24/7, 24 of 7", ["24/7"]),
    ],
)
def test_a_short_name_is_found_with_its_symbols(text: str, keys: list[str]) -> None:
    assert found(text) == keys
