"""Quantizes the weights of a BERT model to 8 bits and keeps them in a file.

Matrices are quantized by output. The embeddings of words have 8 bits, or the 4 that they are published with; everything
else stays float32. A graph refers to byte ranges of the result (see tests/models/local/export_graphs.py), whose digest
is a constant: each operation is rounded as IEEE 754 requires, so every machine gets the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

GREATEST = 127
"""Largest absolute value of a quantized weight, and of the sum of two neighbours of equal sign before rounding.

Processors without instructions for 8-bit dot products (VNNI) multiply unsigned activations with signed weights by
VPMADDUBSW, which adds the products of two neighbours in a signed 16-bit number, and saturates. After rounding the sum
of two weights is at most 128, and 255 * 128 = 32,640 is less than 32,767, so it never does.
"""
ABANDONED_S = 3_600
"""Seconds after which nobody writes a draft any more."""
ALIGNMENT = 64  # bytes; a processor's cache line

Floats = npt.NDArray[np.float32]
Tensor = npt.NDArray[np.float32] | npt.NDArray[np.int8] | npt.NDArray[np.uint8]


class PublishedWeights(Protocol):
    """The published weights of a model: tensors by the names that a BERT model has in `transformers`."""

    def words(self) -> tuple[Tensor, Floats]:
        """The quantized embeddings of words, and their scales."""
        ...

    def read(self, name: str) -> Floats:
        """Another tensor."""
        ...


@dataclass(frozen=True, slots=True)
class Int8File:
    """The file of a model's weights of 8 bits: its name, its digest, and the model's layers."""

    name: str
    sha256: str
    layers: int

    def is_kept(self, folder: Path) -> bool:
        """Whether the folder has the file, undamaged."""
        return has_digest(folder / self.name, self.sha256)

    def content(self, stored: PublishedWeights) -> bytearray:
        """The file's content, from the published weights."""
        whole = bytearray()
        for _, tensor in tensors(stored, self.layers):
            whole += bytes(offset(len(whole)) - len(whole))
            whole += tensor.tobytes()
        return whole


def has_digest(file: Path, sha256: str) -> bool:
    """Whether a file can be read and has this SHA-256."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == sha256
    except OSError:
        return False


def offset(end: int) -> int:
    """Where a tensor begins if the one before it ends at `end`."""
    return -(-end // ALIGNMENT) * ALIGNMENT


def tensors(stored: PublishedWeights, layers: int) -> Iterator[tuple[str, Tensor]]:
    """The tensors by name, in the order of the file. A quantized one is followed by its scales."""
    yield from zip(("words.weight", "words.scale"), stored.words(), strict=True)
    types = stored.read("embeddings.token_type_embeddings.weight")
    yield "positions", stored.read("embeddings.position_embeddings.weight") + types[0]
    yield from _normalization(stored, "embeddings", "embeddings")
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        yield from _linear(stored, f"{number}.attention", *parts)
        yield from _linear(stored, f"{number}.attended", f"{layer}.attention.output.dense")
        yield from _normalization(stored, f"{number}.attended", f"{layer}.attention.output")
        yield from _linear(stored, f"{number}.inner", f"{layer}.intermediate.dense")
        yield from _linear(stored, f"{number}.outer", f"{layer}.output.dense")
        yield from _normalization(stored, f"{number}.outer", f"{layer}.output")


def scales_without_saturation(rows: Floats) -> Floats:
    """The scale of each row, an output's weights: the least with which no two neighbours exceed GREATEST.

    Neighbours are the elements 2i and 2i + 1.
    """
    above, below = np.maximum(rows, 0), np.maximum(-rows, 0)
    sums = [(one[:, 0::2] + one[:, 1::2]).max(axis=1) for one in (above, below)]
    return np.asarray(np.maximum(*sums) / np.float32(GREATEST), np.float32)


def round_rows(rows: Floats, scales: Floats) -> npt.NDArray[np.int8]:
    """Rows as multiples of their scales."""
    return np.asarray(np.rint(rows / scales[:, None]), np.int8)


def keep(whole: bytes | bytearray, target: Path) -> None:
    """Write the content of a file, whose folder is created. Raises OSError.

    The file appears at once under its name, so processes that start at the same time each read a whole one.
    """
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_abandoned(target)
    descriptor, draft = tempfile.mkstemp(prefix=f"{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(whole)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _remove_abandoned(target: Path) -> None:
    """Remove what processes that were killed while they wrote have left."""
    for draft in target.parent.glob(f"{target.name}.*"):
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > ABANDONED_S:
                draft.unlink()


def _linear(stored: PublishedWeights, name: str, *parts: str) -> Iterator[tuple[str, Tensor]]:
    """One matrix of (in, out), its scales by output, and its bias; outputs of several parts follow each other."""
    rows = np.concatenate([stored.read(f"{part}.weight") for part in parts])
    scales = scales_without_saturation(rows)
    yield f"{name}.weight", np.ascontiguousarray(round_rows(rows, scales).T)
    yield f"{name}.scale", scales
    yield f"{name}.bias", np.concatenate([stored.read(f"{part}.bias") for part in parts])


def _normalization(stored: PublishedWeights, name: str, part: str) -> Iterator[tuple[str, Tensor]]:
    yield f"{name}.norm.weight", stored.read(f"{part}.LayerNorm.weight")
    yield f"{name}.norm.bias", stored.read(f"{part}.LayerNorm.bias")
