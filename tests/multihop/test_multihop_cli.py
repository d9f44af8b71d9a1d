"""`stepwell multihop` shows the query, the terms of each hop and the name through which each hit was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import harness

QUESTION = "Where was the director of Silent Harbour born?"
NOTES = {
    "Silent Harbour": "Silent Harbour is a film whose director is Ilse Brandt.",
    "Ilse Brandt": "Trained as a painter, her youth went by among herring and ropes.",
    **{f"Note {n}": f"Where the director of the choir number {n} was born, a silent harbour lay." for n in range(12)},
}


def test_the_tree_shows_each_hop_with_its_terms_and_every_hit_with_its_linking_name(stepwell, tmp_path) -> None:
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


def test_the_tree_shows_that_nothing_was_found_and_what_failed(stepwell: Callable[..., Any]) -> None:
    drawn = stepwell("multihop", "nothing [red]here[/]", "--user", harness.new_user()).out
    assert "nothing [red]here[/]" in drawn
    assert "Nothing found." in drawn
