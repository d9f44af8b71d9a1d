"""Builds the graphs in app/models/local; needs `onnx` and the installed weights, not torch.

A graph is BERT as the config.json of all-MiniLM-L6-v2 describes it (6 layers, 12 heads, hidden 384, erf GELU, LayerNorm
epsilon 1e-12), then its 1_Pooling (mean over the mask) and 2_Normalize; multilingual-e5-small differs in its 12 layers.
Weights are ONNX external data: byte ranges of what app/models/local/int8_model.py makes.

A graph is meant for one text at a time: activations are quantized by tensor, those after the GELU, which
have the largest outliers, by token.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from app.models.local import e5, int8_model, minilm
from app.models.local.int8_model import Int8Model, Tensor

HEADS = 12
EPSILON = 1e-12
CONTRIB = "com.microsoft"
INNER = 1536
VECTORS = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", 384])
GELU_LEAST = 0.17
"""Above the largest absolute value of a negative result of GELU, 0.16997."""


@dataclass(frozen=True)
class Place:
    """Where a weight is in the file."""

    kind: int
    shape: tuple[int, ...]
    offset: int
    length: int


@dataclass
class Graph:
    """Collects operators and the weights of a file that they use."""

    file: str
    places: dict[str, Place]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)

    def op(self, kind: str, *inputs: str, domain: str = "", output: str | None = None, **attributes: Any) -> str:
        return self.ops(kind, *inputs, domain=domain, outputs=[output] if output else None, **attributes)[0]

    def ops(
        self, kind: str, *inputs: str, domain: str = "", outputs: list[str] | None = None, **attributes: Any
    ) -> list[str]:
        """An operator with several outputs."""
        names = outputs or [f"{kind}_{len(self.nodes)}"]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], domain=domain, **attributes))
        return names

    def constant(self, value: int) -> str:
        """A one-element int64 tensor: ONNX takes axes and bounds as inputs."""
        return self.value(f"constant_{value}", np.array([value], np.int64))

    def value(self, name: str, array: np.ndarray[Any, Any]) -> str:
        if all(known.name != name for known in self.initializers):
            self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, name: str) -> str:
        """A tensor of the file, by its name there."""
        place = self.places[name]
        tensor = TensorProto(name=name, data_type=place.kind, dims=place.shape, data_location=TensorProto.EXTERNAL)
        for key, value in {"location": self.file, "offset": place.offset, "length": place.length}.items():
            tensor.external_data.add(key=key, value=str(value))
        self.initializers.append(tensor)
        return name

    def normed(self, x: str, name: str) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON)


def pooled(graph: Graph, x: str) -> None:
    """Mean over the unpadded tokens, then length one. [CLS] and [SEP] are always there, so neither divisor is zero."""
    mask = graph.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    tokens = graph.constant(1)
    kept = graph.op("Mul", x, graph.op("Unsqueeze", mask, graph.constant(2)))
    total = graph.op("ReduceSum", kept, tokens, keepdims=0)
    mean = graph.op("Div", total, graph.op("ReduceSum", mask, tokens, keepdims=1))
    graph.op("Div", mean, graph.op("ReduceL2", mean, tokens, keepdims=1), output="vectors")


def quantized_places(tensors: Iterable[tuple[str, Tensor]]) -> dict[str, Place]:
    """The weights in the file of these tensors."""
    places, end = {}, 0
    for name, tensor in tensors:
        start = int8_model.offset(end)
        end = start + tensor.nbytes
        kind, shape = helper.np_dtype_to_tensor_dtype(tensor.dtype), tensor.shape
        if tensor.dtype == np.uint8:  # two numbers of 4 bits in a byte
            kind, shape = TensorProto.INT4, (shape[0], 2 * shape[1])
        places[name] = Place(kind, shape, start, tensor.nbytes)
    return places


def quantized_words(graph: Graph) -> str:
    """The embeddings of words, of 8 bits with a scale each or of 4 bits with a scale for each 32 numbers."""
    weights, scales = graph.weight("words.weight"), graph.weight("words.scale")
    if graph.places[weights].kind == TensorProto.INT4:
        blocks = {"block_size": 32, "gather_axis": 0, "quantize_axis": 1}
        return graph.op("GatherBlockQuantized", weights, "input_ids", scales, domain=CONTRIB, **blocks)
    rows = graph.op("Cast", graph.op("Gather", weights, "input_ids"), to=TensorProto.FLOAT)
    return graph.op("Mul", rows, graph.op("Gather", scales, "input_ids"))


def quantized_embeddings(graph: Graph) -> str:
    words = quantized_words(graph)
    length = graph.op("Shape", "input_ids", start=1, end=2)
    zero = graph.constant(0)
    positions = graph.op("Slice", graph.weight("positions"), zero, length, zero)
    return graph.normed(graph.op("Add", words, positions), "embeddings.norm")


def quantized_by_tensor(graph: Graph, x: str) -> list[str]:
    """Unsigned activations, their scale and their zero point."""
    name = f"quantized_{len(graph.nodes)}"
    return graph.ops("DynamicQuantizeLinear", x, outputs=[name, f"{name}_scale", f"{name}_zero"])


def quantized_attention(graph: Graph, x: str, mask: str, name: str) -> str:
    values, scale, zero = quantized_by_tensor(graph, x)
    matrix, scales, bias = (graph.weight(f"{name}.{part}") for part in ("weight", "scale", "bias"))
    none = graph.value("signed_zero", np.array(0, np.int8))
    return graph.op(
        "QAttention", values, matrix, bias, scale, scales, mask, zero, none, domain=CONTRIB, num_heads=HEADS
    )


def quantized_linear(graph: Graph, x: str, name: str) -> str:
    values, scale, zero = quantized_by_tensor(graph, x)
    matrix, scales, bias = (graph.weight(f"{name}.{part}") for part in ("weight", "scale", "bias"))
    return graph.op("MatMulIntegerToFloat", values, matrix, scale, scales, zero, "", bias, domain=CONTRIB)


def quantized_linear_by_token(graph: Graph, x: str, shape: str, name: str) -> str:
    """The same for results of GELU, with a scale for each token, from the largest of them."""
    rows = graph.op("Reshape", x, graph.value("inner_rows", np.array([-1, INNER], np.int64)))
    greatest = graph.op("ReduceMax", rows, graph.constant(1), keepdims=0)
    greatest = graph.op("Max", greatest, graph.value("gelu_least", np.array(GELU_LEAST, np.float32)))
    scale = graph.op("Mul", greatest, graph.value("steps", np.array(1 / 127, np.float32)))
    middle = graph.value("middle", np.array(128, np.uint8))
    values = graph.op("QuantizeLinear", rows, scale, graph.op("Expand", middle, graph.op("Shape", scale)), axis=0)
    matrix, scales, bias = (graph.weight(f"{name}.{part}") for part in ("weight", "scale", "bias"))
    one = graph.value("one", np.array(1, np.float32))
    product = graph.op("MatMulIntegerToFloat", values, matrix, one, scales, middle, domain=CONTRIB)
    scaled = graph.op("Mul", product, graph.op("Unsqueeze", scale, graph.constant(1)))
    return graph.op("Add", graph.op("Reshape", scaled, graph.op("Shape", shape)), bias)


def quantized_layer(graph: Graph, x: str, mask: str, number: int) -> str:
    context = quantized_attention(graph, x, mask, f"{number}.attention")
    attended = graph.op("Add", quantized_linear(graph, context, f"{number}.attended"), x)
    x = graph.normed(attended, f"{number}.attended.norm")
    inner = graph.op("Gelu", quantized_linear(graph, x, f"{number}.inner"), approximate="none")
    outer = graph.op("Add", quantized_linear_by_token(graph, inner, x, f"{number}.outer"), x)
    return graph.normed(outer, f"{number}.outer.norm")


def build_int8(described: Int8Model, tensors: Iterable[tuple[str, Tensor]]) -> bytes:
    """The serialised graph of 8 bits of a model with these tensors."""
    graph = Graph(described.weights, quantized_places(tensors))
    x = quantized_embeddings(graph)
    mask = graph.op("Cast", "attention_mask", to=TensorProto.INT32)
    for number in range(described.layers):
        x = quantized_layer(graph, x, mask, number)
    pooled(graph, x)
    return model(graph, described.model.name).SerializeToString(deterministic=True)


def model(graph: Graph, name: str) -> onnx.ModelProto:
    names = ("input_ids", "attention_mask")
    tokens = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    body = helper.make_graph(graph.nodes, name, tokens, [VECTORS], graph.initializers)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=10)


if __name__ == "__main__":
    for described, folder in ((minilm.DESCRIBED, minilm.locate_package()), (e5.DESCRIBED, e5.locate_package())):
        tensors = int8_model.tensors(described.read(folder / described.published), described.layers)
        described.graph.write_bytes(build_int8(described, tensors))
        print(f"{described.graph}: {described.graph.stat().st_size} bytes")
