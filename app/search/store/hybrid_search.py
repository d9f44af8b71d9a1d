"""Runs the hybrid search statement (`hybrid.sql`) and turns its rows into candidates."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa

from app import errors
from app.database import filters, foreign_filter_operators, sql
from app.database.transactions import Reading
from app.documents.store import visible_document_lists
from app.enums import Vector, VectorPlan
from app.query import scoring_constants
from app.query.search_types import (
    AddedPhrase,
    AddedTerm,
    Candidate,
    HybridRequest,
    HybridResult,
    LanguageWeights,
    LexicalQuery,
    Term,
    Weights,
)
from app.search.store import tsqueries
from app.search.store.tsqueries import Compiled
from app.text.queries.parsed_query import EMPTY, ConditionPlan

EXACT_FLOOR = 4_000
"""If at most this many chunks pass a filter, an exact scan costs less than a search of the HNSW graph
(docs/benchmarks.md)."""

EXACT_FACTOR = 25.0
"""The cost of a row visited in the HNSW graph, in rows of an exact scan of all of a user's chunks."""

EXACT_FACTOR_FILTERED = 10.0
"""Like EXACT_FACTOR, but with a filter: it spreads the rows of the exact scan over the table."""

TESTED_CHUNKS = 1_000
"""In a scope of at most this many chunks, each is tested for the conditions of an expression; no index is read."""

CANDIDATE_POSTINGS, CANDIDATE_POSTINGS_OF_HYBRID = 20_000, 10_000
"""Most postings that generate candidates of the text leg: alone, and with the vector leg (docs/decisions/0001).

With the lower number, the fusion has the same hits and costs a sixth less.
"""

PHRASE_CHUNKS = 2_000
"""Most chunks that are tested for the added phrases of a query. Each phrase has an equal share."""

LEGS = (
    "query_vector",
    "corpus",
    "excluded_chunks",
    "hidden_chunks",
    "scope",
    "strict_chunks",
    "excluded_queries",
    "added_phrases",
    "terms",
    "scored",
    "text_leg",
    "vector_leg",
)
"""The CTEs of both legs, in their order."""

HYBRID = (*LEGS, "leg_weights", "fused", "best", "terms_in_scope", "hybrid")
"""The files of the hybrid statement: its CTEs in their order, then its own."""

RANKED = (*LEGS, "leg_weights", "fused", "best", "ranked")
"""The files of the statement that finds the same chunks without their content."""

PLAIN = frozenset({"vector", "text", "added", "added_phrases", "languages", "least_cosine"})
"""Parts whose plan does not depend on the binds. One plan serves every query."""

WITHOUT_SCOPE = PLAIN | {"exclusions"}
"""Parts of requests that search all of the user's chunks."""

_COLUMNS, _HEADINGS = len(Candidate._fields), Candidate._fields.index("heading_path")
"""The number of leading columns of a row that are fields of a candidate, and the position of the headings."""


async def hybrid(db: Reading, request: HybridRequest) -> HybridResult:
    """Run both legs, their fusion and the fetch of the content as one statement.

    Only a search transaction skips chunks that are not visible.
    """
    return _result(*await _run(db, request, HYBRID))


async def ranked(db: Reading, request: HybridRequest) -> list[RankedChunk]:
    """The chunks that `hybrid` finds, best first, without reading their content."""
    rows, *_request = await _run(db, request, RANKED)
    return list(map(RankedChunk._make, rows))


async def _run(
    db: Reading, request: HybridRequest, names: tuple[str, ...]
) -> tuple[list[sa.Row[Any]], HybridRequest, Weights, Compiled | None]:
    """Restricts a request to what the caller sees, and runs its statement.

    Returns the rows, the request, the weights of the legs that ran, and the compiled conditions.
    """
    asked = needed_parts(request)
    is_filtered = "filtered" in asked
    if is_filtered or db.restriction is not None:
        await foreign_filter_operators.check(db, request.filters)
    request = await restrict(db, request)
    needed = asked if db.restriction is None else needed_parts(request)
    hidden = ("hidden",) if db.has_hidden else ()
    compiled = await compile_conditions(db, request.lexical)
    if hidden or not _plans_once(db, asked):
        await db.use_custom_plans(always=compiled is not None)
    counted, seen = _count_among_seen(db, is_filtered=is_filtered)
    report = ("restricted",) if names is HYBRID and db.restriction is not None and not counted else ()
    source = _vector_source(db, request.candidates) if WITHOUT_SCOPE.issuperset(needed) else ()
    parts = (*hidden, *counted, *report, *source)
    statement, binds = prepare(request, *parts, stored=db.graph_rows, names=names, compiled=compiled)
    return list(await db.execute(statement, {**binds, **seen})), request, _weights(request, needed), compiled


def _vector_source(db: Reading, candidates: int) -> tuple[str, ...]:
    """The part that decides how the vector leg searches if there is no filter or condition; see `corpus.sql`.

    The omitted source would find nothing.
    """
    most = round(math.sqrt(EXACT_FACTOR * candidates * max(db.graph_rows, db.chunks)))
    return ("exact",) if db.chunks <= most else ("graph",)


def _count_among_seen(db: Reading, *, is_filtered: bool) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The parts and binds that count the frequencies of words in the chunks that the caller sees.

    Both are empty if the caller sees everything, or more chunks than may be scanned.
    """
    listed = None if db.restriction is None else db.listed
    if listed is None or listed.statistics is None or listed.chunks > EXACT_FLOOR:
        return (), {}
    found = listed.statistics
    binds = {
        "seen_configs": list(found),
        "seen_chunks": [chunks for chunks, _ in found.values()],
        "seen_tokens": [tokens for _, tokens in found.values()],
        "seen_documents": list(listed.document_ids),
    }
    return ("counted", "narrowed") if is_filtered else ("counted",), binds


def _plans_once(db: Reading, asked: tuple[str, ...]) -> bool:
    """Whether one plan serves a request; `asked` has its parts before it was restricted.

    It does if the caller is unrestricted and the parts are in PLAIN, or the caller's list is short and there is no
    filter: all chunks of a short list are scanned exactly, and tested one by one for the conditions of an expression.
    """
    is_plain = PLAIN.issuperset(asked)
    if db.restriction is None:
        return is_plain
    if db.listed is None or "filtered" in asked:
        return False
    return db.listed.chunks <= (EXACT_FLOOR if is_plain else TESTED_CHUNKS)


async def restrict(db: Reading, request: HybridRequest) -> HybridRequest:
    """Restricts the request to what the caller of the transaction sees, so that both legs are cut within it."""
    if db.restriction is None:
        return request
    await visible_document_lists.prepare(db)
    return dataclasses.replace(request, filters=filters.visible(db, request.filters))


async def compile_conditions(db: Reading, lexical: LexicalQuery | None) -> Compiled | None:
    """Compiles the conditions of an expression for the user's configurations; None for a query without groups."""
    return await tsqueries.compile(db, lexical) if lexical and lexical.groups else None


def prepare(
    request: HybridRequest,
    *parts: str,
    stored: int = 0,
    names: tuple[str, ...] = HYBRID,
    compiled: Compiled | None = None,
) -> tuple[sa.TextClause, dict[str, Any]]:
    """The statement with the given parts and the parts that the request needs, and its binds.

    `stored` is the number of rows in the HNSW graph, `names` are the names of the statement's files, and `compiled` has
    the conditions of a request with groups.
    """
    needed = needed_parts(request)
    filtering = filters.binds(request.filters) if "filtered" in needed else {}
    statement = sql.statement(names, *needed, *filtering, *parts)
    return statement, {**_binds(request, needed, stored), **filtering, **(compiled.binds if compiled else {})}


VECTOR_OF_CHUNK = sql.inline(
    """
    SELECT CAST(e.embedding AS vector) AS embedding
    FROM stepwell.chunks AS c
    JOIN stepwell.embeddings AS e ON e.user_id = :user_id AND e.chunk_no = c.chunk_no
    WHERE c.user_id = :user_id AND c.chunk_id = :chunk_id::uuid
    """
)


async def vector_of(db: Reading, chunk_id: UUID) -> Vector:
    """The stored vector of one chunk. Raises NotFound."""
    row = (await db.execute(VECTOR_OF_CHUNK, {"user_id": db.user_id, "chunk_id": chunk_id})).one_or_none()
    if row is None:
        raise errors.NotFound("No such chunk, or it has no vector.", field="chunk_id")
    found: Vector = row.embedding
    return found


async def find_failing(db: Reading, chunk_ids: Sequence[UUID], lexical: LexicalQuery) -> set[UUID]:
    """The chunks among these that do not meet the query's requirements and exclusions."""
    if not chunk_ids or not lexical.has_conditions:
        return set()
    compiled = await compile_conditions(db, lexical)
    binds = {"user_id": db.user_id, "chunk_ids": list(chunk_ids), **_lexical_binds(lexical)}
    binds |= compiled.binds if compiled else {}
    return set(await db.scalars(sql.statement("chunks_failing_conditions", *_condition_parts(lexical)), binds))


def _condition_parts(lexical: LexicalQuery) -> tuple[str, ...]:
    """The parts of a statement that the conditions of a query need."""
    if lexical.groups:
        return ("strict", "indexed")
    parts = {"strict": bool(lexical.strict), "excluding": bool(lexical.excluded)}
    return tuple(part for part, wanted in parts.items() if wanted)


def needed_parts(request: HybridRequest) -> tuple[str, ...]:
    """The parts that a query needs, except the parts of its filters. A leg of weight 0 or without input is not run."""
    lexical = request.lexical
    has_text = lexical is not None and bool(lexical.words.folded) and request.weights.text > 0
    added = lexical.added if lexical is not None and has_text else ()
    has_vector = request.vector is not None and request.weights.vector > 0
    parts = {
        "vector": has_vector,
        "text": has_text,
        "languages": request.by_language is not None and has_vector and has_text,
        "least_cosine": request.min_vector_score is not None and has_vector,
        "filtered": bool(request.filters),
        "added": bool(added),
        "added_phrases": any(one.phrases for one in added),
        "exclusions": bool(request.exclude_chunk_ids),
    }
    conditions = _condition_parts(lexical) if lexical is not None else ()
    return tuple(part for part, wanted in parts.items() if wanted) + conditions


def _weights(request: HybridRequest, parts: tuple[str, ...]) -> Weights:
    """The weights of the request's legs, 0 for a leg that is not run."""
    return Weights(
        request.weights.vector if "vector" in parts else 0.0, request.weights.text if "text" in parts else 0.0
    )


def _binds(request: HybridRequest, parts: tuple[str, ...], stored: int) -> dict[str, Any]:
    """The statement's binds, without the binds of filters. Binds of omitted parts are ignored."""
    weights = _weights(request, parts)
    return {
        "user_id": request.user_id,
        "exact_floor": EXACT_FLOOR if "filtered" in parts else 0,
        "exact_factor": EXACT_FACTOR_FILTERED if "filtered" in parts else EXACT_FACTOR,
        "stored": stored,
        "candidate_postings": CANDIDATE_POSTINGS_OF_HYBRID if "vector" in parts else CANDIDATE_POSTINGS,
        "most_tested": TESTED_CHUNKS,
        "candidates": request.candidates,
        "k1_plus_1": scoring_constants.K1 + 1,
        "norm_fixed": float(scoring_constants.K1 * (1 - scoring_constants.B)),
        "norm_by_length": float(scoring_constants.K1 * scoring_constants.B),
        "k": request.k,
        "rrf_total": scoring_constants.TOTAL_WEIGHT,
        "limit": request.limit,
        "convex": request.fusion == "convex",
        "exclude_chunk_ids": list(request.exclude_chunk_ids),
        "embedding": request.vector,
        "weight_vector": weights.vector,
        "weight_text": weights.text,
        **_language_binds(request.by_language),
        **_lexical_binds(request.lexical or LexicalQuery(EMPTY)),
        "min_vector_score": request.min_vector_score,
        "min_rrf_score": request.min_rrf_score,
        "with_content": request.with_content,
    }


def _language_binds(chosen: LanguageWeights | None) -> dict[str, Any]:
    if chosen is None:
        return {}
    return {
        "read_configs": sorted(chosen.read_configs),
        "least_share": chosen.least_share,
        "unread_vector": chosen.unread.vector,
        "unread_text": chosen.unread.text,
        "foreign_vector": chosen.foreign.vector,
        "foreign_text": chosen.foreign.text,
    }


def _lexical_binds(lexical: LexicalQuery) -> dict[str, Any]:
    return {
        "words_folded": lexical.words.folded,
        "words_plain": lexical.words.plain,
        **_added_binds(lexical.added),
        "strict_folded": [text.folded for text in lexical.strict],
        "strict_plain": [text.plain for text in lexical.strict],
        "excluded_folded": [text.folded for text in lexical.excluded],
        "excluded_plain": [text.plain for text in lexical.excluded],
    }


def _added_binds(added: Sequence[AddedTerm]) -> dict[str, Any]:
    """The added lexemes and phrases, each once, with its largest weight and its largest idf limit."""
    lexemes: dict[str, _FormLimits] = {}
    phrases: dict[AddedPhrase, _FormLimits] = {}
    for one in added:
        limits = _FormLimits(one.weight, one.idf)
        lexemes |= {lexeme: limits.largest(lexemes.get(lexeme)) for lexeme in one.lexemes}
        phrases |= {phrase: limits.largest(phrases.get(phrase)) for phrase in one.phrases}
    return {
        "added_lexemes": list(lexemes),
        "added_times": [one.times for one in lexemes.values()],
        "added_idfs": [one.idf for one in lexemes.values()],
        "phrase_lexemes": [phrase.name for phrase in phrases],
        "phrase_configs": [phrase.config for phrase in phrases],
        "phrase_queries": [phrase.query for phrase in phrases],
        "phrase_times": [one.times for one in phrases.values()],
        "phrase_idfs": [one.idf for one in phrases.values()],
        "phrase_chunks": PHRASE_CHUNKS // max(1, len(phrases)),
    }


class RankedChunk(NamedTuple):
    """A chunk that the hybrid statement ranks, with its fused score."""

    chunk_id: UUID
    document_id: UUID
    score: float


class _FormLimits(NamedTuple):
    """How many occurrences in the query an added form counts as, and the largest idf that it may have."""

    times: float
    idf: float | None

    def largest(self, other: _FormLimits | None) -> _FormLimits:
        """The larger values of both. A form without an idf limit takes the limit of the other."""
        if other is None:
            return self
        idfs = [idf for idf in (self.idf, other.idf) if idf is not None]
        return _FormLimits(max(self.times, other.times), max(idfs, default=None))


def _result(rows: Sequence[Any], request: HybridRequest, weights: Weights, compiled: Compiled | None) -> HybridResult:
    """The result from the hits in the rows and the report that every row repeats."""
    report = rows[0]
    if request.by_language is not None and weights.vector and weights.text:
        weights = Weights(report["weight_vector"], report["weight_text"])
    plan: VectorPlan = "none" if not weights.vector else "exact" if report["exact"] else "hnsw"
    return HybridResult(
        candidates=tuple(map(_candidate, rows)) if report["chunk_id"] is not None else (),
        terms=tuple(_terms(report["terms"], request.lexical, compiled)),
        corpus_chunks=int(report["corpus_chunks"]),
        scope_chunks=int(report["scope_chunks"]),
        vector_plan=plan,
        vector_found=report["vector_found"],
        text_found=report["text_found"],
        approximate=plan == "hnsw" and report["vector_found"] < request.candidates,
        condition_plan=compiled.plan if compiled else _condition_plan(request.lexical),
        best_cosine=report["best_cosine"],
        weights=weights,
    )


def _terms(rows: Sequence[Any], lexical: LexicalQuery | None, compiled: Compiled | None) -> Iterator[Term]:
    """The terms. A term that no chunk contains is an expansion too if an expansion begins with it."""
    expansions = compiled.expansions if compiled else ()
    alternatives = {form for one in lexical.added if one.alternative_to for form in one.forms} if lexical else ()
    for lexeme, df, idf, times, places in rows:
        is_expansion = lexeme in expansions or (df == 0 and any(one.startswith(lexeme) for one in expansions))
        is_alternative = times < 1 and lexeme in alternatives
        yield Term(lexeme, df, idf, times, is_expansion, times < 1, is_alternative, tuple(places or ()))


def _condition_plan(lexical: LexicalQuery | None) -> ConditionPlan:
    """How the chunks that meet the conditions of a query without groups are found."""
    if lexical is None or not (lexical.strict or lexical.excluded):
        return "none"
    return "postings" if lexical.strict else "rows"


def _candidate(row: sa.Row[Any]) -> Candidate:
    """The candidate of a row. The row begins with the candidate's fields."""
    values = list(row[:_COLUMNS])
    values[_HEADINGS] = tuple(values[_HEADINGS])
    return Candidate._make(values)
