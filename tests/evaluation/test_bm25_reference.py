"""The text leg scores as bm25s, an independent BM25, does on the same lexemes."""

from __future__ import annotations

import random
from typing import Any

import asyncpg
import bm25s
import pytest
from harness import Tenant

from app.documents.types import Upload
from benchmarks.fake_embedder import FakeEmbedder

K1, B = 1.2, 0.75
WORDS = [
    f"{a}{b}{c}"
    for a in ("kal", "mor", "tid", "bru", "sto")
    for b in ("ka", "to", "vi", "zu")
    for c in ("ran", "mel", "dok")
]
SIZE = 250


def _texts() -> list[str]:
    """Documents of very different lengths over words whose frequencies fall as in real text."""
    chance = random.Random(20)
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    return [" ".join(chance.choices(WORDS, weights, k=chance.choice([3, 8, 20, 60]))) for _ in range(SIZE)]


def _queries() -> list[list[str]]:
    chance = random.Random(21)
    return [chance.sample(WORDS, chance.choice([1, 2, 4, 8])) for _ in range(40)]


@pytest.fixture(scope="module")
async def corpus(
    database: Any, owner: asyncpg.Connection, embedder: FakeEmbedder
) -> tuple[Tenant, list[str], list[list[str]]]:
    """The tenant that holds the texts, and each stored chunk's id with its lexemes, as often as they occur."""
    tenant = Tenant(database, embedder=embedder)
    await tenant.many([Upload(text, uri=str(number), markdown=False) for number, text in enumerate(_texts())])
    rows = await owner.fetch(
        """SELECT c.chunk_id::text AS id, array_agg(t.lexeme) AS lexemes, array_agg(cardinality(t.positions)) AS times
           FROM stepwell.chunks AS c CROSS JOIN LATERAL unnest(c.tsv) AS t
           WHERE c.user_id = $1 GROUP BY c.chunk_id""",
        tenant.user_id,
    )
    lexemes = [
        [lexeme for lexeme, times in zip(row["lexemes"], row["times"], strict=True) for _ in range(times)]
        for row in rows
    ]
    return tenant, [row["id"] for row in rows], lexemes


def _reference(lexemes: list[list[str]]) -> bm25s.BM25:
    index = bm25s.BM25(method="lucene", k1=K1, b=B)
    index.index(lexemes, show_progress=False)
    return index


async def test_the_scores_and_the_best_ten_are_those_of_an_independent_bm25(corpus: Any) -> None:
    tenant, chunk_ids, lexemes = corpus
    index = _reference(lexemes)
    compared = 0
    for words in _queries():
        answer = await tenant.ask(" ".join(words), mode="lexical", limit=10, explain=True)
        stems = [term["lexeme"] for term in answer.explain["terms"]]
        assert len(stems) == len(words)
        expected = dict(zip(chunk_ids, _scores(index, stems), strict=True))
        found = {str(hit.candidate.chunk_id): hit.candidate.text_score for hit in answer.hits}
        best = sorted(expected.values(), reverse=True)[: len(found)]
        for chunk_id, score in found.items():
            assert score == pytest.approx(expected[chunk_id], abs=1e-4)
        assert list(found.values()) == pytest.approx(best, abs=1e-4)
        clear = {chunk_id for chunk_id, score in expected.items() if score > best[-1] + 1e-4}
        assert clear <= found.keys()
        compared += len(found)
    assert compared > 300


def _scores(index: bm25s.BM25, lexemes: list[str]) -> list[float]:
    """The reference's scores; like Lucene since version 8 it leaves out the constant factor k1 + 1 of the formula."""
    scores: list[float] = ((K1 + 1) * index.get_scores(lexemes)).tolist()
    return scores
