"""`stepwell multihop` shows the query, the terms of each hop and the name through which each hit was found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness

from app.multihop import commands as multihop

QUESTION = "Where was the director of Silent Harbour born?"
NOTES = {
    "Silent Harbour": "Silent Harbour is a film whose director is Ilse Brandt.",
    "Ilse Brandt": "Trained as a painter, her youth went by among herring and ropes.",
    **{f"Note {n}": f"Where the director of the choir number {n} was born, a silent harbour lay." for n in range(12)},
}


def test_the_tree_shows_each_hop_with_its_terms_and_every_hit_with_its_linking_name(
    stepwell: Callable[..., Any], tmp_path: Path
) -> None:
    user = harness.new_user()
    for place, (title, text) in enumerate(NOTES.items()):
        (tmp_path / f"{place}.md").write_text(f"---\ntitle: {title}\n---\n{text}", encoding="utf-8")
    assert stepwell("ingest", tmp_path, "--user", user).code == 0
    answer = stepwell("multihop", QUESTION, "--user", user, "--json").json
    linked = next(hit for hit in answer["results"] if hit["title"] == "Ilse Brandt")
    assert (linked["hop"], linked["via"]["name"]) == (2, "Ilse Brandt")

    drawn = stepwell("multihop", QUESTION, "--user", user).out
    query, hop_1, hop_2 = drawn.index(QUESTION), drawn.index("hop 1: "), drawn.index("hop 2: ")
    assert query < hop_1 < hop_2
    later = answer["hops"][1]
    terms = f"{later['result_count']} passages, searched for {', '.join(later['expanded_terms'])}"
    assert terms in drawn[hop_2:].splitlines()[0]
    source = next(
        n for n, hit in enumerate(answer["results"], 1) if hit["chunk_id"] == linked["via"]["source_chunk_id"]
    )
    assert f"found through Ilse Brandt (title), which passage {source} names" in drawn
    for place, hit in enumerate(answer["results"], 1):
        line = next(line for line in drawn.splitlines() if f" {place}. {hit['title']} {hit['relevance']:.0%}" in line)
        assert (drawn.index(line) > hop_2) == (hit["hop"] > 1)
    assert {hit["hop"] for hit in answer["results"]} == {1, 2}
    assert "[bold]" not in drawn


def test_a_hit_shows_the_sentence_of_the_name_that_led_to_it(stepwell: Callable[..., Any], tmp_path: Path) -> None:
    user = harness.new_user()
    filler = " ".join(f"The harbour wall has stone number {number}." for number in range(8))
    notes = {**NOTES, "Ilse Brandt": f"{filler} Ilse Brandt grew up in Varde."}
    for place, (title, text) in enumerate(notes.items()):
        (tmp_path / f"{place}.md").write_text(f"---\ntitle: {title}\n---\n{text}", encoding="utf-8")
    assert stepwell("ingest", tmp_path, "--user", user).code == 0
    assert "grew up in Varde" in stepwell("multihop", QUESTION, "--user", user).out


def test_the_tree_shows_that_nothing_was_found_and_what_failed(stepwell: Callable[..., Any]) -> None:
    drawn = stepwell("multihop", "nothing [red]here[/]", "--user", harness.new_user()).out
    assert "nothing [red]here[/]" in drawn
    assert "Nothing found." in drawn


def test_the_tree_shows_a_failed_hop_and_the_degradation() -> None:
    hops = [
        {"hop": 1, "query": "a [b] c", "result_count": 3},
        {"hop": 2, "query": "a [b] c", "result_count": 0, "expanded_terms": [], "error": "deadline_exceeded"},
    ]
    tree = multihop.chain({"results": [], "answerable": None, "degraded": ["hop2_failed"], "hops": hops})
    labels = [str(branch.label) for branch in tree.children]
    assert str(tree.label) == r"[bold]a \[b] c[/]"
    assert labels[1] == "hop 2: 0 passages [yellow](deadline_exceeded)[/]"
    assert labels[-1] == "[yellow]The second hop failed, so only the first one is shown.[/]"
