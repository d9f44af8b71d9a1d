"""Describes all-MiniLM-L6-v2, the embedder that needs neither a network nor an API key nor torch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.models import base, known
from app.models.local import int8_model, minilm_files
from app.models.local.int8_model import Int8Model
from app.models.local.int8_weights import GREATEST, Floats, Int8File, round_rows
from app.models.local.json_tokenizer import JsonTokenizer
from app.models.local.onnx_embedder import EmbeddingSteps, OnnxEmbedder
from app.models.local.onnx_model import Tokenizer

MODEL = base.EmbeddingModel(
    name="all-MiniLM-L6-v2", dimension=384, max_tokens=256, languages=known.ENGLISH, unrelated=0.035
)


class Safetensors:
    """The tensors of a file of `safetensors`, of 32 bits."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            self._places = json.loads(opened.read(size))
        self._data = np.memmap(file, np.uint8, "r", offset=8 + size)

    def read(self, name: str) -> Floats:
        """A tensor."""
        first, end = self._places[name]["data_offsets"]
        # Copied, because a tensor in the file is not aligned.
        return np.frombuffer(self._data[first:end].tobytes(), "<f4").reshape(self._places[name]["shape"])

    def words(self) -> tuple[npt.NDArray[np.int8], Floats]:
        """The embeddings of words in 8 bits, with a scale for each."""
        words = self.read("embeddings.word_embeddings.weight")
        scales = np.abs(words).max(axis=1) / np.float32(GREATEST)
        return round_rows(words, scales), scales[:, None]


def _tokenizer(folder: Path) -> Tokenizer:
    return JsonTokenizer(folder / minilm_files.TOKENIZER, max_tokens=MODEL.max_tokens)


DESCRIBED = Int8Model(
    MODEL,
    Path(__file__).with_name("minilm_int8.onnx"),
    Int8File("minilm_int8.bin", "292c07d4c40636814b00d898116995f4c0e9316199390a984950b85181147b7a", 6),
    minilm_files.WEIGHTS,
    minilm_files.WEIGHTS_SHA256,
    Safetensors,
    _tokenizer,
    EmbeddingSteps(output="vectors"),
)


async def load(*, threads: int | None = None, folder: Path | None = None, cache: Path | None = None) -> OnnxEmbedder:
    """Load the model as `int8_model.load` does, by default from the installed package."""
    return await int8_model.load(DESCRIBED, folder or minilm_files.packaged(), threads=threads, cache=cache)
