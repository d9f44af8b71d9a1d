"""Reads a folder with a model in ONNX format and the settings that are published beside it.

The folder has model.onnx (or onnx/model.onnx) and tokenizer.json. Models of sentence-transformers also have
modules.json, 1_Pooling/config.json, sentence_bert_config.json and config_sentence_transformers.json, which give the
pooling, the maximum number of tokens and the prefixes (prompts) of queries and documents. What they do not say is taken
from the table of known models.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import ProviderError
from app.models import known_models
from app.models.known_models import KnownModel, Pooling
from app.models.local import onnx_model
from app.models.local.onnx_embedder import EmbeddingSteps, OnnxEmbedder
from app.models.local.onnx_reranker import OnnxReranker
from app.models.local.tokenizing import JsonTokenizer
from app.models.protocols import EmbeddingModel

DEFAULT_MAX_TOKENS = 512
MAX_TOKENS = 100_000
"""This or a larger number in a file stands for no maximum."""
WHOLE = "sentence_embedding"
"""Name of the output of a graph that includes pooling."""
POOLINGS: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
    "mean": "mean",
    "cls": "cls",
    "lasttoken": "last",
}
"""By the flag, or by the value of `pooling_mode` in newer files."""
QUERY_PROMPTS, DOCUMENT_PROMPTS = ("query",), ("document", "passage", "corpus")
"""Names of prompts, in the order in which sentence-transformers looks for them."""
MODULES = frozenset({"Transformer", "Pooling", "Normalize"})


@dataclass(frozen=True, slots=True)
class Overrides:
    """Settings that replace what the folder says; None keeps it."""

    dimension: int | None = None
    max_tokens: int | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    name: str | None = None


def describe(path: Path, overrides: Overrides) -> EmbeddingModel:
    """Describes the embedding model in a folder without loading it. Raises ProviderError.

    It has the name of the folder unless `overrides` names it.
    """
    if not path.is_dir():
        raise ProviderError(f"{path} is no folder with a model.", fault="model")
    name = overrides.name or path.resolve().name
    model, pooling = known_models.find(name), _json(_pooling_file(path))
    published = pooling.get("word_embedding_dimension") or pooling.get("embedding_dimension")
    dimension = overrides.dimension or published or _json(path / "config.json").get("hidden_size") or model.dimension
    if not isinstance(dimension, int) or not dimension:
        raise ProviderError(f"{name} does not state its dimension: set STEPWELL_EMBEDDER_DIM.", fault="vectors")
    most = overrides.max_tokens or max_tokens(path, model.max_tokens)
    return EmbeddingModel(name, dimension, most, languages=model.languages)


def load_embedder(path: Path, overrides: Overrides, *, threads: int) -> OnnxEmbedder:
    """Load the embedding model in a folder and embed one word with it. Raises ProviderError."""
    described = describe(path, overrides)
    graph = load_graph(path, max_tokens=described.max_tokens, threads=threads)
    embedder = OnnxEmbedder(graph, described, _steps(path, graph.outputs, overrides, known_models.find(described.name)))
    embedder.check()
    return embedder


def load_reranker(path: Path, *, name: str, threads: int) -> OnnxReranker:
    """Load the cross-encoder in a folder and score one word with it. Raises ProviderError."""
    most = max_tokens(path, known_models.find(name).max_tokens)
    reranker = OnnxReranker(load_graph(path, max_tokens=most, threads=threads), name)
    reranker.check()
    return reranker


def load_graph(path: Path, *, max_tokens: int, threads: int) -> onnx_model.OnnxModel:
    """Load the graph and the tokenizer in a folder. Raises ProviderError that names the missing or unusable file."""
    name = f"The model in {path.name}"
    candidates = (path / "model.onnx", path / "onnx" / "model.onnx")
    file = next((candidate for candidate in candidates if candidate.is_file()), None)
    if file is None:
        raise ProviderError(f"{name} is missing: the folder has no model.onnx.", fault="model")
    try:
        session = onnx_model.open_session(file, threads=threads)
    except Exception as error:  # ONNX Runtime's exceptions have no other common base
        raise ProviderError(f"{name} cannot be loaded: {file.name} is not a complete model.", fault="model") from error
    try:
        tokenizer = JsonTokenizer(path / "tokenizer.json", max_tokens=max_tokens)
    except Exception as error:  # the library raises Exception itself
        raise ProviderError(f"{name} cannot be loaded: tokenizer.json is missing or damaged.", fault="model") from error
    return onnx_model.OnnxModel(name, session, tokenizer)


def max_tokens(path: Path, known_number: int) -> int:
    """The published maximum number of tokens of a text, else the known one, else DEFAULT_MAX_TOKENS."""
    for file, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        found = _json(path / file).get(key)
        if isinstance(found, int) and 0 < found < MAX_TOKENS:
            return found
    return known_number or DEFAULT_MAX_TOKENS


def _steps(path: Path, outputs: list[str], overrides: Overrides, model: KnownModel) -> EmbeddingSteps:
    whole = WHOLE in outputs
    pooling = _json(_pooling_file(path))
    prompts = _json(path / "config_sentence_transformers.json")
    query, document = overrides.query_prefix, overrides.document_prefix
    if query is None:
        query = _prompt(prompts, QUERY_PROMPTS) or model.query_prefix
    if document is None:
        document = _prompt(prompts, DOCUMENT_PROMPTS) or model.document_prefix
    if pooling.get("include_prompt") is False and (query or document):
        raise ProviderError(f"{path.name} leaves prefixes out of its pooling, which is not supported.", fault="model")
    lower_case = _json(path / "sentence_bert_config.json").get("do_lower_case") is True
    kind: Pooling = "mean" if whole else _pooling(path, pooling, model.pooling or "mean")
    return EmbeddingSteps(WHOLE if whole else outputs[0], kind, query, document, lower_case)


def _pooling(path: Path, pooling: dict[str, Any], default: Pooling) -> Pooling:
    """The published pooling, else the default. Raises ProviderError if it is not supported, or other steps follow."""
    others = {module.get("type", "").rpartition(".")[2] for module in _modules(path)} - MODULES
    if others:
        message = f"{path.name} has steps after its graph that are not supported: {', '.join(sorted(others))}."
        raise ProviderError(message, fault="model")
    if not pooling:
        return default
    flags = [name for name, value in pooling.items() if name.startswith("pooling_mode_") and value is True]
    chosen = [str(pooling["pooling_mode"])] if "pooling_mode" in pooling else flags
    if len(chosen) != 1 or chosen[0] not in POOLINGS:
        message = f"{path.name} pools by {', '.join(chosen) or 'nothing'}; supported: mean, cls and last token."
        raise ProviderError(message, fault="model")
    return POOLINGS[chosen[0]]


def _pooling_file(path: Path) -> Path:
    for module in _modules(path):
        if module.get("type", "").endswith(".Pooling"):
            return path / module.get("path", "") / "config.json"
    return path / "1_Pooling" / "config.json"


def _modules(path: Path) -> list[dict[str, str]]:
    found = _json(path / "modules.json", list)
    return [module for module in found if isinstance(module, dict)]


def _prompt(config: dict[str, Any], names: tuple[str, ...]) -> str:
    prompts = config.get("prompts") or {}
    chosen = next((name for name in names if name in prompts), config.get("default_prompt_name"))
    return str(prompts.get(chosen, ""))


def _json(file: Path, kind: type[dict[str, Any]] | type[list[Any]] = dict) -> Any:
    """The object or list in a file, an empty one if it does not exist. Raises ProviderError."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if type(found) is not kind:
            raise ValueError("another kind of JSON")
    except FileNotFoundError:
        return kind()
    except (OSError, ValueError, RecursionError) as error:
        raise ProviderError(f"{file.parent.name}/{file.name} cannot be read.", fault="model") from error
    return found
