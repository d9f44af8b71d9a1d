"""Finds the terms with which a hop expands the question, in the best chunks: by a language model, names or statistics.

The best available method comes first. Each falls back to the next: llm, entities, statistical. A model chooses among
the stored names, which occur in other chunks, and adds further terms, so a failing model costs nothing. Without terms
(`none`) a hop follows links and does not search again; a search takes about half of its time.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app import errors
from app.database.transactions import Reading, retry_read
from app.documents.store import chunk_reads
from app.enums import Extractor, ExtractorUsed
from app.models import remote_calls
from app.models.protocols import Proposal
from app.multihop import store
from app.multihop.store import ChunkName
from app.query.search_types import Candidate
from app.search.state import SearchContext, SearchState
from app.text.names import names

MAX_TERMS = 5
MAX_TERM_LENGTH = 80
MAX_QUESTIONS, MAX_QUESTION_LENGTH = 2, 200
NAME_BONUS = 2.0
_WORD = re.compile(r"[^\W\d_]{4,40}")
_UNUSABLE = re.compile(
    r"^[+-]|[^\w\s.,'’&()/+#-]|https?:|www\.|//|--|@|[\w-]+\.(?:com|org|net|io|dev|ru|cn|info|xyz)\b", re.IGNORECASE
)


PASSAGES = 3
PASSAGE_CHARACTERS = 500
FALLBACK_ORDER: tuple[ExtractorUsed, ...] = ("llm", "entities", "statistical")


@dataclass(frozen=True, slots=True)
class HopTerms:
    """The terms of a hop, the method that found them (None: no method did), and the chunk that contains each.

    `questions` are the next questions that a language model proposes.
    """

    terms: tuple[str, ...] = ()
    method: ExtractorUsed | None = None
    sources: Mapping[str, UUID] = field(default_factory=dict)
    questions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to search for."""
        return bool(self.terms or self.questions)


@dataclass(frozen=True, slots=True)
class Passages:
    """The chunks to find terms in, best first, with their texts and the stored names in them."""

    question: str
    chunk_ids: Sequence[UUID]
    candidates: Mapping[UUID, Candidate]
    names: Sequence[ChunkName]
    corpus_chunks: int

    @property
    def texts(self) -> list[str]:
        """The beginning of each chunk."""
        return [candidate.content[:PASSAGE_CHARACTERS] for candidate in self.candidates.values()]

    @property
    def texts_with_titles(self) -> list[str]:
        """The beginning of each chunk below the title of its document."""
        titles = [candidate.title for candidate in self.candidates.values()]
        return [f"{title}\n{text}" for title, text in zip(titles, self.texts, strict=True)]


async def run(first: SearchState, chunk_ids: Sequence[UUID], *, method: Extractor) -> HopTerms:
    """Finds up to five terms in the first PASSAGES chunks (best first); none if no method finds any.

    `first` is the search for the question. Raises DatabaseUnavailable, DeadlineExceeded. A failing model is noted as
    `llm_failed`.
    """
    if method == "none":
        return HopTerms()
    context, chunk_ids = first.context, chunk_ids[:PASSAGES]
    with context.timed("extract"):
        passages = first.note(Passages)
        if passages is None or passages.chunk_ids != chunk_ids:
            passages = await _read(first, chunk_ids)
        proposal = await _ask_model(passages, context, method) if method in ("auto", "llm") else Proposal(())
        questions = tuple(usable_questions(proposal.questions, passages.question))
        preferred: ExtractorUsed = "llm" if method == "auto" else method
        for used in FALLBACK_ORDER[FALLBACK_ORDER.index(preferred) :]:
            found = _find(used, passages, proposal)
            if found:
                return HopTerms(tuple(found), used, _sources(found, passages), questions)
    return HopTerms(method="llm" if questions else None, questions=questions)


async def note_passages(first: SearchState, db: Reading) -> SearchState:
    """Notes the passages of the best hits in the search for the question. The next hop finds terms in them."""
    best = {hit.candidate.chunk_id: hit.candidate for hit in first.hits[:PASSAGES]}
    return first.noted(await _with_names(first, best, list(best), db)) if best else first


@retry_read
async def _read(first: SearchState, chunk_ids: Sequence[UUID]) -> Passages:
    async with first.context.services.db.searching(first.context.user_id) as reading:
        read = await chunk_reads.by_id(reading, chunk_ids, vector=None)
        candidates = {chunk_id: read[chunk_id][0] for chunk_id in chunk_ids if chunk_id in read}
        return await _with_names(first, candidates, chunk_ids, reading)


async def _with_names(
    first: SearchState, candidates: Mapping[UUID, Candidate], chunk_ids: Sequence[UUID], db: Reading
) -> Passages:
    stored = await store.names(db, chunk_ids)
    return Passages(first.query.text, chunk_ids, candidates, stored, first.result.corpus_chunks)


def _find(method: ExtractorUsed, passages: Passages, proposal: Proposal) -> list[str]:
    if method == "llm":
        proposed = usable(list(proposal.terms), passages.texts_with_titles, passages.question)
        return _choose_by_model(proposed, passages)
    if method == "entities":
        return _stored_names(passages)
    frequencies = {name.name_key: name.chunks for name in passages.names}
    return statistical(passages.texts, passages.question, chunks=frequencies, total=passages.corpus_chunks)


async def _ask_model(passages: Passages, context: SearchContext, method: Extractor) -> Proposal:
    """The model's proposal, unchecked; empty if there is no model or it fails."""
    llm = context.services.llm
    if llm is None:
        context.degraded += ["llm_failed"] if method == "llm" else []
        return Proposal(())
    try:
        async with context.turn.released(), asyncio.timeout(context.services.budget.llm_s):
            return await llm.propose(passages.question, passages.texts_with_titles)
    except (errors.ProviderError, TimeoutError) as error:
        remote_calls.log_failure("the language model proposed no terms", error, action="llm_failed")
        context.degraded.append("llm_failed")
        return Proposal(())


def _choose_by_model(proposed: Sequence[str], passages: Passages) -> list[str]:
    """The model's terms that are stored names of several chunks, then other stored names, then the model's other terms.

    Empty if none of the model's terms is among the first five.
    """
    shared = {name.name_key for name in passages.names if name.chunks > 1}
    known = [term for term in proposed if names.key(term) in shared]
    mixed = distinct((*known, *_stored_names(passages), *proposed))
    return mixed if set(mixed) & set(proposed) else []


def _stored_names(passages: Passages) -> list[str]:
    """Stored names of several chunks that are not in the question; names in better and in fewer chunks come first.

    Omits file names and titles such as "Appendix", which name nothing.
    """
    in_question = names.sequences(passages.question)

    def weight(name: ChunkName) -> float:
        idf = math.log(1 + passages.corpus_chunks / name.chunks)
        return idf / (1 + passages.chunk_ids.index(name.chunk_id))

    shared = [
        name
        for name in passages.names
        if name.name_key not in in_question and name.chunks > 1 and not names.is_general(name.name)
    ]
    ranked = sorted(shared, key=lambda name: (-weight(name), name.name_key))
    return distinct(name.name for name in ranked)


def _sources(found: Sequence[str], passages: Passages) -> dict[str, UUID]:
    """The chunk that contains each term, by default the best one."""
    by_name = {name.name_key: name.chunk_id for name in passages.names}
    best = next(iter(passages.candidates), None)
    chunk_ids = {term: by_name.get(names.key(term) or "", best) for term in found}
    return {term: chunk_id for term, chunk_id in chunk_ids.items() if chunk_id is not None}


def statistical(passages: Sequence[str], query: str, *, chunks: Mapping[str, int], total: int) -> list[str]:
    """Returns up to MAX_TERMS names and repeated words of the passages that are not in the query, by descending weight.

    A name weighs NAME_BONUS and its idf. `chunks` maps its key to the number of chunks, of `total`, that contain it. A
    word that occurs n times, at least twice, weighs `ln(1 + n)`.
    """
    query_keys = names.sequences(query)
    found: dict[str, tuple[float, str]] = {}
    for passage in passages:
        for name in names.find(passage):
            if name.key not in query_keys:
                weight = NAME_BONUS + _idf(chunks.get(name.key, 1), total)
                found[name.key] = max(found.get(name.key, (0.0, "")), (weight, name.text))
    counts = Counter(word for passage in passages for word in _WORD.findall(passage.casefold()))
    for word, count in counts.items():
        if count > 1 and word not in query_keys and names.is_distinctive([word]):
            found.setdefault(word, (math.log(1 + count), word))
    ranked = sorted(found.values(), key=lambda pair: (-pair[0], pair[1]))
    return distinct(text for _weight, text in ranked)


def usable_questions(proposed: Sequence[object], query: str) -> list[str]:
    """Returns the first MAX_QUESTIONS proposed questions that differ from the query and are short printable text."""
    kept = []
    for question in proposed:
        text = " ".join(question.split()) if isinstance(question, str) else ""
        if text and len(text) <= MAX_QUESTION_LENGTH and text.isprintable() and names.words(text) != names.words(query):
            kept.append(text)
    return list(dict.fromkeys(kept))[:MAX_QUESTIONS]


def _idf(df: int, total: int) -> float:
    return math.log(1 + (max(total, df) - df + 0.5) / (df + 0.5))


def distinct(terms: Iterable[str]) -> list[str]:
    """Returns the first MAX_TERMS terms, without terms whose words an earlier term contains."""
    kept: dict[str, str] = {}
    for term in terms:
        words = names.words(term)
        spaced = names.space(words)
        if words and not any(spaced in other for other in kept):
            kept[spaced] = term
            if len(kept) == MAX_TERMS:
                break
    return list(kept.values())


def usable(proposed: object, passages: Sequence[str], query: str) -> list[str]:
    """Returns up to MAX_TERMS proposed terms that occur in the passages but not in the query.

    Drops long or unprintable text, addresses, and values of other types.
    """
    if not isinstance(proposed, list):
        return []
    texts = [names.space(names.words(passage)) for passage in passages]
    question = names.space(names.words(query))
    kept = []
    for term in proposed[: 4 * MAX_TERMS]:
        if not isinstance(term, str) or not 2 <= len(term.strip()) <= MAX_TERM_LENGTH:
            continue
        term = " ".join(term.split())
        key = names.key(term)
        if not term.isprintable() or _UNUSABLE.search(term) or key is None:
            continue
        spaced = names.space([key])
        if spaced not in question and any(spaced in text for text in texts):
            kept.append(term)
    return distinct(kept)
