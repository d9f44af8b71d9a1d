"""Draws how the score of a hit was made, from its `explain`, as a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.tree import Tree

if TYPE_CHECKING:  # making the core types takes longer than showing a tree
    from app.kinds import Json

_LEGS = {"vector": "cosine", "text": "BM25"}


def of(explain: Json) -> Tree:
    """The score as the root, and each step to it in order: the fusion of the legs, then what changed its score."""
    tree = Tree(f"score {explain['score']:.4f}", style="dim", guide_style="dim")
    fused = tree.add(f"{explain['fusion']} fusion: {explain['fused']:.4f}")
    total = sum(leg["weight"] for leg in explain["legs"].values()) or 1.0
    for name, leg in explain["legs"].items():
        fused.add(_leg(name, leg, explain, total))
    for name, line in _STEPS.items():
        if name in explain:
            tree.add(line(explain[name]))
    return tree


def _leg(name: str, leg: dict[str, Any], explain: Json, total: float) -> str:
    if leg["rank"] is None:
        return f"{name}: not found"
    share = leg["weight"] / total
    if explain["fusion"] == "convex":
        sum_of = f"{share:.2f} × {leg['scaled']:.4f}"
    else:
        sum_of = f"{share:.2f} × {explain['k'] + 1} / ({explain['k']} + {leg['rank']})"
    return f"{name}: {leg['share']:.4f} = {sum_of}; {_LEGS[name]} {leg['score']:.4f}, rank {leg['rank']}"


def _boost(step: dict[str, Any]) -> str:
    return f"mentions: {step['score']:.4f} = {step['score_before']:.4f} × {step['factor']:.4f}"


def _entity(step: dict[str, Any]) -> str:
    weight, exponent = step["weight"], step["exponent"]
    power = "" if exponent == 1 else f"^{exponent:g}"
    score, before = f"{step['score']:.4f}{power}", f"{step['score_before']:.4f}{power}"
    return f"entity: {score} = {1 - weight:.4f} × {before} + {weight:.4f} × {step['parent_score']:.4f}"


def _limit(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda step: f"{name}: {step['score_before']:.4f} becomes {step['score']:.4f}"


def _rerank(step: dict[str, Any]) -> str:
    if step["value"] is None:
        return f"not reranked: {step['score']:.4f}, from rank {step['place_before']}"
    weight, place = step["weight"], f"from rank {step['place_before']}"
    before = "" if weight == 1 else f" + {1 - weight:.2f} × {step['score_before']:.4f}"
    return f"rerank by {step['by']}: {step['score']:.4f} = {weight:.2f} × {step['value']:.4f}{before}, {place}"


def _recency(step: dict[str, Any]) -> str:
    if step["age_days"] is None:
        return f"no date: {step['score']:.4f}, from rank {step['place_before']}"
    made = f"{step['score']:.4f} = {step['score_before']:.4f} × {step['factor']:.4f}"
    return f"{step['age_days']:.1f} days old: {made}, from rank {step['place_before']}"


def _mmr(step: dict[str, Any]) -> str:
    trade, place = step["lambda"], f"from rank {step['place_before']}"
    return f"MMR: {step['value']:.4f} = {trade:.2f} × score − {1 - trade:.2f} × {step['nearest']:.4f}, {place}"


_STEPS: dict[str, Callable[[dict[str, Any]], str]] = {
    "boost": _boost,
    "entity": _entity,
    "kept": _limit("kept in the first ten"),
    "rerank": _rerank,
    "recency": _recency,
    "mmr": _mmr,
    "page": _limit("limited by the page before"),
    "cap": _limit("capped"),
}
