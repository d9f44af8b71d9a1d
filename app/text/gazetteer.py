"""Finds the known names of a user in a text.

One pass from left to right, however many names there are: at each word the longest name wins and hides the shorter ones
inside it. Words are compared as `names.words` folds them, so case, accents and punctuation never matter ("Josh.ai" is
"Josh AI"); of a name of several words the joined form counts too ("cliffclarke"), of a joined one its parts
("CliffClarke" is "Cliff Clarke"). A name that only function words or
one letter make ("IT", "X") stands only where the text writes it in the same case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Self
from uuid import UUID

from app.text import names

MIN_JOINED_LENGTH = 8
"""Letters of the shortest joined form that is looked for; shorter ones are words of their own too often."""
MAX_KEY_BYTES = 1_000
"""Bytes of the longest key: an index of Postgres takes 2,700."""

_MIXED = re.compile(r"(?:[^\W\d_a-z][^\W\d_A-Z]+(?:-[^\W\d_]+)*){2,}")
_HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[^\W\d_a-z])")

Entry = tuple[str, UUID]


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name in a text: whose it may be, its key, and its place counted in words as `names.words` cuts them; `others`
    are keys of joined names that its words stand for too."""

    entity_ids: tuple[UUID, ...]
    key: str
    start: int
    end: int
    others: tuple[str, ...] = ()


def key(name: str) -> str | None:
    """The key by which a name is matched; None where it holds no letter or digit, or its key is over LONGEST_KEY."""
    found = " ".join(names.words(name))
    return found if found and len(found.encode("utf-8", "surrogatepass")) <= MAX_KEY_BYTES else None


class Gazetteer:
    """Names of entities, ready to be found. Never changed: `patched` makes another."""

    def __init__(
        self,
        ids: dict[str, tuple[UUID, ...]],
        entries: dict[str, tuple[Entry, ...]],
        joined: dict[str, frozenset[str]],
        apart: dict[str, frozenset[str]],
    ) -> None:
        self._ids = ids
        self._entries = entries
        self._joined = joined
        self._apart = apart

    @classmethod
    def build(cls, entries: Iterable[Entry]) -> Self:
        """A gazetteer of (name or alias, entity); a name without a key is left out. Runs for a second at 200,000."""
        by_key: dict[str, list[Entry]] = {}
        for entry in entries:
            if (folded := key(entry[0])) is not None:
                by_key.setdefault(folded, []).append(entry)
        made = cls({}, {}, {}, {})
        made._add(by_key)
        return made

    def patched(self, changed: Mapping[str, Sequence[Entry]]) -> Self:
        """The same with other entries for some keys; an empty list removes the name."""
        made = type(self)(dict(self._ids), dict(self._entries), dict(self._joined), dict(self._apart))
        made._add(changed)
        return made

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, folded: str) -> bool:
        return folded in self._entries

    def keys(self) -> Iterable[str]:
        """The key of every name."""
        return self._entries.keys()

    def split_forms(self) -> Mapping[str, frozenset[str]]:
        """The keys of joined names by their parts with a space between them."""
        return self._apart

    def entries(self, folded: str) -> tuple[Entry, ...]:
        """The names with this key, as they are written, and whose they are."""
        return self._entries.get(folded, ())

    def named(self, name: str) -> tuple[UUID, ...]:
        """The entities that a whole name names, by the rules of `find`."""
        folded = key(name)
        return () if folded is None else self._meant(folded, partial(_written, name))

    def find(self, text: str) -> list[NameMatch]:
        """The names in a text, from left to right; none overlaps another."""
        told = names.words(text)
        starts = [place for place, word in enumerate(told) if word in self._ids or word in self._joined]
        return list(self._find(_TextWords(text, told), starts)) if starts else []

    def _find(self, read: _TextWords, starts: Sequence[int]) -> Iterator[NameMatch]:
        free = 0
        for start in starts:
            if start < free:
                continue
            for end, keys in self._candidates(read.words, start):
                meant = [self._meant(folded, partial(read.written, start, end)) for folded in keys]
                if any(meant):
                    yield NameMatch(tuple(dict.fromkeys(chain(*meant))), keys[0], start, end, tuple(keys[1:]))
                    free = end
                    break

    def _candidates(self, told: Sequence[str], start: int) -> list[tuple[int, list[str]]]:
        """The word behind each name that may begin at a word, and their keys; the longest first."""
        folded, end = told[start], start + 1
        found: list[tuple[int, list[str]]] = []
        joined = sorted(self._joined.get(folded, ()))
        if joined and folded not in self._entries:
            found.append((end, joined))
        while folded in self._ids:
            apart = sorted(self._apart.get(folded, ()))
            if folded in self._entries:
                found.append((end, [folded, *joined] if end == start + 1 else [folded, *apart]))
            elif apart:
                found.append((end, apart))
            if end == len(told):
                break
            folded, end = f"{folded} {told[end]}", end + 1
        return found[::-1]

    def _meant(self, folded: str, written: Callable[[], str]) -> tuple[UUID, ...]:
        ids = self._ids.get(folded, ())
        if ids or folded not in self._entries:
            return ids
        exact = written()
        return tuple(dict.fromkeys(entity for name, entity in self._entries[folded] if _written(name) == exact))

    def _add(self, changed: Mapping[str, Sequence[Entry]]) -> None:
        for folded, entries in changed.items():
            told = folded.split(" ")
            if not entries:
                self._entries.pop(folded, None)
                if folded in self._ids:
                    self._ids[folded] = ()
                continue
            self._entries[folded] = tuple(entries)
            telling = names.is_distinctive(told)
            self._ids[folded] = tuple(dict.fromkeys(entity for _name, entity in entries)) if telling else ()
            self._begin(told)
            for name, _entity in entries:
                if (parts := _parts(name)) is not None:
                    self._begin(parts)
                    self._ids.setdefault(" ".join(parts), ())
                    self._apart[" ".join(parts)] = self._apart.get(" ".join(parts), frozenset()) | {folded}
            joined = "".join(told)
            if telling and len(told) > 1 and MIN_JOINED_LENGTH <= len(joined) <= names.MAX_WORD_LENGTH:
                self._joined[joined] = self._joined.get(joined, frozenset()) | {folded}

    def _begin(self, told: Sequence[str]) -> None:
        """Know the words with which a name of several begins."""
        for end in range(1, len(told)):
            self._ids.setdefault(" ".join(told[:end]), ())


class _TextWords:
    """A text with its words, folded and, when they are asked for, as they are written."""

    def __init__(self, text: str, words: list[str]) -> None:
        self.words = words
        self._text = text
        self._places: list[tuple[int, int]] | None = None

    def written(self, start: int, end: int) -> str:
        """Some of the words with a space between them."""
        if self._places is None:
            self._places = names.word_offsets(self._text)
        return " ".join(self._text[first:last] for first, last in self._places[start:end])


def _parts(name: str) -> list[str] | None:
    """The words of a joined name, folded: two or more in mixed case, each of two letters or more ("LiHua")."""
    if not _MIXED.fullmatch(name):
        return None
    return names.words(_HUMP.sub(" ", name))


def _written(name: str) -> str:
    """A name's words with a space between them, in the case in which they are written."""
    return " ".join(name[start:end] for start, end in names.word_offsets(name))
