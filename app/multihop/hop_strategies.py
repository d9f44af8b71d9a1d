"""Defines two ways to search further hops: following links and summing signals, or searching again with bonuses.

Both order every chunk against the original question. The sum of signals is `Σ weight · signal` over the table of
`query.hop_signal_weights`, plus `covers`: the words of the question that a chunk adds to the chunks above it, because
the answer is spread over passages. Limited signals lift no chunk above the best chunk without them: a link comes after
the passage where it starts. Weights and alternatives: docs/decisions/0003-multihop.md.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from uuid import UUID

from app.database.transactions import Reading
from app.documents.store import chunk_reads
from app.enums import Fusion, FusionUsed
from app.multihop import store
from app.multihop.hop_state import HopChunk, HopState
from app.multihop.store import LinkedChunk, LinkScope, LinkSource, SourceIdentifier
from app.query import hop_signal_weights
from app.query.search_request import SearchRequest
from app.query.search_types import Candidate, HybridRequest
from app.search import hybrid_request, rank_fusion
from app.search.rank_fusion import HopHit, Id, Scored
from app.search.store import hybrid_search
from app.search.store.hybrid_search import RankedChunk
from app.text.names import names
from app.text.queries import identifiers

COVERAGE_WEIGHT = 2.0
"""Weight of the question's words that a chunk adds (docs/decisions/0003-multihop.md)."""
COVERAGE_POOL = 60
"""Number of chunks with the largest sums whose words are compared."""
TIE = 1e-9
"""Least distance of scores whose order must hold, such as a sum with limited signals and the best sum without them."""
LARGEST_SUM = sum(one.weight * one.largest for one in hop_signal_weights.SIGNALS if not one.is_limited)
"""The sum if each signal except limited ones has its largest value. Limited ones raise no sum above it."""

MIN_WIDTH = 5
"""Least number of chunks that a hop adds from a search."""
MAX_SOURCES = 5
"""Most chunks whose links a hop follows."""
SOURCE_WEIGHT = 0.5
"""Weight of links from a retrieved chunk; links from a document that the question names have weight 1."""
HOP_DECAY = 0.5
"""Factor of the signals from one hop to the next."""
MAX_IDENTIFIERS = 12
"""Most identifiers that a hop follows. Identifiers of the best sources come first."""
LEADING_SHARE = 0.65
"""A source is leading if its score in hop 1 is at least this share of the best score in hop 1."""


def hop_width(query: SearchRequest) -> int:
    """Number of chunks that a hop adds from a search."""
    return max(MIN_WIDTH, query.limit)


@dataclass(frozen=True, slots=True)
class HopSearch:
    """A search of a further hop: for a question of the model, or (None) for the original one with the hop's terms."""

    request: HybridRequest
    question: str | None = None


@dataclass(frozen=True)
class HopScores:
    """The combined scores of all chunks, and the score of a chunk that is first by every measure.

    `hops` has the hop of every chunk that a hop brought.
    """

    by_chunk: Mapping[UUID, Scored]
    largest: float
    hops: Mapping[UUID, int] = field(default_factory=dict)

    @cached_property
    def order(self) -> list[UUID]:
        """The chunks by score, then by hop."""
        return rank_fusion.order(self.by_chunk, self.hops)


@dataclass(frozen=True, slots=True)
class LinkStrategy:
    """Follows links from the best chunks, and scores by a weighted sum of signals (docs/decisions/0003)."""

    query: SearchRequest

    def first_fusion(self) -> Fusion:
        """The fusion that the query asks for."""
        return self.query.ranking.fusion

    def merged_fusion(self) -> FusionUsed:
        """Convex, because sums of signals are spread like convex scores."""
        return "convex"

    async def retrieve(
        self, hop: int, searches: Sequence[HopSearch], sources: Sequence[UUID], state: HopState, db: Reading
    ) -> list[UUID]:
        """Raise the signals of the chunks that the searches or the links of the sources find."""
        found = {search.question: await _ranked(search, db) for search in searches}
        decay = HOP_DECAY ** (hop - 2)
        followed = [chunk_id for chunk_id in sources if not state.chunks[chunk_id].followed][:MAX_SOURCES]
        link_sources = _link_sources(followed, decay, state)
        linked = await store.follow(db, self._scope(link_sources, chain(*found.values()), state))
        linked = await _passing(linked, state, db)
        state.sums = None
        for chunk_id in followed:
            state.chunks[chunk_id].followed = True
        for question, ranked in found.items():
            state.record_search(question, ranked, decay)
        width = hop_width(self.query)
        brought = [one.chunk_id for ranked in found.values() for one in ranked[:width]]
        brought += state.record_links(linked)
        if state.follows_names:
            await self._read_lexemes(state, db)
        return state.assign_hop(brought, hop)

    def _scope(self, sources: Sequence[LinkSource], found: Iterable[RankedChunk], state: HopState) -> LinkScope:
        """Where the links of the hop start, and the chunks found by its searches, to compare with the question."""
        first, retrieved = state.first, {*state.chunks, *(one.chunk_id for one in found)}
        keys = names.sequences(first.parsed.text)
        return LinkScope(
            sources=sources,
            names=keys,
            headings={key for key in keys if " " in key} | {name.key for name in names.find(first.parsed.text)},
            words={
                term.lexeme: term.idf * term.idf if term.df else 0.0 for term in first.result.terms if not term.is_added
            },
            vector=first.request.vector,
            corpus_chunks=first.result.corpus_chunks,
            compared={chunk_id for chunk_id in retrieved if not state.is_compared(chunk_id)},
            filters=self.query.filters,
            exclude_chunk_ids=tuple(self.query.exclude_chunk_ids),
        )

    async def _read_lexemes(self, state: HopState, db: Reading) -> None:
        """Read which lexemes of the question the leading chunks contain, for their coverage."""
        state.sums = _sums(state)
        leading = rank_fusion.order(state.sums, state.brought)[:COVERAGE_POOL]
        lexemes = await chunk_reads.matching_lexemes(db, leading, state.question_idf)
        for chunk_id, contained in lexemes.items():
            state.chunks[chunk_id].lexemes = contained

    def scores(self, state: HopState) -> HopScores:
        """The sums of signals, each with the chunk's coverage; without links by names, the scores of one search."""
        if not state.follows_names:
            return _scores_without_names(state)
        words, idf = state.question_lexemes, state.question_idf
        limited = limit_sums(_sums(state) if state.sums is None else state.sums, words, idf)
        brought = state.brought
        covered = add_coverage(limited, words, idf, brought)
        return HopScores(covered, largest=LARGEST_SUM + COVERAGE_WEIGHT, hops=brought)


async def _ranked(search: HopSearch, db: Reading) -> Sequence[RankedChunk]:
    """Runs a search. For questions its scores are convex, because these differ more among the first hits."""
    request = search.request if search.question is None else replace(search.request, fusion="convex")
    return await hybrid_search.ranked(db, request)


async def _passing(linked: list[LinkedChunk], state: HopState, db: Reading) -> list[LinkedChunk]:
    """The chunks that meet the conditions of hop 1. Following links does not check these conditions."""
    conditions = state.first.request.lexical
    if conditions is None or not conditions.has_conditions:
        return linked
    new = list(dict.fromkeys(one.chunk_id for one in linked if one.chunk_id not in state.chunks))
    failing = await hybrid_search.find_failing(db, new, conditions)
    return [one for one in linked if one.chunk_id not in failing]


def _sums(state: HopState) -> dict[UUID, Scored]:
    return {chunk_id: sum_signals(chunk.signals) for chunk_id, chunk in state.chunks.items()}


def _link_sources(chunk_ids: Sequence[UUID], decay: float, state: HopState) -> list[LinkSource]:
    """The chunks as sources of links, largest weight first."""
    weights = {chunk_id: decay * _source_weight(state.chunks[chunk_id], state) for chunk_id in chunk_ids}
    ordered = sorted(weights, key=lambda chunk_id: -weights[chunk_id])
    leading = _leading(ordered, state)
    found = _identifiers(leading, state)
    return [
        LinkSource(
            chunk_id,
            weights[chunk_id],
            lead=leading.get(chunk_id, 0.0),
            identifiers=found.get(chunk_id, ()),
            identifier_pieces=identifiers.find_pieces(state.chunks[chunk_id].text) if chunk_id in leading else "",
        )
        for chunk_id in ordered
    ]


def _source_weight(chunk: HopChunk, state: HopState) -> float:
    """The weight of links from a chunk, by its RRF score in hop 1, scaled to 0–1, or for a later chunk by its sum."""
    request = state.first.request
    if chunk.rrf_sum is not None:
        return SOURCE_WEIGHT * chunk.rrf_sum * (request.k + 1) / (request.weights.vector + request.weights.text)
    return SOURCE_WEIGHT * min(1.0, sum_signals(chunk.signals).score / LARGEST_SUM)


def _leading(chunk_ids: Sequence[UUID], state: HopState) -> dict[UUID, float]:
    """The chunks whose scores are not far below the best score of hop 1, with their shares of it."""
    fused = {chunk_id: chunk.signals.get("fused", 0.0) for chunk_id, chunk in state.chunks.items()}
    best = max(fused.values(), default=0.0)
    return {one: fused[one] / best for one in chunk_ids if fused[one] >= LEADING_SHARE * best > 0}


def _identifiers(chunk_ids: Iterable[UUID], state: HopState) -> dict[UUID, list[SourceIdentifier]]:
    """The first identifiers in the chunks that are not in the question, each by the first chunk that contains it."""
    known = {text.casefold() for text in identifiers.find_identifiers(state.first.parsed.text)}
    found: dict[str, tuple[UUID, str]] = {}
    for chunk_id in chunk_ids:
        for text in identifiers.find_identifiers(state.chunks[chunk_id].text):
            if text.casefold() not in known:
                found.setdefault(text.casefold(), (chunk_id, text))
    by_chunk: dict[UUID, list[SourceIdentifier]] = {}
    for chunk_id, text in list(found.values())[:MAX_IDENTIFIERS]:
        by_chunk.setdefault(chunk_id, []).append(SourceIdentifier(text, hybrid_request.index_text(text)))
    return by_chunk


@dataclass(frozen=True, slots=True)
class ClassicStrategy:
    """Searches again with the added terms, and scores by RRF with a bonus for hop 1 and for single documents."""

    query: SearchRequest

    def first_fusion(self) -> Fusion:
        """RRF, whatever the query asks for, because the bonuses are on its scale."""
        return "rrf"

    def merged_fusion(self) -> FusionUsed:
        """RRF, because the merged scores are RRF scores with small bonuses."""
        return "rrf"

    async def retrieve(
        self, hop: int, searches: Sequence[HopSearch], sources: Sequence[UUID], state: HopState, db: Reading
    ) -> list[UUID]:
        """Add the chunks that the searches find and that no hop has brought.

        A chunk that hop 1 only compared takes its text and scores from here. A chunk that several searches find keeps
        the scores of the first search.
        """
        found: dict[UUID, Candidate] = {}
        sums: dict[UUID, float] = {}
        excluded = (*self.query.exclude_chunk_ids, *state.brought)
        for search in searches:
            request = replace(search.request, limit=hop_width(self.query), exclude_chunk_ids=excluded)
            result = await hybrid_search.hybrid(db, request)
            for candidate in result.candidates:
                found.setdefault(candidate.chunk_id, candidate)
                sums.setdefault(candidate.chunk_id, hybrid_request.rrf_sum(candidate.rrf_score, result.weights))
        read = await chunk_reads.by_id(db, list(found), vector=state.first.request.vector)
        for candidate in found.values():
            _, similarity = read.get(candidate.chunk_id, (candidate, None))
            chunk = state.chunk(candidate.chunk_id, candidate.document_id)
            chunk.candidate, chunk.rrf_sum = candidate, sums[candidate.chunk_id]
            if chunk.similarity is None:
                chunk.similarity = similarity
        return state.assign_hop(found, hop)

    def scores(self, state: HopState) -> HopScores:
        """RRF within the chunk's own hop, plus bonuses. Largest for rank 1 in both legs of hop 1, with both bonuses."""
        hits = (
            HopHit(chunk.chunk_id, chunk.document_id, chunk.hop, chunk.rrf_sum or 0.0)
            for chunk in state.chunks.values()
            if chunk.hop is not None
        )
        request = state.first.request
        first_in_both = (request.weights.vector + request.weights.text) / (request.k + 1)
        return HopScores(rank_fusion.classic(hits), largest=rank_fusion.max_classic(first_in_both), hops=state.brought)


HopStrategy = LinkStrategy | ClassicStrategy


def _scores_without_names(state: HopState) -> HopScores:
    """The scores of one search, or half of those of the expanded query where these are larger, and limited signals.

    If no name leads from one passage to another, the best passage of one search is mostly the answer. Limited signals
    have the weights that they have beside `fused` and `cos`, which hop 1's score replaces.
    """
    scores = {chunk_id: _score_without_names(chunk) for chunk_id, chunk in state.chunks.items()}
    return HopScores(limit_sums(scores, {}, {}), largest=1.0, hops=state.brought)


def _score_without_names(chunk: HopChunk) -> Scored:
    weights = hop_signal_weights.WEIGHTS
    parts = {
        name: weights[name] / (weights["fused"] + weights["cos"]) * chunk.signals[name]
        for name in hop_signal_weights.LIMITED
        if name in chunk.signals
    }
    own = {
        "fused": chunk.guided.candidate.score if chunk.guided else 0.0,
        "expanded": weights["expanded"] * chunk.signals.get("expanded", 0.0),
    }
    larger = max(own, key=lambda name: own[name])
    parts[larger] = own[larger]
    return Scored(sum(parts.values()), parts)


def _limited_amount(scored: Scored) -> float:
    """The part of a score that limited signals give."""
    return sum(scored.parts[name] for name in hop_signal_weights.LIMITED if name in scored.parts)


def sum_signals(values: Mapping[str, float]) -> Scored:
    """Returns the weighted sum of the signals of a chunk. Absent and negative values count as 0."""
    parts = {name: hop_signal_weights.WEIGHTS[name] * value for name, value in values.items() if value > 0.0}
    return Scored(sum(parts.values()), parts)


def limit_sums(
    scores: Mapping[Id, Scored], chunk_words: Mapping[Id, Collection[str]], idf: Mapping[str, float]
) -> dict[Id, Scored]:
    """Reduces limited signals so far that no chunk is above the best chunk without them.

    The comparison includes the words of the question that the chunks contain.
    """
    limited = dict(scores)
    given = {chunk: amount for chunk, scored in scores.items() if (amount := _limited_amount(scored))}
    if not given:
        return limited
    weights, total = _word_weights(idf)
    without = {chunk: scored.score - given.get(chunk, 0.0) for chunk, scored in scores.items()}
    for chunk in chunk_words.keys() & scores.keys():
        without[chunk] += COVERAGE_WEIGHT * math.fsum(weights.get(word, 0.0) for word in chunk_words[chunk]) / total
    best = max(without.values())
    for chunk, amount in given.items():
        share = min(1.0, max(0.0, best - without[chunk] - TIE) / amount)
        parts = {
            name: value * (share if name in hop_signal_weights.LIMITED else 1.0)
            for name, value in scores[chunk].parts.items()
        }
        kept = {name: value for name, value in parts.items() if value or name not in hop_signal_weights.LIMITED}
        limited[chunk] = Scored(scores[chunk].score - amount * (1.0 - share), kept)
    return limited


def add_coverage(
    scores: Mapping[Id, Scored],
    chunk_words: Mapping[Id, Collection[str]],
    idf: Mapping[str, float],
    hops: Mapping[Id, int],
) -> dict[Id, Scored]:
    """Adds to each score the weight of the question's words that the chunk adds to the chunks above it.

    Each rank goes to the chunk with the largest sum of its own score and `COVERAGE_WEIGHT · Σ idf² / Σ idf²`. The first
    sum is over the words that it contains and no chunk above contains, the second over all words (`idf`). `chunk_words`
    has the words of the compared chunks. This is greedy maximum coverage (Nemhauser, Wolsey and Fisher 1978) with lazy
    evaluation (Minoux 1978): gains only shrink, so a chunk is scored again only at the top.
    """
    weights, total = _word_weights(idf)
    missing, covered = set(weights).intersection(chain.from_iterable(chunk_words.values())), dict(scores)

    def gain_of(chunk: Id) -> float:
        return COVERAGE_WEIGHT * math.fsum(weights[word] for word in missing.intersection(chunk_words[chunk])) / total

    def entry(chunk: Id) -> tuple[float, int, Id]:
        return (-round(scores[chunk].score + gain_of(chunk), 12), hops.get(chunk, 1), chunk)

    heap = [entry(chunk) for chunk in chunk_words if chunk in scores]
    heapq.heapify(heap)
    while heap and missing:
        chunk = heap[0][-1]
        if (now := entry(chunk)) != heap[0]:
            heapq.heapreplace(heap, now)
            continue
        heapq.heappop(heap)
        if gain := gain_of(chunk):
            covered[chunk] = Scored(scores[chunk].score + gain, {**scores[chunk].parts, "covers": gain})
            missing.difference_update(chunk_words[chunk])
    return covered


def put_first(scores: HopScores, chunk_id: UUID) -> HopScores:
    """Raises the score of a chunk above the best score by TIE. The part `first` of its score explains this."""
    best = max((each.score for each in scores.by_chunk.values()), default=0.0)
    scored = scores.by_chunk.get(chunk_id)
    if scored is None or scored.score >= best:
        return scores
    raised = Scored(best + TIE, {**scored.parts, "first": best + TIE - scored.score})
    return replace(scores, by_chunk={**scores.by_chunk, chunk_id: raised})


def _word_weights(idf: Mapping[str, float]) -> tuple[dict[str, float], float]:
    """The weights of the question's words, and their sum (1 without words)."""
    weights = {word: value * value for word, value in idf.items()}
    return weights, math.fsum(weights.values()) or 1.0
