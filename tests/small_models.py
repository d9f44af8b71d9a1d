"""Builds folders with small models in ONNX format: an embedder that looks up token vectors, and a cross-encoder."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "lime", "mortar", "water", "well", "query", "passage", ":"]
DIMENSION = 8
VECTORS: npt.NDArray[np.float32] = np.random.default_rng(7).normal(size=(len(WORDS), DIMENSION)).astype(np.float32)
"""The vector of each token."""
POOLING = {"word_embedding_dimension": DIMENSION, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
MODULES = [{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}]


def embedder(folder: Path, *, inputs: tuple[str, ...] = ("input_ids", "attention_mask"), **files: Any) -> Path:
    """A folder with an embedder whose output is the vectors of the tokens; `files` are its further JSON files."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("MatMul", ["rows", "identity"], ["last_hidden_state"]),
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", DIMENSION])
    _save(folder, nodes, inputs, output)
    _write(folder, {"modules": MODULES, "1_Pooling/config": POOLING, "sentence_bert_config": {}} | files)
    return folder


def cross_encoder(folder: Path, *, labels: int = 1) -> Path:
    """A folder with a cross-encoder whose logit is the product of the sums of the vectors of both texts."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["attention_mask"], ["kept"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["kept", "second"], ["first"]),
        *_summed("first"),
        *_summed("second"),
        helper.make_node("Mul", ["first_sum", "second_sum"], ["products"]),
        helper.make_node("ReduceSum", ["products", "axis"], ["logit"], keepdims=1),
        helper.make_node("Neg", ["logit"], ["negative"]),
        helper.make_node("Concat", ["negative", "logit"] if labels == 2 else ["logit"] * labels, ["logits"], axis=1),
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])
    _save(folder, nodes, ("input_ids", "attention_mask", "token_type_ids"), output)
    _write(folder, {"tokenizer_config": {"model_max_length": 12}})
    return folder


def token_vectors(*words: str) -> npt.NDArray[np.float32]:
    """The vectors of the tokens of a text, with those of the special tokens."""
    ids = [WORDS.index(word) if word in WORDS else 1 for word in ("[CLS]", *words, "[SEP]")]
    return VECTORS[ids]


def unit(vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The vector with length one."""
    return np.asarray(vector / np.linalg.norm(vector))


def _summed(name: str) -> list[onnx.NodeProto]:
    return [
        helper.make_node("Unsqueeze", [name, "last"], [f"{name}_column"]),
        helper.make_node("Mul", ["rows", f"{name}_column"], [f"{name}_rows"]),
        helper.make_node("ReduceSum", [f"{name}_rows", "axis"], [f"{name}_sum"], keepdims=0),
    ]


def _save(folder: Path, nodes: list[onnx.NodeProto], inputs: tuple[str, ...], output: onnx.ValueInfoProto) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    constants = {
        "table": VECTORS,
        "identity": np.eye(DIMENSION, dtype=np.float32),
        "axis": np.array([1], np.int64),
        "last": np.array([2], np.int64),
    }
    used = {name for node in nodes for name in node.input}
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items() if name in used]
    ids = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in inputs]
    graph = helper.make_graph(nodes, "small", ids, [output], initializers)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), folder / "model.onnx"
    )
    _tokenizer().save(str(folder / "tokenizer.json"))


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    special = [(word, WORDS.index(word)) for word in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    return tokenizer


def _write(folder: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        file = folder / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
