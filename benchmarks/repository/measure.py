"""Stores the code and the documentation of this repository, and asks 60 questions about them; or 50 about libraries.

Of the 60 questions, 40 are about code and 20 about tables; those about libraries are about code that is not ours, two
installed packages. Besides the file that answers it, a question has a text that the
passage with the answer contains: a passage counts as found if it is of that file and contains the text.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app import limits
from app.documents.files import file_reading
from app.documents.files.file_reading import NamedFile
from app.documents.storing import ingest
from app.documents.types import Upload
from app.entities.linking import mention_refresh
from app.errors import UnreadableFile
from app.evaluation import metrics
from app.query.search_request import SearchRequest
from app.query.search_types import Hit
from app.search import search
from app.services import Services

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
USER = "repository"
FOLDERS = (
    *("app/search", "app/query", "app/text", "app/parsing", "app/multihop", "app/relevance", "app/requests"),
    *("app/documents/storing", "app/documents/store", "app/database", "app/concurrency", "app/http"),
    *("app/web/playground", "client/src"),
)
"""Folders whose code is stored; the pages of `docs` are stored too, but for those with results of benchmarks."""
LIBRARIES = ("httpx", "starlette")
"""Packages about which the questions of `libraries.tsv` are."""
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
class Corpus:
    """Files by their path below a folder, and questions about them."""

    folder: Path
    files: Sequence[Path]
    questions: Sequence[Asked]

    def check(self) -> None:
        """Raises ValueError for a question whose text its file lacks."""
        for one in self.questions:
            if one.contains not in (self.folder / one.path).read_text(encoding="utf-8"):
                raise ValueError(f"{one.path} does not contain the answer to {one.text!r} any more: {one.contains!r}")


@dataclass(frozen=True, slots=True)
class KindFigures:
    """Means over the questions of a kind: of files, and of the passages with the answer."""

    kind: str
    questions: int
    file_ndcg: float
    file_recall: float
    passage_recall: float
    passage_mrr: float


def repository() -> Corpus:
    """This repository and the 60 questions about it."""
    paths = {row[0]: row[1] for row in _rows("qrels.tsv")}
    asked = map(json.loads, (HERE / "queries.jsonl").read_text(encoding="utf-8").splitlines())
    questions = [
        Asked(one["text"], one["metadata"]["type"], paths[one["_id"]], one["metadata"]["contains"]) for one in asked
    ]
    return Corpus(ROOT, list(_files()), questions)


def libraries() -> Corpus:
    """The installed packages LIBRARIES, whose versions are those of the lock, and the 50 questions about them."""
    spec = importlib.util.find_spec(LIBRARIES[0])
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parents[1]
    files = [path for name in LIBRARIES for path in sorted((folder / name).rglob("*.py"))]
    return Corpus(folder, files, [Asked(text, "libraries", path, part) for path, text, part in _rows("libraries.tsv")])


def _rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (HERE / name).read_text(encoding="utf-8").splitlines()[1:]]


def _files() -> Iterator[Path]:
    """The files of the repository that are stored."""
    for folder in FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SUFFIXES)
    yield from (path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in LEFT_OUT)


async def run(corpus: Corpus, services: Services, *, as_prose: bool) -> list[KindFigures]:
    """Store the files, ask the questions, and return the figures of each kind.

    `as_prose`: code is cut as plain text is. Raises ValueError for a question whose text its file lacks.
    """
    corpus.check()
    async for outcome in ingest.store(await _uploads(corpus, services, as_prose=as_prose), USER, services):
        if outcome.error is not None:
            raise outcome.error
    await mention_refresh.settle(USER, services)
    hits = {asked: await _hits(asked, services) for asked in corpus.questions}
    kinds = dict.fromkeys(asked.kind for asked in hits)
    return [_figures(kind, {asked: found for asked, found in hits.items() if asked.kind == kind}) for kind in kinds]


async def _uploads(corpus: Corpus, services: Services, *, as_prose: bool) -> list[Upload]:
    found: list[Upload] = []
    async with file_reading.opened(services.parse_limits) as reader:
        for path in corpus.files:
            is_renamed = as_prose and path.suffix in SUFFIXES
            name = f"{path.stem}.txt" if is_renamed else path.name
            file = NamedFile(path.read_bytes(), name, uri=path.relative_to(corpus.folder).as_posix())
            try:
                found += [one async for one in reader.uploads(file) if isinstance(one, Upload)]
            except UnreadableFile:  # an empty file
                continue
    return found


async def _hits(asked: Asked, services: Services) -> tuple[Hit, ...]:
    query = SearchRequest(query=asked.text, limit=limits.MAX_HITS, collapse="off")
    return (await search.run(query, USER, services)).hits


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
