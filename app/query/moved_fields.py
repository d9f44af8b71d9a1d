"""Lists the request fields that earlier versions accepted, with what to send instead of each."""

from __future__ import annotations

from collections.abc import Mapping

_OF_RANKING = (
    *("fusion", "weights", "k", "candidates", "min_vector_score", "min_rrf_score", "min_confidence", "min_relevance"),
    *("mmr", "mmr_lambda", "rerank", "rerank_weight", "recency"),
)
SHORT_GUIDANCE: Mapping[str, str] = {
    "hierarchy": "mode",
    "alpha": "alpha",
    "threshold": "threshold",
    "max_entities": "max_entities",
}
"""Options of guidance, by the short names that `ranking` itself still accepts for them."""
_OMIT_NULLS = "Gone: fields that do not apply are absent, all others are always there."


def _to(path: str) -> str:
    return f"Moved: use {path}."


OF_MERGE: Mapping[str, str] = {"omit_nulls": _OMIT_NULLS}
OF_SIMILAR: Mapping[str, str] = {**OF_MERGE, "group_by": _to("group.by"), "group_size": _to("group.size")}
OF_SEARCH: Mapping[str, str] = {
    **OF_MERGE,
    **{name: _to(f"ranking.{name}") for name in _OF_RANKING},
    **{name: _to(f"ranking.guidance.{option}") for name, option in {**SHORT_GUIDANCE, "boost": "boost"}.items()},
    **{name: _to(f"ranking.hops.{name}") for name in ("max_hops", "merge", "extractor")},
    "alpha": _to("ranking.guidance.alpha for entities, ranking.weights for the legs"),
    "k": _to("ranking.k for the constant of RRF, limit for the number of hits"),
    "group_by": _to("ranking.group.by"),
    "group_size": _to("ranking.group.size"),
    "snippets": "Moved: use detail: compact.",
}
IN_RANKING: Mapping[str, str] = {
    "boost": _to("guidance.boost"),
    **{name: f"Given twice: use guidance.{option} alone." for name, option in SHORT_GUIDANCE.items()},
}
