"""Turns texts into the pieces of XLM-RoBERTa's vocabulary, which many multilingual models share."""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from app.models.local.onnx_model import Text
from app.models.local.token_offsets import Offsets, TokenOffsets

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

BEGIN, END, UNKNOWN = 0, 2, 3
SPECIAL = frozenset({"<s>", "<pad>", "</s>", "<mask>"})
"""Pieces that a text cannot contain, whatever it says."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a text, with those that begin and end it."""

    ids: list[int]

    @property
    def type_ids(self) -> list[int]:
        """All of one text."""
        return [0] * len(self.ids)


class SentencePieces:
    """A tokenizer that truncates to `max_tokens`. It takes a fifth of the memory that the same tokenizer.json takes."""

    def __init__(self, pieces: Iterable[tuple[bytes, float]], *, max_tokens: int) -> None:
        self._processor = _processor(pieces)
        self._most = max_tokens - 2
        self._starts = TokenOffsets(self._offsets, by_word=False)

    def encode(self, texts: Sequence[Text]) -> list[Pieces]:
        """The pieces of texts; pairs are for re-rankers, which this is not for."""
        found = self._processor.encode(cast("list[str]", list(texts)), return_type=int)
        return [Pieces([BEGIN, *ids[: self._most], END]) for ids in found]

    def starts(self, text: str) -> array[int]:
        """The offset of each piece of a text, ascending."""
        return self._starts.starts(text)

    def _offsets(self, texts: list[str]) -> list[Offsets]:
        return [found["offsets"] for found in self._processor.encode(texts, return_type="offset_mapping")]


def _processor(pieces: Iterable[tuple[bytes, float]]) -> SentencePieceProcessor:
    """A unigram model of pieces with their scores, in the order of their ids, with the normalization of XLM-RoBERTa."""
    import sentencepiece  # an extra installs it

    messages: Any = importlib.import_module("sentencepiece.sentencepiece_model_pb2")
    normalizer = sentencepiece.SentencePieceNormalizer(
        rule_name="nmt_nfkc", add_dummy_prefix=True, escape_whitespaces=True, remove_extra_whitespaces=True
    )
    model = messages.ModelProto.FromString(normalizer.serialized_model_proto())
    kinds = messages.ModelProto.SentencePiece
    for number, (encoded, score) in enumerate(pieces):
        piece = encoded.decode()
        kind = kinds.CONTROL if piece in SPECIAL else kinds.UNKNOWN if number == UNKNOWN else kinds.NORMAL
        model.pieces.add(piece=piece, score=score, type=kind)
    return sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
