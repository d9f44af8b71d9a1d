"""Quantizes the weights of all-MiniLM-L6-v2 to 8 bits and keeps them in a file.

Matrices are quantized by output, the embeddings of words by word; everything else stays float32. `minilm_int8.onnx`
refers to byte ranges of the result (see tests/models/local/export_minilm.py), whose digest is a constant: each
operation is rounded as IEEE 754 requires, so every machine gets the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

FILE_NAME = "minilm_int8.bin"
SHA256 = "292c07d4c40636814b00d898116995f4c0e9316199390a984950b85181147b7a"
LAYERS = 6
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
Tensor = npt.NDArray[np.float32] | npt.NDArray[np.int8]


def content(weights: Path) -> bytes:
    """The file's content, from the published model.safetensors."""
    whole = bytearray()
    for _, tensor in tensors(weights):
        whole += bytes(offset(len(whole)) - len(whole)) + tensor.tobytes()
    return bytes(whole)


def offset(end: int) -> int:
    """Where a tensor begins if the one before it ends at `end`."""
    return -(-end // ALIGNMENT) * ALIGNMENT


def tensors(weights: Path) -> Iterator[tuple[str, Tensor]]:
    """The tensors by name, in the order of the file. A quantized one is followed by its scales."""
    stored = _Stored(weights)
    words = stored.read("embeddings.word_embeddings.weight")
    scales = np.abs(words).max(axis=1) / np.float32(GREATEST)
    yield "words.weight", _round(words, scales)
    yield "words.scale", scales[:, None]
    types = stored.read("embeddings.token_type_embeddings.weight")
    yield "positions", stored.read("embeddings.position_embeddings.weight") + types[0]
    yield from _normalization(stored, "embeddings", "embeddings")
    for number in range(LAYERS):
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


def _round(rows: Floats, scales: Floats) -> npt.NDArray[np.int8]:
    return np.asarray(np.rint(rows / scales[:, None]), np.int8)


def keep(whole: bytes, folder: Path) -> None:
    """Write the content into a folder, which is created. Raises OSError.

    The file appears at once under its name, so processes that start at the same time each read a whole one.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_abandoned(folder)
    descriptor, draft = tempfile.mkstemp(prefix=f"{FILE_NAME}.", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(whole)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(folder / FILE_NAME)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _remove_abandoned(folder: Path) -> None:
    """Remove what processes that were killed while they wrote have left."""
    for draft in folder.glob(f"{FILE_NAME}.*"):
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > ABANDONED_S:
                draft.unlink()


def is_kept(folder: Path) -> bool:
    """Whether the folder has the file, undamaged."""
    try:
        with (folder / FILE_NAME).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == SHA256
    except OSError:
        return False


class _Stored:
    """The tensors of a safetensors file."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            self._places = json.loads(opened.read(size))
        self._data = np.memmap(file, np.uint8, "r", offset=8 + size)

    def read(self, name: str) -> Floats:
        first, end = self._places[name]["data_offsets"]
        # Copied, because a tensor in the file is not aligned.
        return np.frombuffer(self._data[first:end].tobytes(), "<f4").reshape(self._places[name]["shape"])


def _linear(stored: _Stored, name: str, *parts: str) -> Iterator[tuple[str, Tensor]]:
    """One matrix of (in, out), its scales by output, and its bias; outputs of several parts follow each other."""
    rows = np.concatenate([stored.read(f"{part}.weight") for part in parts])
    scales = scales_without_saturation(rows)
    yield f"{name}.weight", np.ascontiguousarray(_round(rows, scales).T)
    yield f"{name}.scale", scales
    yield f"{name}.bias", np.concatenate([stored.read(f"{part}.bias") for part in parts])


def _normalization(stored: _Stored, name: str, part: str) -> Iterator[tuple[str, Tensor]]:
    yield f"{name}.norm.weight", stored.read(f"{part}.LayerNorm.weight")
    yield f"{name}.norm.bias", stored.read(f"{part}.LayerNorm.bias")
