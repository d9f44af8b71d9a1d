"""Names in a query are distinguished from ordinary words."""

from __future__ import annotations

import pytest

from app.text.names import query_words


def test_the_longest_name_at_each_place_hides_those_inside_it() -> None:
    query = query_words.read("from New York to York")
    assert query_words.longest_names(query, {"new york", "york"}) == {"new york": [(1, 3)], "york": [(4, 5)]}
    assert query_words.longest_names(query_words.read("in New York"), {"new york", "york"}) == {"new york": [(1, 3)]}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("what did the lead mason say", True),
        ("ask our lead mason", True),
        ("lead mason", True),
        ("who is lead mason now", True),
        ("my lead mason rejected it", False),
        ("courses for a lead mason in spring", False),
    ],
)
def test_a_role_follows_a_determiner_or_is_asked_for(text: str, found: bool) -> None:
    assert ("lead mason" in query_words.role_sequences(query_words.read(text))) is found


@pytest.mark.parametrize(
    ("text", "kind", "asks"),
    [
        ("who keeps the anchors", "person", True),
        ("which vendors sell buoys", "vendor", True),
        ("spare anchors", "person", False),
        ("which team rows", "project", False),
    ],
)
def test_a_query_may_ask_for_an_entity_without_naming_it(text: str, kind: str, asks: bool) -> None:
    assert query_words.asks_for_type(query_words.read(text), kind) is asks
