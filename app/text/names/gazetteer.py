"""Finds the known names of a user in a text.

It takes one pass from left to right, whatever the number of names. Of the names that begin at a word, the longest
matches. Matches do not overlap. Words are compared in the form of `names.words`, so case, accents and punctuation are
ignored ("Josh.ai" equals "Josh AI"). A name of several words also matches its joined form ("cliffclarke"), and a name
in mixed case its parts ("CliffClarke" equals "Cliff Clarke"). A name of only function words or single letters ("IT",
"X") matches only in its stored case, and a short name with symbols ("C++", "K&V") only with these symbols. In scripts
without spaces a name matches inside a run of characters, the longest first. In Katakana it must be the whole word. In
Korean it must begin a word, and only a particle may follow.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Self
from uuid import UUID

from app.text.names import names
from app.text.words import characters

MIN_JOINED_LENGTH = 8
"""Least number of letters in a joined form that matches. Shorter joined forms are often ordinary words."""
MAX_KEY_BYTES = 1_000
"""Largest number of bytes in a key. An entry of a B-tree index of Postgres has up to 2,700."""

MAX_LETTERS, MAX_LENGTH = 4, 12
"""Most letters and digits, and most characters, of a name whose symbols count. In others they are punctuation."""
_SYMBOLS = frozenset("&#@%*/\\")
_EMPHASIS = "*"
"""A symbol only inside a name. Around a name it is a mark of Markdown."""
_PLUS = frozenset("&+#")
_HUMPS = re.compile(r"[^\W\d_a-z][^\W\d_A-Z]++(?:[A-Z][^\W\d_A-Z]++)*+")
_LETTERS = re.compile(r"[^\W\d_]+")
_UP_TO_LAST_CAPITAL = re.compile(r".*[A-Z]")
_UNCASED = re.compile(r"[^\W\d_A-Za-z]")
_RUN = re.compile(rf"[{characters.UNSPACED}]{{2,}}")
_SIGN = re.compile(f"[{characters.SIGN}]")
_INSIDE = re.compile(r"[\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff]{2}|[\uac00-\ud7a3]{2}")
"""Two characters of Katakana, or two syllables of Korean, that are next to each other: a name ends at no such place."""
_PARTICLE = re.compile(
    "(?=[가-힣])(?:씨|님|군|양|측)?(?:은|는|이|가|을|를|의|에|에서|에게|에게서|에는|에도|께|께서|와|과|랑|이랑|하고|도|만|로|으로|로서|으로서|로써"
    "|부터|까지|처럼|보다|나|이나|라는|이라는|라고|이라고|란|이란|인|이며|이고|이다|입니다|뿐|마다|조차|마저|한테|한테서)?(?![가-힣])"
)
"""What follows a Korean name in the same word."""

Entry = tuple[str, UUID]


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A match: the entities with the name, its key, and its position in words as `names.words` splits them.

    `others` are the keys of further names that the same words match, such as joined ones.
    """

    entity_ids: tuple[UUID, ...]
    key: str
    start: int
    end: int
    others: tuple[str, ...] = ()


def key(name: str) -> str | None:
    """Returns the key by which a name is matched, or None without a letter or digit or above MAX_KEY_BYTES.

    It consists of the words of the name and, if the name is short, of its symbols.
    """
    found = _key_with_symbols(name) or " ".join(names.words(name))
    return found if found and len(found.encode("utf-8", "surrogatepass")) <= MAX_KEY_BYTES else None


def forms(key: str, name: str) -> list[list[str]]:
    """Returns the word sequences that match a name, given with its key: its words, the joined words, and its parts.

    Only a name in mixed case has parts.
    """
    words = names.words(key)
    found = [words]
    if _key_with_symbols(key) is not None:
        return found
    if joined := _join(words):
        found.append([joined])
    if parts := _parts(name):
        found.append(parts)
    return found


@dataclass(eq=False, slots=True)
class UnspacedWords:
    """The words of names in scripts without spaces, each of two characters or more and with the keys of its names."""

    keys: dict[str, frozenset[str]] = field(default_factory=dict)
    _longest: dict[str, int] = field(default_factory=dict)
    """The length of the longest word by its first two characters."""

    def copy(self) -> Self:
        return type(self)(dict(self.keys), dict(self._longest))

    def replace(self, key: str, before: Iterable[str], after: Iterable[str]) -> None:
        """Replaces the names with a key."""
        for word in _unspaced_words(before):
            self.keys[word] -= {key}
        for word in _unspaced_words(after):
            self.keys[word] = self.keys.get(word, frozenset()) | {key}
            self._longest[word[:2]] = max(len(word), self._longest.get(word[:2], 0))

    def separate(self, text: str) -> str:
        """Returns a text with spaces around the words, the longest at each position, without overlaps."""
        return text if text.isascii() or not self.keys else _RUN.sub(self._separate, text)

    def within(self, text: str) -> set[str]:
        """Returns all words in a text, including overlapping words and parts of other words."""
        if text.isascii() or not self.keys:
            return set()
        runs = [_normalise(run) for run in _RUN.findall(text)]
        return {word for run in runs for start in range(len(run)) for word in self._at(run, start)}

    def _separate(self, match: re.Match[str]) -> str:
        run = _normalise(match[0])
        pieces, free, start = [], 0, 0
        while start < len(run) - 1:
            word = next((one for one in self._at(run, start) if _stands_alone(run, start, start + len(one))), "")
            if word:
                pieces += [run[free:start], word]
                free = start + len(word)
            start += len(word) or 1
        return " ".join(filter(None, (*pieces, run[free:])))

    def _at(self, run: str, start: int) -> Iterator[str]:
        """Yields the words that begin at a position, longest first."""
        longest = self._longest.get(run[start : start + 2], 0)
        for end in range(min(start + longest, len(run)), start + 1, -1):
            if self.keys.get(run[start:end]):
                yield run[start:end]


@dataclass(eq=False, slots=True)
class Gazetteer:
    """An immutable index of the names of entities; `patched` returns a changed copy.

    `removed` counts the names removed by patches. Their words stay in the copies.
    """

    _ids: dict[str, tuple[UUID, ...]] = field(default_factory=dict)
    _entries: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    _joined: dict[str, frozenset[str]] = field(default_factory=dict)
    _split_forms: dict[str, frozenset[str]] = field(default_factory=dict)
    _with_symbols: dict[str, frozenset[str]] = field(default_factory=dict)
    _unspaced: UnspacedWords = field(default_factory=UnspacedWords)
    removed: int = 0

    @classmethod
    def build(cls, entries: Iterable[Entry]) -> Self:
        """Builds a gazetteer of (name or alias, entity id); names without a key are skipped. Takes 2 s for 200,000."""
        by_key: dict[str, list[Entry]] = {}
        for entry in entries:
            if (folded := key(entry[0])) is not None:
                by_key.setdefault(folded, []).append(entry)
        made = cls()
        made._add(by_key)
        return made

    def patched(self, changed: Mapping[str, Sequence[Entry]]) -> Self:
        """Returns a copy with other entries for some keys; an empty list removes the name."""
        joined, split_forms, with_symbols = dict(self._joined), dict(self._split_forms), dict(self._with_symbols)
        unspaced, removed = self._unspaced.copy(), self.removed + sum(not entries for entries in changed.values())
        made = type(self)(dict(self._ids), dict(self._entries), joined, split_forms, with_symbols, unspaced, removed)
        made._add(changed)
        return made

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, folded: str) -> bool:
        return folded in self._entries

    def keys(self) -> Iterable[str]:
        """Returns the key of every name."""
        return self._entries.keys()

    def split_forms(self) -> Mapping[str, frozenset[str]]:
        """Returns the keys of names in mixed case by their parts, separated by spaces."""
        return self._split_forms

    def entries(self, folded: str) -> tuple[Entry, ...]:
        """Returns the names with this key, as stored, with their entity ids."""
        return self._entries.get(folded, ())

    def match_whole(self, name: str) -> tuple[UUID, ...]:
        """Returns the ids of the entities with the key of `name`. Unlike `find`, it ignores joined and split forms."""
        folded = key(name)
        return () if folded is None else self._matching_ids(folded, partial(_write, name))

    def space_out(self, text: str) -> str:
        """Returns a text with spaces around the words of names in scripts without spaces."""
        return self._unspaced.separate(text)

    def find(self, text: str) -> list[NameMatch]:
        """Returns the names in a text, from left to right, without overlaps. Their positions are in the spaced text."""
        text = self.space_out(text)
        words = names.words(text)
        source = _TextWords(text, words)
        found: list[NameMatch] = []
        free = 0
        for start, word in enumerate(words):
            if start < free or not (word in self._ids or word in self._joined):
                continue
            for end, keys in self._candidates(source, start):
                written = partial(source.written, start, end)
                ids = {folded: matching for folded in keys if (matching := self._matching_ids(folded, written))}
                if ids:
                    first, *others = ids
                    entities = dict.fromkeys(chain(*ids.values()))
                    found.append(NameMatch(tuple(entities), first, start, end, tuple(others)))
                    free = end
                    break
        return found

    def find_all(self, text: str) -> set[str]:
        """Returns the keys of all names that may be in a text, including names that overlap or are part of others."""
        source = _TextWords(text, names.words(text))
        found = (self._candidates(source, start) for start in range(len(source.words)))
        keys = {folded for candidates in found for _end, keys in candidates for folded in keys}
        return keys | {folded for word in self._unspaced.within(text) for folded in self._unspaced.keys[word]}

    def _candidates(self, source: _TextWords, start: int) -> list[tuple[int, list[str]]]:
        """Returns the end (exclusive) and the keys of each name that may begin at a word, longest first.

        Of names with the same words, the name whose symbols are in the text comes first.
        """
        words = source.words
        folded, end = words[start], start + 1
        found: list[tuple[int, list[str]]] = []
        joined = sorted(self._joined.get(folded, ()))
        if joined and folded not in self._entries:
            found.append((end, joined))
        while folded in self._ids:
            split_forms = sorted(self._split_forms.get(folded, ()))
            if folded in self._entries:
                found.append((end, [folded, *joined] if end == start + 1 else [folded, *split_forms]))
            elif split_forms:
                found.append((end, split_forms))
            if with_symbols := [one for one in self._with_symbols.get(folded, ()) if source.has(one, start, end)]:
                found.append((end, sorted(with_symbols)))
            if end == len(words):
                break
            folded, end = f"{folded} {words[end]}", end + 1
        return found[::-1]

    def _matching_ids(self, folded: str, written: Callable[[], str | None]) -> tuple[UUID, ...]:
        ids = self._ids.get(folded, ())
        if ids or folded not in self._entries:
            return ids
        exact = written()
        if exact is None:
            return ()
        return tuple(dict.fromkeys(entity for name, entity in self._entries[folded] if _write(name) == exact))

    def _add(self, changed: Mapping[str, Sequence[Entry]]) -> None:
        for folded, entries in changed.items():
            words = names.words(folded)
            has_symbols = _key_with_symbols(folded) is not None
            before = self._entries.get(folded, ())
            self._unspaced.replace(folded, (name for name, _entity in before), (name for name, _entity in entries))
            for name, _entity in before:
                if (parts := _parts(name)) is not None:
                    split = " ".join(parts)
                    self._split_forms[split] = self._split_forms.get(split, frozenset()) - {folded}
            if not entries:
                self._entries.pop(folded, None)
                if folded in self._ids:
                    self._ids[folded] = ()
                continue
            self._entries[folded] = tuple(entries)
            distinctive = has_symbols or names.is_distinctive(words)
            self._ids[folded] = tuple(dict.fromkeys(entity for _name, entity in entries)) if distinctive else ()
            self._add_prefixes(words)
            if has_symbols:
                bare = " ".join(words)
                self._ids.setdefault(bare, ())
                self._with_symbols[bare] = self._with_symbols.get(bare, frozenset()) | {folded}
                continue
            for name, _entity in entries:
                if (parts := _parts(name)) is not None:
                    self._add_prefixes(parts)
                    self._ids.setdefault(" ".join(parts), ())
                    self._split_forms[" ".join(parts)] = self._split_forms.get(" ".join(parts), frozenset()) | {folded}
            if joined := _join(words):
                self._joined[joined] = self._joined.get(joined, frozenset()) | {folded}

    def _add_prefixes(self, words: Sequence[str]) -> None:
        """Registers the proper prefixes of a name of several words, so that `_candidates` continues after them."""
        for end in range(1, len(words)):
            self._ids.setdefault(" ".join(words[:end]), ())


def _unspaced_words(given: Iterable[str]) -> set[str]:
    found = {word for name in given if not name.isascii() for word in _RUN.findall(_normalise(name))}
    return {word for word in found if len(word) <= names.MAX_WORD_LENGTH}


def _normalise(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _stands_alone(run: str, start: int, end: int) -> bool:
    """Returns whether the characters from `start` to `end` may be a word of their own in a run."""
    if start and _INSIDE.fullmatch(run, start - 1, start + 1):
        return False
    if _INSIDE.fullmatch(run, end - 1, end + 1):
        return _PARTICLE.match(run, end) is not None
    return _SIGN.match(run, end) is None


class _TextWords:
    """A text with its folded words, and on demand the words as written."""

    def __init__(self, text: str, words: list[str]) -> None:
        self.words = words
        self._text = text

    @cached_property
    def _offsets(self) -> list[tuple[int, int]]:
        return names.word_offsets(self._text)

    def written(self, start: int, end: int) -> str | None:
        """Returns the words from `start` to `end` as written, separated by spaces; None for a part of another name.

        A letter next to a symbol is such a part: the C of "C++", the K of "K&V".
        """
        offsets = self._offsets[start:end]
        first, last = offsets[0]
        if end == start + 1 and last == first + 1:
            beside = (self._text[last : last + 1], self._text[first - 1] if first else "")
            if not _PLUS.isdisjoint(beside):
                return None
        return " ".join(self._text[first:last] for first, last in offsets)

    def has(self, key: str, start: int, end: int) -> bool:
        """Returns whether the words from `start` to `end` are the short name with this key, with its symbols."""
        return _stands(key, self._text, self._offsets[start:end], self.words[start:end])


def _join(words: Sequence[str]) -> str | None:
    """Returns the words of a name joined to one word, or None if the joined form does not match."""
    joined = "".join(words)
    is_long = MIN_JOINED_LENGTH <= len(joined) <= names.MAX_WORD_LENGTH
    return joined if len(words) > 1 and is_long and names.is_distinctive(words) else None


def _parts(name: str) -> list[str] | None:
    """Returns the folded parts of a name in mixed case ("LiHua"), each of two letters or more, or None."""
    humps = [place for place in range(1, len(name)) if name[place - 1].islower() and name[place].isupper()]
    if not humps or not _is_mixed(name):
        return None
    return names.words(" ".join(name[start:end] for start, end in pairwise((0, *humps, len(name)))))


def _is_mixed(name: str) -> bool:
    """Returns whether a name has two or more humps, as "LiHua" has. A hump is a capital with small letters after it.

    After a hyphen any letters may follow. Letters beyond ASCII count as capital and as small. Takes linear time.
    """
    first, *others = name.split("-")
    if not _HUMPS.fullmatch(first) or not all(map(_LETTERS.fullmatch, others)):
        return False
    for part, least in ((first, 2), *((other, 1) for other in others)):  # whether a hump ends it after so many letters
        capital = _UP_TO_LAST_CAPITAL.match(part)
        start = capital.end() if capital else 0
        if least < start < len(part) or _UNCASED.search(part, max(start, least), len(part) - 1):
            return True
    return False


def _write(name: str) -> str:
    return " ".join(name[start:end] for start, end in names.word_offsets(name))


def _key_with_symbols(name: str) -> str | None:
    """Returns the key of a short name with symbols, or None for another one."""
    if len(name) > MAX_LENGTH or name.replace(" ", "").isalnum():
        return None
    words = names.words(name)
    if not words or sum(map(len, words)) > MAX_LETTERS:
        return None
    offsets = names.word_offsets(name)
    start, end = first, last = offsets[0][0], offsets[-1][1]
    while start and name[start - 1] != _EMPHASIS and (_is_symbol(name[start - 1]) or name[start - 1] == "."):
        start -= 1
    while end < len(name) and name[end] != _EMPHASIS and _is_symbol(name[end]):
        end += 1
    core = _join_with_symbols(words, name, offsets)
    has_symbols = start < first or end > last or core != " ".join(words)
    return name[start:first] + core + name[last:end] if has_symbols else None


def _stands(key: str, text: str, offsets: Sequence[tuple[int, int]], words: Sequence[str]) -> bool:
    """Returns whether a text has the short name with this key, with its symbols, at words with these offsets."""
    before, found, after = key.partition(_join_with_symbols(words, text, offsets))
    start, end = offsets[0][0] - len(before), offsets[-1][1] + len(after)
    if not found or start < 0 or text[start : offsets[0][0]] != before or text[offsets[-1][1] : end] != after:
        return False
    goes_on_before = before and start > 0 and (text[start - 1].isalnum() or text[start - 1] == text[start])
    goes_on_after = after and end < len(text) and (text[end].isalpha() or text[end] == text[end - 1])
    return not (goes_on_before or goes_on_after)


def _join_with_symbols(words: Sequence[str], text: str, offsets: Sequence[tuple[int, int]]) -> str:
    """Returns words with the symbols between them in a text. Anything else between them becomes a space."""
    gaps = (re.sub(r"\s+", "", text[end:start]) for (_first, end), (start, _last) in pairwise(offsets))
    between = (gap if gap and all(map(_is_symbol, gap)) else " " for gap in gaps)
    return words[0] + "".join(gap + word for gap, word in zip(between, words[1:], strict=True))


def _is_symbol(character: str) -> bool:
    return character in _SYMBOLS or unicodedata.category(character) in ("Sm", "Sc")
