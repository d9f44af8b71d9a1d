"""Turns texts into tokens by the tokenizer.json that most models publish, and finds where tokens begin in a text."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from app.models.local.onnx_model import Text

PIECE, CALL = 4_000, 32_000
"""Code points of a long text that are tokenized as one piece, and the code points of one call."""
LONGEST_TOKEN, UNKNOWN_TOKEN = 32, 8
"""A longer token stands for an unknown word; it counts as one token for each UNKNOWN_TOKEN code points."""
WORD, WORDS = 32, 20_000
"""Code points of a word whose tokens are remembered, and words that are remembered at once, in about 4 MB."""
_Piece = tuple[int, int, int]
"""The place of a text, and the offsets of a part of it."""
_SPACE = re.compile(r"\s")
_WORD = re.compile(r"[^ \t\r\n]+")


Offsets = Sequence[tuple[int, int]]
"""Of the tokens of a text: their begin and end in it."""


class TokenOffsets(ABC):
    """A tokenizer that knows where tokens begin in a text, without special ones. May be used by several threads.

    `by_word`: the tokens of a word do not depend on the words beside it, as in the models of BERT's kind; they are
    remembered, because most words have occurred before.
    """

    def __init__(self, *, by_word: bool) -> None:
        self._known: dict[str, tuple[int, ...]] = {}
        self._by_word = by_word

    @abstractmethod
    def _offsets(self, texts: list[str]) -> Iterable[Offsets]:
        """The offsets of the tokens of some texts."""

    def starts(self, text: str) -> array[int]:
        """The offset of each token of a text without surrogates, ascending."""
        if not self._by_word:
            return self._tokenize([text])[0]
        starts = array("i")
        for begin, end in _bounds(text):
            tokens = self._of_words(set(_WORD.findall(text, begin, end)))
            words = _WORD.finditer(text, begin, end)
            starts.extend([match.start() + offset for match in words for offset in tokens[match[0]]])
        return starts

    def _of_words(self, words: set[str]) -> dict[str, tuple[int, ...]]:
        known = self._known
        found = {word: starts for word in words if (starts := known.get(word)) is not None}
        missing = [word for word in words if word not in found]
        new = {word: tuple(starts) for word, starts in zip(missing, self._tokenize(missing), strict=True)}
        if len(known) > WORDS:
            known = self._known = {}
        known.update((word, starts) for word, starts in new.items() if len(word) <= WORD)
        return found | new

    def _tokenize(self, texts: Sequence[str]) -> list[array[int]]:
        found = [array("i") for _ in texts]
        for pieces in _calls((place, *piece) for place, text in enumerate(texts) for piece in _bounds(text)):
            offsets = self._offsets([texts[place][begin:end] for place, begin, end in pieces])
            for (place, begin, _), of_piece in zip(pieces, offsets, strict=True):
                found[place].extend(_starts(texts[place], begin, of_piece))
        return found


class JsonTokenizer(TokenOffsets):
    """A tokenizer that truncates to `max_tokens` and does not pad. Raises what the library raises."""

    def __init__(self, file: Path, *, max_tokens: int) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()
        by_word = isinstance(self._tokenizer.normalizer, BertNormalizer)
        by_word = by_word and isinstance(self._tokenizer.pre_tokenizer, BertPreTokenizer)
        super().__init__(by_word=by_word)

    def encode(self, texts: Sequence[Text]) -> list[tokenizers.Encoding]:
        """The tokens of texts or of pairs of texts."""
        # Unlike the call for a single text, the batch call releases the GIL.
        return self._tokenizer.encode_batch_fast(list(texts))

    def _offsets(self, texts: list[str]) -> list[Offsets]:
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        # What overflows is beyond the length to which texts are truncated.
        return [
            [offsets for part in (encoding, *encoding.overflowing) for offsets in part.offsets]
            for encoding in encodings
        ]


def _calls(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """Groups of pieces, each of at least CALL code points together; the last group may have fewer."""
    some, size = list[_Piece](), 0
    for piece in pieces:
        some.append(piece)
        size += piece[2] - piece[1]
        if size >= CALL:
            yield some
            some, size = [], 0
    if some:
        yield some


def _bounds(text: str) -> Iterator[tuple[int, int]]:
    """Pieces of PIECE to twice as many code points. Each ends at white space, if there is any, or with the text."""
    start = 0
    while start < len(text):
        found = _SPACE.search(text, start + PIECE, start + 2 * PIECE)
        end = found.start() if found else min(len(text), start + 2 * PIECE)
        yield start, end
        start = end


def _starts(text: str, offset: int, offsets: Offsets) -> Iterable[int]:
    for begin, end in offsets:
        start, stop = offset + begin, offset + end
        while start < stop and text[start].isspace():  # some vocabularies have words with the space before them
            start += 1
        yield from range(start, stop, UNKNOWN_TOKEN) if stop - start > LONGEST_TOKEN else (start,)
