"""A hit is shown with its relevance and with what matches marked."""

from __future__ import annotations

from typing import Any

from app.search.commands import hits


def hit(**fields: Any) -> dict[str, Any]:
    snippet = {"text": "Lime sets\nslowly, and lime lasts.", "matches": [[0, 4], [22, 26]]}
    return {
        "title": "",
        "uri": None,
        "heading_path": [],
        "score": 0.75,
        "relevance": 0.934,
        "snippet": snippet,
        **fields,
    }


def test_matches_are_marked_in_the_sentences() -> None:
    shown = hits.sentences(hit())
    assert shown.plain == "Lime sets slowly, and lime lasts."
    assert [(shown.plain[span.start : span.end], str(span.style)) for span in shown.spans] == [
        ("Lime", "bold yellow"),
        ("lime", "bold yellow"),
    ]
    paragraphs = {"text": "Setting\n \nLime\nsets.", "matches": [[10, 14]]}
    assert hits.sentences(hit(snippet=paragraphs)).plain == "Setting  \nLime sets."


def test_a_hit_has_one_number_and_no_empty_line_for_a_title() -> None:
    assert (hits.relevance(hit()), hits.relevance(hit(relevance=None))) == ("93%", "0.750")
    assert hits.place(hit()).plain == ""
    assert hits.place(hit(title="Mortar", uri="lime.md")).plain == "Mortar\nlime.md\n"
