"""Checks the vectors that models return, and scales them to length 1."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from app import errors
from app.enums import Vector

ROUNDING = 1e-12
"""By how much the length of a unit vector in double precision may differ from 1."""


def unit_vector(vector: Vector, dimension: int | None = None) -> Vector:
    """The vector scaled to length 1, in double precision; one that has this length already is returned as it is.

    Postgres computes cosines in single precision, in which squares of very small or large components are 0 or infinite.
    Raises BadEmbedding if it has another dimension than the given one, is not finite or all zeros.
    """
    dimension = len(vector) if dimension is None else dimension
    if len(vector) == dimension and abs(math.hypot(*vector) - 1.0) < ROUNDING:
        return vector
    return unit_vectors([vector], count=1, dimension=dimension)[0]


def unit_vectors(computed: Sequence[Sequence[float]], *, count: int, dimension: int) -> list[Vector]:
    """The vectors that a model returned for `count` texts, scaled to length 1. Raises BadEmbedding."""
    vectors: list[Vector] = _units(computed, count, dimension).tolist()
    return vectors


def unit_arrays(computed: Sequence[Sequence[float]], *, count: int, dimension: int) -> list[array[float]]:
    """The same as 32-bit floats, which take an eighth of the memory. Raises BadEmbedding."""
    return [array("f", row.tobytes()) for row in _units(computed, count, dimension).astype(np.float32)]


def _units(computed: Sequence[Sequence[float]], count: int, dimension: int) -> npt.NDArray[np.float64]:
    others = {len(vector) for vector in computed} - {dimension}
    problem = f"vectors of {min(others)} dimensions instead of {dimension}" if others else ""
    if len(computed) != count:
        problem = f"{len(computed)} vectors for {count} texts"
    if problem:
        raise errors.BadEmbedding(f"The embedding model returned {problem}.", fault="vectors")
    vectors = np.array(computed, np.float64).reshape(count, dimension)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    if not np.all((largest > 0) & np.isfinite(largest)):
        raise errors.BadEmbedding(
            "The embedding model returned a vector that is not finite or all zeros.", fault="vectors"
        )
    vectors /= largest
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float64)


def read_vectors(found: Sequence[Any], *, count: int, dimension: int) -> list[Vector]:
    """The vectors in a provider's answer, scaled to length 1. Raises BadEmbedding."""
    try:
        if not all(type(number) in (int, float) for vector in found for number in vector):
            raise TypeError("not a number")
        vectors = [[float(number) for number in vector] for vector in found]
    except (TypeError, OverflowError) as error:
        message = "The embedding model returned something else than vectors."
        raise errors.BadEmbedding(message, fault="answer") from error
    return unit_vectors(vectors, count=count, dimension=dimension)
