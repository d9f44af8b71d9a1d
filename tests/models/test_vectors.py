"""Every vector has length 1."""

import math

import pytest

from app import errors
from app.models import unit_vectors


@pytest.mark.parametrize("length", [5e-324, 1e-300, 1e-25, 1.0, 1e38, 1e308])
def test_a_vector_of_any_length_is_scaled_to_length_1(length: float) -> None:
    unit = unit_vectors.unit_vector([length] * 384)
    assert math.hypot(*unit) == pytest.approx(1.0)
    assert unit == pytest.approx([384**-0.5] * 384)
    (same,) = unit_vectors.unit_arrays([[length] * 384], count=1, dimension=384)
    assert (same.typecode, same.tolist()) == ("f", pytest.approx(unit))


def test_the_direction_is_kept() -> None:
    assert unit_vectors.unit_vector([3e30, -4e30]) == pytest.approx([0.6, -0.8])
    assert unit_vectors.unit_vector([1.0, 1e-300]) == [1.0, 1e-300]


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [math.inf, 1.0], [math.nan, 1.0], [1.0, math.nan]])
def test_a_vector_without_a_direction_is_rejected(vector: list[float]) -> None:
    with pytest.raises(errors.BadEmbedding):
        unit_vectors.unit_vector(vector)
    with pytest.raises(errors.BadEmbedding):
        unit_vectors.unit_arrays([vector, vector], count=2, dimension=len(vector))


@pytest.mark.parametrize("computed", [[[1.0, 0.0]], [[1.0, 0.0], [1.0]], [[1.0, 0.0]] * 3])
def test_vectors_of_another_number_or_dimension_are_rejected(computed: list[list[float]]) -> None:
    with pytest.raises(errors.BadEmbedding):
        unit_vectors.unit_vectors(computed, count=2, dimension=2)
    with pytest.raises(errors.BadEmbedding):
        unit_vectors.unit_arrays(computed, count=2, dimension=2)
