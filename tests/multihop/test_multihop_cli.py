"""`stepwell multihop` shows the query, the terms of each hop and the name through which each hit was found."""

from collections.abc import Callable
from typing import Any

import harness

QUESTION = "Where was the director of Silent Harbour born?"
NOTES = {
    "Silent Harbour": "Silent Harbour is a film whose director is Ilse Brandt.",
    "Ilse Brandt": "Trained as a painter, her youth went by among herring and ropes.",
    **{f"Note {n}": f"Where the director of the choir number {n} was born, a silent harbour lay." for n in range(12)},
}


def test_the_tree_shows_each_hop_with_its_terms_and_the_name_that_led_to_a_hit(stepwell, tmp_path) -> None:
    user = harness.new_user()
    for place, (title, text) in enumerate(NOTES.items()):
        (tmp_path / f"{place}.md").write_text(f"---\ntitle: {title}\n---\n{text}", encoding="utf-8")
    assert stepwell("ingest", tmp_path, "--user", user).code == 0
    answer = stepwell("multihop", QUESTION, "--user", user, "--json").json
    found = {hit["chunk_id"]: place for place, hit in enumerate(answer["results"], 1)}
    linked = next(hit for hit in answer["results"] if hit["title"] == "Ilse Brandt")
    assert (linked["hop"], linked["via"]["name"]) == (2, "Ilse Brandt")

    drawn = stepwell("multihop", QUESTION, "--user", user).out
    parts = [drawn.index(part) for part in (QUESTION, "hop 1: ", "hop 2: ", f" {found[linked['chunk_id']]}. Ilse")]
    assert parts == sorted(parts)
    later = answer["hops"][1]
    terms = f"{later['result_count']} passages, searched for {', '.join(later['expanded_terms'])}"
    assert terms in drawn[parts[2] :].splitlines()[0]
    source = found[linked["via"]["source_chunk_id"]]
    assert f"found through Ilse Brandt (title), which passage {source} names" in drawn
    assert "[bold]" not in drawn


def test_the_tree_shows_that_nothing_was_found_and_what_failed(stepwell: Callable[..., Any]) -> None:
    drawn = stepwell("multihop", "nothing [red]here[/]", "--user", harness.new_user()).out
    assert "nothing [red]here[/]" in drawn
    assert "Nothing found." in drawn
    assert "No documents are stored." in drawn
