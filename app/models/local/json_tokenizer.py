"""Turns texts into tokens by the tokenizer.json that most models publish."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path

import tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from app.models.local.onnx_model import Text
from app.models.local.token_offsets import Offsets, TokenOffsets


class JsonTokenizer:
    """A tokenizer that truncates to `max_tokens` and does not pad. Raises what the library raises."""

    def __init__(self, file: Path, *, max_tokens: int) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()
        by_word = isinstance(self._tokenizer.normalizer, BertNormalizer)
        by_word = by_word and isinstance(self._tokenizer.pre_tokenizer, BertPreTokenizer)
        self._starts = TokenOffsets(self._offsets, by_word=by_word)

    def encode(self, texts: Sequence[Text]) -> list[tokenizers.Encoding]:
        """The tokens of texts or of pairs of texts."""
        # Unlike the call for a single text, the batch call releases the GIL.
        return self._tokenizer.encode_batch_fast(list(texts))

    def starts(self, text: str) -> array[int]:
        """The offset of each token of a text, without special ones, ascending."""
        return self._starts.starts(text)

    def _offsets(self, texts: list[str]) -> list[Offsets]:
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        # What overflows is beyond the length to which texts are truncated.
        return [
            [offsets for part in (encoding, *encoding.overflowing) for offsets in part.offsets]
            for encoding in encodings
        ]
