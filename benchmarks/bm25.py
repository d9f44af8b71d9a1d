"""Compares the text leg with bm25s, an independent BM25, on the lexemes that the chunks are indexed with.

Both use k1 = 1.2, b = 0.75 and the idf of Lucene. Each set is ingested through the pipeline first.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import bm25s
import sqlalchemy as sa

from app.evaluation import beir, runner
from app.evaluation.runner import Strategy, Tenant
from app.pipelines.running.services import Services

DEPTH = 50
TEXT_LEG = Strategy("lexical", hierarchy="off", boost=False)
_CHUNKS = sa.text(
    """SELECT d.uri, array_agg(t.lexeme) AS lexemes, array_agg(cardinality(t.positions)) AS counts
       FROM stepwell.chunks AS c
       JOIN stepwell.documents AS d ON d.user_id = c.user_id AND d.document_id = c.document_id
       CROSS JOIN LATERAL unnest(c.tsv) AS t
       WHERE c.user_id = :user_id GROUP BY c.chunk_no, d.uri ORDER BY c.chunk_no"""
)


async def compare(folder: Path, services: Services) -> tuple[float, float]:
    """Returns nDCG@10 of the text leg and of bm25s on one set."""
    loaded, tenant = beir.load(folder), Tenant.of(str(folder))
    ours = await runner.run(loaded, TEXT_LEG, tenant, services=services)
    async with services.db.reading(tenant.user_id) as reading:
        rows = (await reading.execute(_CHUNKS, {"user_id": tenant.user_id})).all()
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([_repeated(row.lexemes, row.counts) for row in rows], show_progress=False)
    rankings = []
    for question in loaded.questions:
        lexemes = await _lexemes(question.text, tenant.user_id, services)
        places, _scores = index.retrieve([lexemes], k=min(DEPTH, len(rows)), show_progress=False)
        rankings.append(list(dict.fromkeys(rows[place].uri for place in places[0])))
    return ours.measures["ndcg@10"], runner.averages(rankings, loaded.questions)["ndcg@10"]


async def _lexemes(text: str, user_id: str, services: Services) -> list[str]:
    """Returns the lexemes that the service scores for a question, repeated by their count in the question."""
    query = replace(TEXT_LEG.query(text, user_id, services), explain=True)
    answer = await runner.answer(query, TEXT_LEG, services)
    return [term["lexeme"] for term in (answer.explain or {})["terms"] for _ in range(term["times"])]


def _repeated(lexemes: list[str], counts: list[int]) -> list[str]:
    return [lexeme for lexeme, count in zip(lexemes, counts, strict=True) for _ in range(count)]
