"""Renders a hit for a terminal: its place, the sentences that match best, and its score as a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.text import Text
from rich.tree import Tree

from app.cli.client import Answer
from app.text import uris

if TYPE_CHECKING:  # importing the core types takes longer than showing a tree
    from app.kinds import Json

_BLANKS = str.maketrans("\n\r\t", "   ")


def uri(hit: Answer) -> str:
    """The URI or path of a hit's document as people write it."""
    return uris.show(hit["uri"] or "")


def headings(hit: Answer) -> list[str]:
    """The title of a hit's document and the headings above the passage, each once."""
    return list(dict.fromkeys(part for part in (hit["title"] or uri(hit), *hit["heading_path"]) if part))


def place(hit: Answer) -> Text:
    """Returns the title and the headings of a hit, and on a second line the URI of its document."""
    names, path = headings(hit), uri(hit)
    shown = Text(" › ".join(names) + "\n" if names else "", style="bold")
    if path and path not in names:
        shown.append(f"{path}\n", style="dim not bold")
    return shown


def relevance(hit: Answer) -> str:
    """The probability that a hit is relevant, in percent; its score if the embedding model is not calibrated."""
    return f"{hit['score']:.3f}" if hit["relevance"] is None else f"{hit['relevance']:.0%}"


def sentences(hit: Answer) -> Text:
    """Returns the snippet of a hit on one line."""
    snippet = hit["snippet"]
    text = Text(snippet["text"].translate(_BLANKS), style="not bold")
    for start, end in snippet["matches"]:
        text.stylize("bold yellow", start, end)
    return text


def duplicates(explain: Answer) -> Text:
    """Returns a line that says how many passages repeat a hit, and where; empty if none do."""
    if not (count := explain.get("duplicates")):
        return Text()
    named = [uris.show(one["uri"] or "") or one["title"] for one in explain["duplicate_documents"]]
    passages = "1 passage repeats" if count == 1 else f"{count} passages repeat"
    return Text(f"\n{passages} it{': ' if named else ''}{', '.join(named)}", style="dim not bold")


_LEGS = {"vector": "cosine", "text": "BM25"}


def draw_score(explain: Json) -> Tree:
    """A tree with the score at its root and its steps below, in order: the fusion of the legs, then each change."""
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
