"""Stores the code and the documentation of this repository, and asks 60 questions about them.

40 questions are about code and 20 about tables. Besides the file that answers it, a question has a text that the
passage with the answer contains: a passage counts as found if it is of that file and contains the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.errors import UnreadableFile
from app.evaluation import metrics
from app.pipelines.documents import file_reading, ingest
from app.pipelines.documents.file_reading import NamedFile
from app.pipelines.linking import mention_refresh
from app.pipelines.running.services import Services
from app.pipelines.search import search
from app.shapes import Hit, Query, Upload, limits

ROOT = Path(__file__).parents[2]
USER = "repository"
FOLDERS = (
    *("app/ranking", "app/text", "app/shapes", "app/parsing", "app/pipelines/search", "app/pipelines/multihop"),
    *(
        "app/pipelines/running",
        "app/pipelines/documents",
        "app/store/documents",
        "app/store/search",
        "app/api/contract",
    ),
    *("app/web/playground", "client/src"),
)
"""Folders whose code is stored; the pages of `docs` are stored too, but for those with results of benchmarks."""
SUFFIXES = (".py", ".sql", ".js")
LEFT_OUT = ("benchmarks.md",)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its kind, the file that answers it, and a text of the passage that does."""

    text: str
    kind: str
    path: str
    contains: str


@dataclass(frozen=True, slots=True)
class KindFigures:
    """Means over the questions of a kind: of files, and of the passages with the answer."""

    kind: str
    questions: int
    file_ndcg: float
    file_recall: float
    passage_recall: float
    passage_mrr: float


def questions() -> list[Asked]:
    """The questions, with the file and the text of each. Raises ValueError for a text that its file lacks."""
    here = Path(__file__).parent
    rows = (line.split("\t") for line in (here / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:])
    paths = {row[0]: row[1] for row in rows}
    asked = map(json.loads, (here / "queries.jsonl").read_text(encoding="utf-8").splitlines())
    found = [
        Asked(one["text"], one["metadata"]["type"], paths[one["_id"]], one["metadata"]["contains"]) for one in asked
    ]
    for one in found:
        if one.contains not in (ROOT / one.path).read_text(encoding="utf-8"):
            raise ValueError(f"{one.path} does not contain the answer to {one.text!r} any more: {one.contains!r}")
    return found


def files() -> Iterator[Path]:
    """The files that are stored."""
    for folder in FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SUFFIXES)
    yield from (path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in LEFT_OUT)


async def run(services: Services) -> list[KindFigures]:
    """Store the files, ask the questions, and return the figures of each kind."""
    async for outcome in ingest.many(await _uploads(services), USER, services):
        if outcome.error is not None:
            raise outcome.error
    await mention_refresh.settle(USER, services)
    hits = {asked: await _hits(asked, services) for asked in questions()}
    kinds = dict.fromkeys(asked.kind for asked in hits)
    return [_figures(kind, {asked: found for asked, found in hits.items() if asked.kind == kind}) for kind in kinds]


async def _uploads(services: Services) -> list[Upload]:
    found: list[Upload] = []
    async with file_reading.opened(services.parse_limits) as reader:
        for path in files():
            file = NamedFile(path.read_bytes(), path.name, uri=path.relative_to(ROOT).as_posix())
            try:
                found += [one async for one in reader.uploads(file) if isinstance(one, Upload)]
            except UnreadableFile:  # an empty file
                continue
    return found


async def _hits(asked: Asked, services: Services) -> tuple[Hit, ...]:
    query = Query(USER, asked.text, limit=limits.MAX_HITS, candidates=services.candidates, guidance=services.guidance)
    return (await search.run(query, services)).hits


def _figures(kind: str, hits: dict[Asked, tuple[Hit, ...]]) -> KindFigures:
    count = len(hits)
    files = {asked: list(dict.fromkeys(str(hit.candidate.uri) for hit in found)) for asked, found in hits.items()}
    ranks = [_rank(asked, found) for asked, found in hits.items()]
    return KindFigures(
        kind,
        count,
        file_ndcg=sum(metrics.ndcg(ranked, {asked.path: 1}, 10) for asked, ranked in files.items()) / count,
        file_recall=sum(metrics.recall(ranked, {asked.path: 1}, 5) for asked, ranked in files.items()) / count,
        passage_recall=sum(rank is not None and rank <= 5 for rank in ranks) / count,
        passage_mrr=sum(1 / rank for rank in ranks if rank is not None and rank <= 10) / count,
    )


def _rank(asked: Asked, hits: tuple[Hit, ...]) -> int | None:
    """The rank of the first passage with the answer."""
    found = (
        rank
        for rank, hit in enumerate(hits, 1)
        if hit.candidate.uri == asked.path and asked.contains in hit.candidate.content
    )
    return next(found, None)
