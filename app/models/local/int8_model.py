"""Opens a built-in model in 8 bits: its graph is part of the program, its weights are computed from published ones.

Matrices are quantized by output. The embeddings of words have 8 bits, or the 4 that they are published with; everything
else stays float32. A graph holds only the operators, and refers to byte ranges of the result (see
tests/models/local/export_graphs.py), whose digest is a constant: each operation is rounded as IEEE 754 requires, so
every machine gets the same bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.errors import ProviderError
from app.models.local import hub, onnx_model
from app.models.local.onnx_embedder import EmbeddingSteps, OnnxEmbedder
from app.models.protocols import EmbeddingModel

log = logging.getLogger(__name__)

GREATEST = 127
"""Largest absolute value of a quantized weight, and of the sum of two neighbours of equal sign before rounding.

Processors without instructions for 8-bit dot products (VNNI) multiply unsigned activations with signed weights by
VPMADDUBSW, which adds the products of two neighbours in a signed 16-bit number, and saturates. After rounding the sum
of two weights is at most 128, and 255 * 128 = 32,640 is less than 32,767, so it never does.
"""
ALIGNMENT = 64  # bytes; a processor's cache line

Floats = npt.NDArray[np.float32]
Tensor = npt.NDArray[np.float32] | npt.NDArray[np.int8] | npt.NDArray[np.uint8]


class PublishedWeights(Protocol):
    """The published weights of a model: tensors by the names that a BERT model has in `transformers`."""

    def words(self) -> tuple[Tensor, Floats]:
        """The quantized embeddings of words, and their scales."""

    def read(self, name: str) -> Floats:
        """Another tensor."""


@dataclass(frozen=True, slots=True)
class Int8Model:
    """A model, its number of layers and its graph; its file of 8-bit weights, and the published file they come from.

    `sha256` and `published_sha256` are the digests of the two files. `read` reads the published weights. `tokenizer`
    opens the tokenizer in the folder of the published files.
    """

    model: EmbeddingModel
    layers: int
    graph: Path
    weights: str
    sha256: str
    published: str
    published_sha256: str
    read: Callable[[Path], PublishedWeights]
    tokenizer: Callable[[Path], onnx_model.Tokenizer]
    steps: EmbeddingSteps

    def is_kept(self, folder: Path) -> bool:
        """Whether the folder has the file of weights of 8 bits, undamaged."""
        return hub.has_digest(folder / self.weights, self.sha256)

    def content(self, folder: Path) -> bytearray:
        """The content of that file, from the published one in a folder."""
        whole = bytearray()
        for _, tensor in tensors(self.read(folder / self.published), self.layers):
            whole += bytes(offset(len(whole)) - len(whole))
            whole += tensor.tobytes()
        return whole


async def load(described: Int8Model, folder: Path, *, threads: int, cache: Path | None = None) -> OnnxEmbedder:
    """Load a model off the event loop from the folder of its published files.

    `threads` is how many inferences run at once, each in one thread: the model is so small that threads of one
    inference wait for each other for a sixth to a third of their time. The weights are kept in the folder `cache`, in
    memory if it is None or cannot be written. Raises ProviderError when a file is missing or the weights are not the
    published ones.
    """
    return await asyncio.to_thread(_open, described, folder, threads, cache)


def _open(described: Int8Model, folder: Path, threads: int, cache: Path | None) -> OnnxEmbedder:
    name = f"The built-in model {described.model.name}"
    try:
        weights = _weights(described, folder, cache)
        tokenizer = described.tokenizer(folder)
        session = onnx_model.open_session(described.graph.read_bytes(), threads=1, weights=weights)
        # The activations of a batch would share a scale, so a vector would depend on the other texts.
        graph = onnx_model.OnnxModel(name, session, tokenizer, concurrency=threads, one_by_one=True)
    except ProviderError:
        raise
    except Exception as error:  # the libraries' exceptions have no other common base
        raise ProviderError(f"{name} cannot be loaded: renew the files in {folder}.") from error
    return OnnxEmbedder(graph, described.model, described.steps)


def _weights(described: Int8Model, folder: Path, cache: Path | None) -> Path | Mapping[str, bytes | bytearray]:
    """The folder of the weights of 8 bits, or their content. Missing weights are computed, and kept if possible."""
    if cache is not None and described.is_kept(cache):
        return cache
    published = folder / described.published
    if not published.is_file():
        raise ProviderError(f"The weights of {described.model.name} are missing: {published} does not exist.")
    if not hub.has_digest(published, described.published_sha256):
        raise ProviderError(f"The weights of {described.model.name} are not the published ones: renew {published}.")
    content, file = described.content(folder), described.weights
    if hashlib.sha256(content).hexdigest() != described.sha256:
        log.warning("this machine rounds the weights of %s differently: they are computed at each start", file)
    elif cache is not None:
        try:
            hub.keep(content, cache / file)
            return cache
        except OSError as error:
            log.info("the weights of %s stay in memory: %s cannot be written: %s", file, cache, error.strerror)
    return {file: content}


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
    """The scale of each row (the weights of an output): the smallest for which no sum of neighbours exceeds GREATEST.

    Neighbours are the elements 2i and 2i + 1.
    """
    above, below = np.maximum(rows, 0), np.maximum(-rows, 0)
    sums = [(one[:, 0::2] + one[:, 1::2]).max(axis=1) for one in (above, below)]
    return np.asarray(np.maximum(*sums) / np.float32(GREATEST), np.float32)


def round_rows(rows: Floats, scales: Floats) -> npt.NDArray[np.int8]:
    """Rows as multiples of their scales."""
    return np.asarray(np.rint(rows / scales[:, None]), np.int8)


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
