"""Runs a transformer in ONNX format with its tokenizer on the CPU.

Texts and pairs of texts are tokenized, padded to the longest of a batch and run through the graph. A model has one
thread for queries and one for documents over one session, so a query shares the cores with a running batch of
documents instead of waiting for it.
"""

from __future__ import annotations

import asyncio
import os
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

# Disables ONNX Runtime's telemetry, which reads this variable when it is first imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # noqa: TID251

import onnxruntime
from tokenizers import Encoding, Tokenizer

from app.errors import ProviderError

MAX_THREADS = 4
TOKENIZER_BATCH = 64  # texts; a query can be tokenized only between two calls
PIECE, PIECES = 4_000, 8
"""Code points of a long text that are tokenized as one, and pieces that are tokenized in one call."""
LONGEST_TOKEN, UNKNOWN_TOKEN = 32, 8
"""A longer token stands for an unknown word; it counts as one token for each UNKNOWN_TOKEN code points."""
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})

Ids = npt.NDArray[np.int64]
Text = str | tuple[str, str]
_SPACE = re.compile(r"\s")
_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")


class OnnxModel:
    """A graph whose inputs are token ids. `name` is the subject of its error messages.

    Raises ProviderError for a graph with other inputs than INPUTS.
    """

    def __init__(self, name: str, session: onnxruntime.InferenceSession, tokenizer: Tokenizer) -> None:
        self.name = name
        self.outputs = [output.name for output in session.get_outputs()]
        self._session = session
        self._tokenizer = tokenizer
        self._inputs = {graph_input.name for graph_input in session.get_inputs()}
        if not {"input_ids"} <= self._inputs <= INPUTS:
            given = ", ".join(sorted(self._inputs))
            raise ProviderError(f"{name} is no model of token ids: its inputs are {given}.", fault="model")
        self._query_thread = ThreadPoolExecutor(1, thread_name_prefix="onnx-query")
        self._document_thread = ThreadPoolExecutor(1, thread_name_prefix="onnx-document")

    async def of_query(self, work: Callable[[_Argument], _Result], argument: _Argument) -> _Result:
        """Call `work` in the thread for queries. Raises ProviderError after `aclose`."""
        return await self._queued(self._query_thread, work, argument)

    def of_documents(self, work: Callable[[_Argument], _Result], argument: _Argument) -> asyncio.Future[_Result]:
        """Call `work` in the thread for documents, after the calls before it. Raises ProviderError after `aclose`."""
        return self._queued(self._document_thread, work, argument)

    def encode(self, texts: Sequence[Text]) -> list[Encoding]:
        """The tokens of texts or of pairs of texts."""
        # Unlike the call for a single text, the batch call releases the GIL.
        found: list[Encoding] = self._tokenizer.encode_batch_fast([_clean(text) for text in texts])
        return found

    def token_starts(self, text: str) -> array[int]:
        """The offset of each token of a text without surrogates, ascending, without special tokens."""
        starts = array("i")
        bounds = list(_bounds(text))
        for first in range(0, len(bounds), PIECES):
            some = bounds[first : first + PIECES]
            pieces = [text[begin:end] for begin, end in some]
            for (begin, _), encoding in zip(
                some, self._tokenizer.encode_batch(pieces, add_special_tokens=False), strict=True
            ):
                for part in (encoding, *encoding.overflowing):  # beyond the length to which texts are truncated
                    starts.extend(_starts(text, begin, part))
        return starts

    def infer(self, encodings: Sequence[Encoding], output: str) -> tuple[npt.NDArray[np.float32], Ids]:
        """An output of the graph for a batch, and the batch's attention mask. Raises ProviderError."""
        shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
        inputs = {name: np.zeros(shape, np.int64) for name in INPUTS}
        inputs["position_ids"] += np.arange(shape[1])
        for row, encoding in enumerate(encodings):
            count = len(encoding.ids)
            inputs["input_ids"][row, :count] = encoding.ids
            inputs["token_type_ids"][row, :count] = encoding.type_ids
            inputs["attention_mask"][row, :count] = 1
        try:
            (values,) = self._session.run([output], {name: inputs[name] for name in self._inputs})
        except Exception as error:  # ONNX Runtime's exceptions have no other common base
            raise ProviderError(f"{self.name} failed on this text.", fault="model") from error
        return values.astype(np.float32, copy=False), inputs["attention_mask"]

    async def aclose(self) -> None:
        """Finish queued work and end the threads; later calls raise ProviderError. May be called twice."""
        for thread in (self._query_thread, self._document_thread):
            await asyncio.to_thread(thread.shutdown)

    def _queued(
        self, thread: ThreadPoolExecutor, work: Callable[[_Argument], _Result], argument: _Argument
    ) -> asyncio.Future[_Result]:
        try:
            return asyncio.get_running_loop().run_in_executor(thread, work, argument)
        except RuntimeError as error:
            raise ProviderError(f"{self.name} is closed.") from error


def _bounds(text: str) -> Iterator[tuple[int, int]]:
    """Pieces of about PIECE code points that end where a word ends."""
    start = 0
    while start < len(text):
        found = _SPACE.search(text, start + PIECE, start + 2 * PIECE)
        end = found.start() if found else min(len(text), start + 2 * PIECE)
        yield start, end
        start = end


def _starts(text: str, offset: int, encoding: Encoding) -> Iterator[int]:
    for begin, end in encoding.offsets:
        start, stop = offset + begin, offset + end
        while start < stop and text[start].isspace():  # some vocabularies have words with the space before them
            start += 1
        yield from range(start, stop, UNKNOWN_TOKEN) if stop - start > LONGEST_TOKEN else (start,)


def by_length(encodings: Sequence[Encoding], size: int) -> list[list[int]]:
    """Batches of `size` positions with encodings of similar length, so that little is padded."""
    order = sorted(range(len(encodings)), key=lambda row: len(encodings[row].ids))
    return [order[start : start + size] for start in range(0, len(order), size)]


def open_session(
    graph: Path | bytes, *, threads: int | None = None, weights: Path | None = None
) -> onnxruntime.InferenceSession:
    """Load a graph for inference with `threads` threads (default: the usable cores, at most 4).

    `weights` is the folder of the external data of a graph that is given as bytes. Raises what ONNX Runtime raises.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or _usable_cores()
    options.log_severity_level = 3
    # Spinning saves half a millisecond on idle cores and halves the throughput on cores shared with Postgres.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights))
    source: Any = graph if isinstance(graph, bytes) else str(graph)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def open_tokenizer(path: Path, *, max_tokens: int) -> Tokenizer:
    """Load a tokenizer that truncates to `max_tokens` and does not pad. Raises what the library raises."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return tokenizer


def _clean(text: Text) -> Text:
    """Join surrogate pairs and replace lone surrogates, which the tokenizer rejects."""
    if isinstance(text, tuple):
        return _joined(text[0]), _joined(text[1])
    return _joined(text)


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _usable_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_THREADS)
