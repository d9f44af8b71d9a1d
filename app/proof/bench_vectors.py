"""How do a few thousand real vectors become a million that lie as real ones do?

A made-up vector is a random mean of a real one and two of its near neighbours, moved along the difference of two
random real vectors, so that it keeps the real ones' directions. How far it is moved is calibrated: the nearest
neighbours in a sample are to be as far away as among as many real vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]

NEIGHBOURS = 8
MOVES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_COMPARED = 2_000


@dataclass(frozen=True, slots=True)
class Distances:
    """Cosine distances at QUANTILES: to the nearest other vector of the sample, and between random pairs."""

    nearest: tuple[float, ...]
    random: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Mixer:
    """Makes vectors from `real` ones (unit length); `near` holds each one's neighbours, by place."""

    real: Vectors
    near: npt.NDArray[np.int64]
    move: float

    def around(self, anchors: npt.NDArray[np.int64], rng: np.random.Generator) -> Vectors:
        """One vector for each anchor, the place of a real vector."""
        count = len(anchors)
        columns = rng.integers(0, self.near.shape[1], (2, count))
        shares = rng.dirichlet((1, 1, 1), count).astype(np.float32).T[:, :, None]
        mixed = shares[0] * self.real[anchors]
        for share, column in zip(shares[1:], columns, strict=True):
            mixed += share * self.real[self.near[anchors, column]]
        here, there = rng.integers(0, len(self.real), (2, count))
        return unit(mixed + self.move * (self.real[here] - self.real[there]))


def mixer(real: Vectors, *, seed: int = 0) -> Mixer:
    """A mixer over at least three real vectors, its move calibrated on a sample of as many made-up ones."""
    near = _neighbours(real, min(NEIGHBOURS, len(real) - 1))
    wanted = distances(real, seed=seed).nearest[2]
    anchors = np.random.default_rng(seed).integers(0, len(real), min(len(real), MOST_COMPARED))

    def miss(move: float) -> float:
        made = Mixer(real, near, move).around(anchors, np.random.default_rng(seed))
        return abs(distances(made, seed=seed).nearest[2] - wanted)

    return Mixer(real, near, min(MOVES, key=miss))


def distances(sample: Vectors, *, seed: int = 0) -> Distances:
    """How far apart the vectors of a sample lie (at most the first 2,000 random ones of it)."""
    rng = np.random.default_rng(seed)
    chosen = sample[rng.permutation(len(sample))[:MOST_COMPARED]]
    similar = chosen @ chosen.T
    pairs = similar[np.triu_indices(len(chosen), 1)]
    np.fill_diagonal(similar, -1)
    return Distances(_quantiles(1 - similar.max(axis=1)), _quantiles(1 - pairs))


def unit(vectors: npt.ArrayLike) -> Vectors:
    """The vectors at length one."""
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
