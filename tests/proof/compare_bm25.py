"""Is the text leg as good as an exact BM25? Run it on sets in BEIR layout: `python tests/proof/compare_bm25.py FOLDER…`

Each set goes in through the real pipeline; bm25s (method lucene, the same k1 and b) gets the very lexemes that the
chunks were indexed with, and both rankings are scored.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

import bm25s
import sqlalchemy as sa

from app import config, runtime
from app.pipelines.services import Services
from app.proof import beir, evaluation

DEPTH = 50
_CHUNKS = sa.text(
    """SELECT d.uri, array_agg(t.lexeme) AS lexemes, array_agg(cardinality(t.positions)) AS times
       FROM stepwell.chunks AS c
       JOIN stepwell.documents AS d ON d.user_id = c.user_id AND d.document_id = c.document_id
       CROSS JOIN LATERAL unnest(c.tsv) AS t
       WHERE c.user_id = :user_id GROUP BY c.chunk_no, d.uri ORDER BY c.chunk_no"""
)


async def compare(folder: Path, services: Services) -> tuple[float, float]:
    """nDCG@10 of the text leg and of bm25s."""
    loaded, user_id = beir.load(folder), evaluation.user_of(str(folder))
    ours = await evaluation.run(loaded, user_id, mode="text", services=services)
    async with services.db.reading(user_id) as reading:
        rows = (await reading.execute(_CHUNKS, {"user_id": user_id})).all()
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([_repeated(row.lexemes, row.times) for row in rows], show_progress=False)
    rankings = []
    for question in loaded.questions:
        lexemes = await _lexemes(question.text, user_id, services)
        places, _scores = index.retrieve([lexemes], k=min(DEPTH, len(rows)), show_progress=False)
        rankings.append(list(dict.fromkeys(rows[place].uri for place in places[0])))
    return ours.measures["ndcg@10"], evaluation.averages(rankings, loaded.questions)["ndcg@10"]


async def _lexemes(text: str, user_id: str, services: Services) -> list[str]:
    """The lexemes that the service scores for a question, as often as they stand in it."""
    asked = evaluation.question(text, user_id, "text", "auto", services, explain=True)
    answer = await evaluation.answer(asked, services)
    return [term["lexeme"] for term in (answer.explain or {})["terms"] for _ in range(term["times"])]


def _repeated(lexemes: list[str], times: list[int]) -> list[str]:
    return [lexeme for lexeme, count in zip(lexemes, times, strict=True) for _ in range(count)]


async def main(folders: list[Path], data_dir: Path) -> None:
    async with runtime.open_services(config.load(data_dir=data_dir)) as services:
        for folder in folders:
            ours, reference = await compare(folder, services)
            print(f"{folder.name}: text leg {ours:.4f}, bm25s {reference:.4f}, difference {ours - reference:+.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--data-dir", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as fresh:
        Path(fresh).chmod(0o711)
        asyncio.run(main(given.folders, given.data_dir or Path(fresh) / "data"))
