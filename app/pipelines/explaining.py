"""What does `explain` show of a search and of each hit?"""

from __future__ import annotations

from typing import Any

from app.ranking import steering
from app.shapes import Candidate, ParsedQuery, Recalled, Rerank


def hit(candidate: Candidate, plan: steering.Plan, k: int) -> dict[str, Any]:
    """Each leg's rank, score and share of a hit's score."""
    shares = {
        leg: {"rank": rank, "score": score, "weight": weight, "rrf_share": weight / (k + rank) if rank else 0.0}
        for leg, rank, score, weight in (
            ("vector", candidate.vector_rank, candidate.vector_score, plan.weights.vector),
            ("text", candidate.text_rank, candidate.text_score, plan.weights.text),
        )
    }
    return {"fusion": plan.fusion, "legs": shares, "score": candidate.score}


def query(plan: steering.Plan, parsed: ParsedQuery, found: Recalled, *, rerank: Rerank, mmr: bool) -> dict[str, Any]:
    """What was looked for, how, and among how much."""
    return {
        "weights": {"vector": plan.weights.vector, "text": plan.weights.text},
        "terms": [{"lexeme": term.lexeme, "df": term.df, "idf": term.idf, "times": term.times} for term in found.terms],
        "required": list(parsed.required),
        "phrases": list(parsed.phrases),
        "excluded": list(parsed.excluded),
        "vector_plan": found.vector_plan,
        "vector_candidates": found.vector_found,
        "text_candidates": found.text_found,
        "chunks": found.corpus_chunks,
        "chunks_in_scope": found.scope_chunks,
        "rerank": rerank,
        "mmr": mmr,
    }
