"""Measures flat and multi-hop search by the size of chunks, on documents as they are or bound into long ones.

The paragraphs of most sets are shorter than a chunk. `bind` joins documents in random order into long ones without
headings, so that the size decides where they are cut; a hit then stands for the documents that it has half of, or that
are half of it.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from app.evaluation import beir, metrics, runner
from app.evaluation.runner import Strategy
from app.pipelines.documents import documents, ingest
from app.pipelines.linking import mention_refresh
from app.pipelines.maintenance import reindex
from app.pipelines.running.chunking_options import ChunkingOptions
from app.pipelines.running.services import Services
from app.shapes import Answer, Hit, Upload
from app.text.words import cleaning

MAX_HOPS = 4
"""Relevant documents that a question has at most in sets for which multi-hop search is measured."""
CONTEXT = 6_000
"""Characters of hits that are read, about 1,500 tokens: larger chunks leave room for fewer of them."""


@dataclass(frozen=True, slots=True)
class Section:
    """Where a document is in the document that it was bound into."""

    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BoundDocuments:
    """The documents to store, and by their URI the documents of the set that they contain."""

    uploads: tuple[Upload, ...]
    sections: dict[str, tuple[Section, ...]]

    def documents(self, hit: Hit) -> list[str]:
        """The documents of the set that a hit stands for."""
        chunk = hit.candidate
        found = []
        for section in self.sections[str(chunk.uri)]:
            shared = min(section.end, chunk.end_offset) - max(section.start, chunk.start_offset)
            if 2 * shared >= min(section.end - section.start, chunk.end_offset - chunk.start_offset):
                found.append(section.document)
        return found

    def ranked(self, hits: Sequence[Hit]) -> list[str]:
        """The documents in the order of their first hit."""
        return list(dict.fromkeys(document for hit in hits for document in self.documents(hit)))


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """The chunks of a size, what storing them took, and metrics averaged over the questions.

    `in_context` is the share of the relevant documents in the first CONTEXT characters of hits.
    """

    size: int
    chunks: int
    embedded: int
    cpu_s: float
    ndcg: float
    recall: float
    in_context: float
    multihop_recall: float | None


def unbound(loaded: beir.EvaluationSet) -> BoundDocuments:
    """A set's documents as they are."""
    uris = [str(upload.uri) for upload in loaded.documents]
    return BoundDocuments(tuple(loaded.documents), {uri: (Section(uri, 0, 1_000_000_000),) for uri in uris})


def bind(loaded: beir.EvaluationSet, size: int, seed: int = 0) -> BoundDocuments:
    """Binds `size` documents at a time into one, each a paragraph below its title."""
    shuffled = list(loaded.documents)
    random.Random(seed).shuffle(shuffled)
    uploads, sections = [], defaultdict[str, list[Section]](list)
    for number, first in enumerate(range(0, len(shuffled), size), 1):
        text = ""
        for upload in shuffled[first : first + size]:
            own = cleaning.clean(f"{upload.title or ''}\n{upload.content}").text.strip()
            start = len(text) + 2 if text else 0
            text = f"{text}\n\n{own}" if text else own
            sections[f"bound-{number}"].append(Section(str(upload.uri), start, len(text)))
        uploads.append(Upload(text, f"Volume {number}", f"bound-{number}", markdown=False))
    return BoundDocuments(tuple(uploads), {uri: tuple(found) for uri, found in sections.items()})


async def measure(
    loaded: beir.EvaluationSet, bound: BoundDocuments, user_id: str, services: Services, *, sizes: Sequence[int]
) -> AsyncIterator[SizeFigures]:
    """Stores the documents with each size of chunks in turn and asks the set's questions."""
    overlap = services.chunking_options.overlap
    for size in sizes:
        sized = replace(services, chunking_options=ChunkingOptions(size, overlap))
        began = time.process_time()
        embedded = await _store(bound, user_id, sized)
        cpu_s = time.process_time() - began
        chunks = (await documents.stats(user_id, db=services.db)).chunks
        yield SizeFigures(size, chunks, embedded, cpu_s, *await _means(loaded, bound, user_id, sized))


async def _store(bound: BoundDocuments, user_id: str, services: Services) -> int:
    embedded = 0
    async for outcome in ingest.many(bound.uploads, user_id, services):
        if outcome.error is not None:
            raise outcome.error
        embedded += outcome.stored.embedded if outcome.stored else 0
    again = 0
    async for done in reindex.run(user_id, services, which="every"):
        again = done.embedded
    await mention_refresh.settle(user_id, services)
    return embedded + again


async def _means(
    loaded: beir.EvaluationSet, bound: BoundDocuments, user_id: str, services: Services
) -> tuple[float, float, float, float | None]:
    """nDCG@10, recall@5 and recall within the context of flat search; recall@5 of multi-hop search."""
    ndcg = recall = in_context = multihop = 0.0
    hops = all(len(question.relevant) <= MAX_HOPS for question in loaded.questions)
    for question in loaded.questions:
        flat = await _asked(question, user_id, services, Strategy("flat"))
        ranking, read = bound.ranked(flat.hits), bound.ranked(_read(flat.hits))
        ndcg += metrics.ndcg(ranking, question.relevant, 10)
        recall += metrics.recall(ranking, question.relevant, 5)
        in_context += metrics.recall(read, question.relevant, len(read))
        if hops:
            deep = await _asked(question, user_id, services, Strategy("multihop"))
            multihop += metrics.recall(bound.ranked(deep.hits), question.relevant, 5)
    count = len(loaded.questions)
    return ndcg / count, recall / count, in_context / count, multihop / count if hops else None


async def _asked(question: beir.JudgedQuestion, user_id: str, services: Services, strategy: Strategy) -> Answer:
    return await runner.answer(strategy.query(question.text, user_id, services), strategy, services)


def _read(hits: Sequence[Hit]) -> list[Hit]:
    """The first hits that fit into the context."""
    read, left = [], CONTEXT
    for hit in hits:
        left -= len(hit.candidate.content)
        if left < 0:
            break
        read.append(hit)
    return read
