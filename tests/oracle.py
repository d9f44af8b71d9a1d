"""Computes the expected results of the hybrid statement in plain Python from the stored rows, read as the owner."""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import asyncpg
import numpy as np

from app.enums import Vector

K1, B = 1.2, 0.75
STORED = """
SELECT c.chunk_no, c.chunk_id, c.document_id, c.content, c.length, CAST(e.embedding AS text) AS embedding,
       (SELECT jsonb_object_agg(t.lexeme, cardinality(t.positions)) FROM unnest(c.tsv) AS t) AS frequencies
FROM stepwell.chunks AS c JOIN stepwell.embeddings AS e USING (user_id, chunk_no)
WHERE c.user_id = $1
ORDER BY c.chunk_no
"""


@dataclass(frozen=True, slots=True)
class Row:
    chunk_no: int
    chunk_id: UUID
    document_id: UUID
    content: str
    length: int
    frequencies: Mapping[str, int]
    embedding: np.ndarray


@dataclass(frozen=True, slots=True)
class Leg:
    """Scores and ranks (from 1) of a leg's candidates."""

    scores: Mapping[UUID, float]
    ranks: Mapping[UUID, int]


@dataclass(frozen=True, slots=True)
class Corpus:
    rows: tuple[Row, ...]

    def idf(self, lexeme: str) -> float:
        df = sum(lexeme in row.frequencies for row in self.rows)
        return math.log(1 + (len(self.rows) - df + 0.5) / (df + 0.5))

    def bm25(self, lexemes: Iterable[str]) -> dict[UUID, float]:
        """Every chunk that holds a lexeme, with its score (Robertson et al. 1994, idf as in Lucene)."""
        weights = {lexeme: times * self.idf(lexeme) for lexeme, times in Counter(lexemes).items()}
        average = sum(row.length for row in self.rows) / len(self.rows)
        scores = {}
        for row in self.rows:
            norm = K1 * (1 - B + B * row.length / average)
            parts = [
                weight * row.frequencies[lexeme] * (K1 + 1) / (row.frequencies[lexeme] + norm)
                for lexeme, weight in weights.items()
                if lexeme in row.frequencies
            ]
            if parts:
                scores[row.chunk_id] = sum(parts)
        return scores

    def cosine(self, vector: Vector) -> dict[UUID, float]:
        # Postgres compares a query of the type of the stored vectors: 16 bits a number.
        query = np.array(vector, dtype=np.float16).astype(float)
        return {
            row.chunk_id: float(row.embedding @ query / np.linalg.norm(row.embedding) / np.linalg.norm(query))
            for row in self.rows
        }

    def leg(self, scores: Mapping[UUID, float], passing: Collection[UUID] | None = None, candidates: int = 100) -> Leg:
        """The best `candidates` of those that pass, at the cut the first stored ones. Equal scores have one rank."""
        place = {row.chunk_id: row.chunk_no for row in self.rows}
        kept = {chunk: score for chunk, score in scores.items() if passing is None or chunk in passing}
        found = sorted(kept, key=lambda chunk: (-round(kept[chunk], 5), place[chunk]))[:candidates]
        ranks = {score: n for n, score in reversed([*enumerate((round(kept[chunk], 5) for chunk in found), 1)])}
        return Leg({chunk: kept[chunk] for chunk in found}, {chunk: ranks[round(kept[chunk], 5)] for chunk in found})


async def corpus(owner: asyncpg.Connection, user_id: str) -> Corpus:
    rows = await owner.fetch(STORED, user_id)
    return Corpus(
        tuple(
            Row(
                row["chunk_no"],
                row["chunk_id"],
                row["document_id"],
                row["content"],
                row["length"],
                json.loads(row["frequencies"] or "{}"),
                np.array(json.loads(row["embedding"])),
            )
            for row in rows
        )
    )


def rrf(vector: Leg, text: Leg, *, k: float = 60, weights: tuple[float, float] = (1.0, 1.0)) -> dict[UUID, float]:
    """Sum of weight / (k + rank), with weights scaled to the sum 2; a leg that does not hold the chunk adds nothing."""
    weights = (2 * weights[0] / sum(weights), 2 * weights[1] / sum(weights))
    found = vector.ranks.keys() | text.ranks.keys()
    return {
        chunk: sum(
            weight / (k + leg.ranks[chunk])
            for leg, weight in zip((vector, text), weights, strict=True)
            if chunk in leg.ranks
        )
        for chunk in found
    }


def ordered(scores: Mapping[UUID, float], vector: Leg, text: Leg) -> list[UUID]:
    """By score, then by the better single rank, then by id."""
    worst = len(scores) + 1
    return sorted(
        scores,
        key=lambda chunk: (
            -round(scores[chunk], 12),
            min(vector.ranks.get(chunk, worst), text.ranks.get(chunk, worst)),
            chunk,
        ),
    )
