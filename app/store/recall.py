"""Runs the hybrid search statement (`hybrid.sql`) and turns its rows into candidates."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

import sqlalchemy as sa

from app import errors
from app.shapes import Candidate, Filters, HybridRequest, HybridResult, IndexText, LegScores, LexicalQuery, Term, Vector
from app.store import sql, vectors
from app.store.db import Reading, use_custom_plans

EXACT_FLOOR = 4_000
"""Chunks up to which an exact scan costs less than a search of the HNSW graph (docs/benchmarks.md)."""

EXACT_FACTOR = 25.0
"""The cost of a row visited in the HNSW graph, in rows of an exact scan of all of a user's chunks."""

EXACT_FACTOR_FILTERED = 10.0
"""The same where a filter scatters the rows of the exact scan over the table."""

MAX_PER_TERM = 2.2
"""Upper bound of a term's BM25 score as a multiple of its idf: k1 + 1."""

SPEND = 20_000
"""Postings that generate candidates of the text leg (docs/decisions/0001)."""

PLAIN = frozenset({"vector", "text"})
"""Parts whose plan does not depend on the binds, so that one plan serves every query."""

_FIELDS = tuple(field.name for field in dataclasses.fields(Candidate))
_RANGE_OPERATORS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}


async def hybrid(db: Reading, ask: HybridRequest) -> HybridResult:
    """Run both legs, their fusion and the fetch of the content as one statement."""
    needed = needed_parts(ask)
    if not PLAIN.issuperset(needed):
        await use_custom_plans(db)
    result = await db.execute(sql.statement("hybrid", *needed), binds(ask))
    return _recalled([row._mapping for row in result], ask)


async def scores(db: Reading, ask: HybridRequest) -> list[LegScores]:
    """The scores of the same chunks, unordered, as one row, so that thousands can be read."""
    await use_custom_plans(db)
    row = (await db.execute(sql.statement("hybrid", *needed_parts(ask), "bare"), binds(ask))).one()
    columns = (row.chunk_ids, row.document_ids, row.vector_scores, row.text_scores)
    return [LegScores(*fields) for fields in zip(*columns, strict=True)]


async def vector_of(db: Reading, user_id: str, chunk_id: UUID) -> Vector:
    """The stored vector of one chunk. Raises NotFound."""
    row = (await db.execute(sql.statement("vector_of_chunk"), {"user_id": user_id, "chunk_id": chunk_id})).one_or_none()
    if row is None:
        raise errors.NotFound("No such chunk, or it has no vector.", field="chunk_id")
    return [float(number) for number in json.loads(row.embedding)]


def needed_parts(ask: HybridRequest) -> tuple[str, ...]:
    """The parts of the statement that a query needs: a leg of weight 0 or without input is not run."""
    lexical = ask.lexical
    needed = {
        "vector": ask.vector is not None and ask.weights.vector > 0,
        "text": lexical is not None and bool(lexical.words.folded) and ask.weights.text > 0,
        "filtered": bool(ask.filters),
        "strict": lexical is not None and bool(lexical.strict),
        "excluding": lexical is not None and bool(lexical.excluded),
        "exclusions": bool(ask.exclude_chunk_ids),
    }
    return tuple(part for part, wanted in needed.items() if wanted)


def binds(ask: HybridRequest) -> dict[str, Any]:
    """The statement's binds; those of parts that are left out are ignored."""
    needed = needed_parts(ask)
    return {
        "user_id": ask.user_id,
        "exact_floor": EXACT_FLOOR,
        "exact_factor": EXACT_FACTOR_FILTERED if "filtered" in needed else EXACT_FACTOR,
        "spend": SPEND,
        "candidates": ask.candidates,
        "k": ask.k,
        "limit": ask.limit,
        "convex": ask.fusion == "convex",
        "exclude_chunk_ids": list(ask.exclude_chunk_ids),
        **filter_binds(ask.filters),
        "embedding": vectors.as_text(ask.vector) if ask.vector is not None else None,
        "weight_vector": ask.weights.vector if "vector" in needed else 0.0,
        "weight_text": ask.weights.text if "text" in needed else 0.0,
        **_lexical_binds(ask.lexical or LexicalQuery(IndexText("", ""))),
        "min_vector_score": ask.min_vector_score,
        "min_rrf_score": ask.min_rrf_score,
        "with_content": ask.with_content,
    }


def _lexical_binds(lexical: LexicalQuery) -> dict[str, Any]:
    return {
        "words_folded": lexical.words.folded,
        "words_plain": lexical.words.plain,
        "strict_folded": [text.folded for text in lexical.strict],
        "strict_plain": [text.plain for text in lexical.strict],
        "excluded_folded": [text.folded for text in lexical.excluded],
        "excluded_plain": [text.plain for text in lexical.excluded],
    }


def filter_binds(filters: Filters) -> dict[str, Any]:
    """The binds of `stepwell.passes`."""
    containing, matching = _metadata(filters.metadata)
    return {
        "document_ids": None if filters.document_ids is None else list(filters.document_ids),
        "source_ids": None if filters.source_ids is None else list(filters.source_ids),
        "containing": None if containing is None else json.dumps(containing),
        "matching": matching,
        "created_after": filters.created_after,
        "created_before": filters.created_before,
    }


def _metadata(metadata: Mapping[str, Any] | None) -> tuple[dict[str, Any] | None, str | None]:
    """Containment and, for values such as `{"gte": 1, "lt": 9}`, a JSON path."""
    if metadata is None:
        return None, None
    ranges = {key: value for key, value in metadata.items() if is_range(value)}
    containing = {key: value for key, value in metadata.items() if key not in ranges}
    tests = [
        f"exists(@.{json.dumps(key)} ? ({' && '.join(_test(operator, bound) for operator, bound in value.items())}))"
        for key, value in ranges.items()
    ]
    return containing or None, f"$ ? ({' && '.join(tests)})" if tests else None


def is_range(value: Any) -> bool:
    """Whether a metadata filter's value is a range and not something to be contained."""
    return isinstance(value, Mapping) and bool(value) and value.keys() <= _RANGE_OPERATORS.keys()


def _test(operator: str, bound: Any) -> str:
    if isinstance(bound, str):
        return f"@.datetime() {_RANGE_OPERATORS[operator]} {json.dumps(bound)}.datetime()"
    return f"@ {_RANGE_OPERATORS[operator]} {json.dumps(bound)}"


def _recalled(rows: Sequence[sa.RowMapping], ask: HybridRequest) -> HybridResult:
    """The rows' hits, and the report that each row repeats."""
    report = rows[0]
    ran = ask.vector is not None and ask.weights.vector > 0
    plan: Literal["none", "exact", "hnsw"] = "none" if not ran else "exact" if report["exact"] else "hnsw"
    return HybridResult(
        candidates=tuple(_candidate(row) for row in rows if row["chunk_id"] is not None),
        terms=tuple(Term(*term) for term in report["terms"]),
        corpus_chunks=int(report["corpus_chunks"]),
        scope_chunks=int(report["scope_chunks"]),
        vector_plan=plan,
        vector_found=report["vector_found"],
        text_found=report["text_found"],
        approximate=plan == "hnsw" and report["vector_found"] < ask.candidates,
    )


def _candidate(row: sa.RowMapping) -> Candidate:
    fields = {name: row[name] for name in _FIELDS}
    fields["heading_path"] = tuple(row["heading_path"])
    return Candidate(**fields)
