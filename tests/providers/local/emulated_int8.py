"""Computes the 8-bit model with numpy and exact integers, as minilm_int8.onnx describes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from app.providers.local import minilm_int8

Array = np.ndarray[Any, Any]
HEADS, WIDTH = 12, 32
_erf = np.vectorize(math.erf, otypes=[np.float64])


def vector(ids: list[int], tensors: Mapping[str, Array]) -> Array:
    """The vector of a text of these tokens; tensors other than words are in double precision."""
    words = tensors["words.weight"][ids] * tensors["words.scale"][ids]
    x = _normed(words + tensors["positions"][: len(ids)], tensors, "embeddings")
    for number in range(minilm_int8.LAYERS):
        attended = _attention(_linear(x, tensors, f"{number}.attention"))
        x = _normed(_linear(attended, tensors, f"{number}.attended") + x, tensors, f"{number}.attended")
        inner = _linear(x, tensors, f"{number}.inner")
        inner = inner * 0.5 * (1 + _erf(inner / math.sqrt(2)))
        x = _normed(_by_token(inner, tensors, f"{number}.outer") + x, tensors, f"{number}.outer")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def _linear(x: Array, tensors: Mapping[str, Array], name: str) -> Array:
    """ONNX' DynamicQuantizeLinear, and the product."""
    least, greatest = min(x.min(), 0), max(x.max(), 0)
    scale = (greatest - least) / 255
    zero = np.rint(-least / scale)
    quantized = np.clip(np.rint(x / scale) + zero, 0, 255)
    return _product(quantized - zero, tensors, name) * scale + tensors[f"{name}.bias"]


def _by_token(x: Array, tensors: Mapping[str, Array], name: str) -> Array:
    scale = np.maximum(x.max(axis=1, keepdims=True), 0.17) / 127
    quantized = np.clip(np.rint(x / scale), -128, 127)
    return _product(quantized, tensors, name) * scale + tensors[f"{name}.bias"]


def _product(x: Array, tensors: Mapping[str, Array], name: str) -> Array:
    """The sums are integers far below 2**53, so double precision computes them exactly."""
    return x @ tensors[f"{name}.weight"] * tensors[f"{name}.scale"]


def _attention(x: Array) -> Array:
    query, key, value = x.reshape(len(x), 3, HEADS, WIDTH).transpose(1, 2, 0, 3)
    weights = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(WIDTH))
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights @ value).transpose(1, 0, 2).reshape(len(x), HEADS * WIDTH)


def _normed(x: Array, tensors: Mapping[str, Array], name: str) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
    return scaled * tensors[f"{name}.norm.weight"] + tensors[f"{name}.norm.bias"]
