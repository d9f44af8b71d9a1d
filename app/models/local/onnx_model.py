"""Runs a transformer in ONNX format with its tokenizer on the CPU.

Texts and pairs of texts are tokenized, padded to the longest of a batch and run through the graph.
"""

from __future__ import annotations

import asyncio
import copy
import os
import sys
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

# Disables ONNX Runtime's telemetry, which reads this variable when it is first imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # noqa: TID251

import onnxruntime

from app.errors import ProviderError

TOKENS_PER_THREAD = 600
"""Tokens of a batch for each thread of an inference. Measured: more tokens exceed a core's cache and take longer, and
larger batches need more padding."""
TOKENIZER_BATCH = 64  # texts; a query can be tokenized only between two calls
DOCUMENTS_NICENESS = 10
"""Niceness of threads that embed documents. Measured: storing is up to an eighth faster, because vectors are written as
soon as they are computed, and not on one core after the model has finished."""
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})

Ids = npt.NDArray[np.int64]
Text = str | tuple[str, str]
_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")


class Tokens(Protocol):
    """The tokens of a text or a pair, with special ones."""

    @property
    def ids(self) -> Sequence[int]:
        """Their ids."""

    @property
    def type_ids(self) -> Sequence[int]:
        """0 for a text and for the first of a pair, 1 for the second."""


class Tokenizer(Protocol):
    """Turns texts without surrogates into tokens. Both methods may be called from any thread."""

    def encode(self, texts: Sequence[Text]) -> Sequence[Tokens]:
        """The tokens of texts or of pairs of texts, as many as the model reads."""

    def starts(self, text: str) -> array[int]:
        """The offset of each token of a text of any length, without special ones, ascending."""


class OnnxModel:
    """A graph whose inputs are token ids. `name` is the subject of its error messages.

    `concurrency` is how many inferences run at once. `one_by_one`: each text has an inference of its own, because in a
    batch its result would depend on the others. Raises ProviderError for a graph with other inputs than INPUTS.
    """

    def __init__(
        self,
        name: str,
        session: onnxruntime.InferenceSession,
        tokenizer: Tokenizer,
        *,
        concurrency: int = 1,
        one_by_one: bool = False,
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self.one_by_one = one_by_one
        self.outputs = [output.name for output in session.get_outputs()]
        self._session = session
        self.tokenizer = tokenizer
        self._inputs = {graph_input.name for graph_input in session.get_inputs()}
        if not {"input_ids"} <= self._inputs <= INPUTS:
            given = ", ".join(sorted(self._inputs))
            raise ProviderError(f"{name} is no model of token ids: its inputs are {given}.", fault="model")
        self.threads_of_inference = session.get_session_options().intra_op_num_threads
        self._batch_tokens = TOKENS_PER_THREAD * self.threads_of_inference
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="onnx")

    def beside(self, *, yields: bool) -> OnnxModel:
        """The same model with threads of its own: its calls do not wait for the calls of this one.

        `yields`: they have a lower priority than everything else in this process and Postgres.
        """
        made, initializer = copy.copy(self), _lower_priority if yields else None
        made._threads = ThreadPoolExecutor(self.concurrency, thread_name_prefix="onnx", initializer=initializer)
        return made

    def run(self, work: Callable[[_Argument], _Result], argument: _Argument) -> asyncio.Future[_Result]:
        """Call `work` in a thread, after the calls before it have begun. Raises ProviderError after `aclose`."""
        try:
            return asyncio.get_running_loop().run_in_executor(self._threads, work, argument)
        except RuntimeError as error:
            raise ProviderError(f"{self.name} is closed.") from error

    def encode(self, texts: Sequence[Text]) -> Sequence[Tokens]:
        """The tokens of texts or of pairs of texts."""
        return self.tokenizer.encode(
            [_clean(text) if isinstance(text, str) else (_clean(text[0]), _clean(text[1])) for text in texts]
        )

    def batches(self, encodings: Sequence[Tokens]) -> list[list[int]]:
        """The positions of encodings in batches for one call each, the longest first.

        The shortest of a batch has at least half the length of its longest, so that little is padded.
        """
        lengths = [len(encoding.ids) for encoding in encodings]
        batches: list[list[int]] = []
        for row in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
            longest = lengths[batches[-1][0]] if batches else 0
            if not batches or (len(batches[-1]) + 1) * longest > self._batch_tokens or 2 * lengths[row] < longest:
                batches.append([])
            batches[-1].append(row)
        return batches

    def infer(self, encodings: Sequence[Tokens], output: str) -> tuple[npt.NDArray[np.float32], Ids]:
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
        await asyncio.to_thread(self._threads.shutdown)


def open_session(
    graph: Path | bytes, *, threads: int, weights: Path | Mapping[str, bytes | bytearray] | None = None
) -> onnxruntime.InferenceSession:
    """Load a graph; `threads` share each inference.

    `weights` is the external data of a graph that is given as bytes: a folder, whose files are mapped into memory, or
    the content of its files by name, which is copied. Raises what ONNX Runtime raises.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Spinning saves half a millisecond on idle cores and halves the throughput on cores shared with Postgres.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if isinstance(weights, Mapping):
        contents = list(weights.values())
        options.add_external_initializers_from_files_in_memory(list(weights), contents, [len(one) for one in contents])
    elif weights is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights))
    source: Any = graph if isinstance(graph, bytes) else str(graph)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _lower_priority() -> None:
    """Lower the priority of this thread, where the system allows it. Only Linux has one for each thread."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + DOCUMENTS_NICENESS)


def _clean(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, which the tokenizer rejects."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
