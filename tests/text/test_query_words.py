"""Names in a query are distinguished from ordinary words."""

from __future__ import annotations

import pytest

from app.text import query_words


def test_the_longest_name_at_each_place_hides_those_inside_it() -> None:
    query = query_words.read("from New York to York")
    assert query_words.longest_names(query, {"new york", "york"}) == {"new york", "york"}
    assert query_words.longest_names(query_words.read("in New York"), {"new york", "york"}) == {"new york"}


@pytest.mark.parametrize(
    ("text", "key", "written"),
    [
        ("who runs Granite now", "granite", True),
        ("the granite steps", "granite", False),
        ("Granite steps", "granite", False),
        ("Granite", "granite", True),
        ("We met. Granite is late", "granite", False),
        ("a film called The Dark Knight", "the dark knight", True),
        ("Dark Knight reviews", "dark knight", True),
        ("the dark Knight", "dark knight", False),
        ("what did Siobhan O\u2019Neil say", "o neil", True),
        ("ask Jean-Luc Picard", "jean luc picard", True),
        ("Ölaf rang", "olaf", False),
        ("did Ölaf ring", "olaf", True),
    ],
)
def test_a_name_is_capitalised_in_the_middle_of_a_sentence(text: str, key: str, written: bool) -> None:
    assert query_words.is_written_as_name(query_words.read(text), key) is written


def test_words_that_are_names_by_themselves_have_their_places() -> None:
    query = query_words.read("Did Ana tell Ben about The plan in Oslo?")
    assert [query.words[place] for place in query_words.capitalised_alone(query)] == ["ana", "ben", "oslo"]


@pytest.mark.parametrize(("text", "holds"), [("What has ana done?", False), ("days in Gdynia", True), ("", False)])
def test_a_capital_that_opens_a_sentence_is_no_name(text: str, holds: bool) -> None:
    assert query_words.has_capitalised_names(query_words.read(text)) is holds


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
