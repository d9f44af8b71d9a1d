"""Opens a model whose graph is part of the program and whose weights of 8 bits are computed once from published ones.

A graph holds only the operators (see tests/models/local/export_graphs.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.errors import ProviderError
from app.models.base import EmbeddingModel
from app.models.local import int8_weights, onnx_model
from app.models.local.int8_weights import Int8File, PublishedWeights
from app.models.local.onnx_embedder import EmbeddingSteps, OnnxEmbedder
from app.models.local.onnx_model import OnnxModel, Tokenizer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Int8Model:
    """A model, its graph, its file of weights, and the published ones: their file, its digest, and how it is read.

    `tokenizer` opens the tokenizer in the folder of the published files.
    """

    model: EmbeddingModel
    graph: Path
    weights: Int8File
    published: str
    published_sha256: str
    read: Callable[[Path], PublishedWeights]
    tokenizer: Callable[[Path], Tokenizer]
    steps: EmbeddingSteps


async def load(
    described: Int8Model, folder: Path, *, threads: int | None = None, cache: Path | None = None
) -> OnnxEmbedder:
    """Load a model off the event loop from the folder of its published files.

    `threads` (default: the usable cores, at most 4) is how many inferences run at once, each in one thread: the model
    is so small that threads of one inference wait for each other for a sixth to a third of their time. The weights are
    kept in the folder `cache`, in memory if it is None or cannot be written. Raises ProviderError when a file is
    missing or the weights are not the published ones, ValueError for a number of threads below 1.
    """
    if threads is not None and threads < 1:
        raise ValueError("threads start at 1")
    return await asyncio.to_thread(_open, described, folder, threads or onnx_model.usable_cores(), cache)


def _open(described: Int8Model, folder: Path, threads: int, cache: Path | None) -> OnnxEmbedder:
    name = f"The built-in model {described.model.name}"
    try:
        weights = _weights(described, folder, cache)
        tokenizer = described.tokenizer(folder)
        session = onnx_model.open_session(described.graph.read_bytes(), threads=1, weights=weights)
        # The activations of a batch would share a scale, so a vector would depend on the other texts.
        graph = OnnxModel(name, session, tokenizer, concurrency=threads, one_by_one=True)
    except ProviderError:
        raise
    except Exception as error:  # the libraries' exceptions have no other common base
        raise ProviderError(f"{name} cannot be loaded: renew the files in {folder}.") from error
    return OnnxEmbedder(graph, described.model, described.steps)


def _weights(described: Int8Model, folder: Path, cache: Path | None) -> Path | Mapping[str, bytes | bytearray]:
    """The folder of the weights of 8 bits, or their content: the kept ones, else computed and, if possible, kept."""
    file = described.weights
    if cache is not None and file.is_kept(cache):
        return cache
    content = file.content(_published(described, folder))
    if hashlib.sha256(content).hexdigest() != file.sha256:
        log.warning("this machine rounds the weights of %s differently: they are computed at each start", file.name)
    elif cache is not None:
        try:
            int8_weights.keep(content, cache / file.name)
            return cache
        except OSError as error:
            log.info("the weights of %s stay in memory: %s cannot be written: %s", file.name, cache, error.strerror)
    return {file.name: content}


def _published(described: Int8Model, folder: Path) -> PublishedWeights:
    weights = folder / described.published
    if not weights.is_file():
        raise ProviderError(f"The weights of {described.model.name} are missing: {weights} does not exist.")
    if not int8_weights.has_digest(weights, described.published_sha256):
        raise ProviderError(f"The weights of {described.model.name} are not the published ones: renew {weights}.")
    return described.read(weights)
