"""Derives any number of synthetic vectors from a few thousand real ones.

A synthetic vector is a random weighted mean of a real vector and two of its nearest neighbours, moved along the
difference of two random real vectors. The length of that move is calibrated so that nearest-neighbour distances in a
sample equal those among as many real vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]

NEIGHBOURS = 8
MOVES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MAX_COMPARED = 2_000


@dataclass(frozen=True, slots=True)
class Distances:
    """Quantiles of cosine distances: to the nearest other vector in the sample, and between random pairs."""

    nearest: tuple[float, ...]
    random: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Mixer:
    """Derives vectors from `real` ones of unit length; row i of `near` has the neighbours' indices of vector i."""

    real: Vectors
    near: npt.NDArray[np.int64]
    move: float

    def sample(self, anchors: npt.NDArray[np.int64], rng: np.random.Generator) -> Vectors:
        """Returns one vector for each anchor, the index of a real vector."""
        count = len(anchors)
        columns = rng.integers(0, self.near.shape[1], (2, count))
        shares = rng.dirichlet((1, 1, 1), count).astype(np.float32).T[:, :, None]
        mixed = shares[0] * self.real[anchors]
        for share, column in zip(shares[1:], columns, strict=True):
            mixed += share * self.real[self.near[anchors, column]]
        here, there = rng.integers(0, len(self.real), (2, count))
        return unit(mixed + self.move * (self.real[here] - self.real[there]))


def mixer(real: Vectors, *, seed: int = 0) -> Mixer:
    """Returns a calibrated mixer over at least three real vectors."""
    near = _neighbours(real, min(NEIGHBOURS, len(real) - 1))
    wanted = distances(real, seed=seed).nearest[2]
    anchors = np.random.default_rng(seed).integers(0, len(real), min(len(real), MAX_COMPARED))

    def deviation(move: float) -> float:
        made = Mixer(real, near, move).sample(anchors, np.random.default_rng(seed))
        return abs(distances(made, seed=seed).nearest[2] - wanted)

    return Mixer(real, near, min(MOVES, key=deviation))


def distances(sample: Vectors, *, seed: int = 0) -> Distances:
    """Returns the distances within a sample, of at most 2,000 of its vectors."""
    rng = np.random.default_rng(seed)
    chosen = sample[rng.permutation(len(sample))[:MAX_COMPARED]]
    similar = chosen @ chosen.T
    pairs = similar[np.triu_indices(len(chosen), 1)]
    np.fill_diagonal(similar, -1)
    return Distances(_quantiles(1 - similar.max(axis=1)), _quantiles(1 - pairs))


def unit(vectors: npt.ArrayLike) -> Vectors:
    """Returns the vectors scaled to unit length."""
    rows = np.asarray(vectors, dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _neighbours(real: Vectors, count: int) -> npt.NDArray[np.int64]:
    places = []
    for start in range(0, len(real), 1_000):
        similar = real[start : start + 1_000] @ real.T
        similar[np.arange(len(similar)), np.arange(start, start + len(similar))] = -2
        places.append(np.argpartition(-similar, count - 1, axis=1)[:, :count])
    return np.concatenate(places)


def _quantiles(values: npt.NDArray[np.float32]) -> tuple[float, ...]:
    return tuple(round(float(value), 3) for value in np.quantile(values, QUANTILES))
