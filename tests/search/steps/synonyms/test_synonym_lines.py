"""Groups of synonyms are read from lines and written as such."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.search.steps.synonyms import lines as synonyms
from app.search.steps.synonyms.lines import SynonymGroup

TERM = st.text(st.characters(exclude_categories=("Zs", "Zl", "Zp", "Cc", "Cs")), min_size=1).filter(str.strip)
TERMS = st.lists(TERM, min_size=1, max_size=3).map(tuple)


def test_lines_are_groups_with_terms_and_after_an_arrow_their_expansions() -> None:
    text = (
        "\ufeff# heating\nboiler,  furnace , heating  unit,\n\n vehicle, van=>car\nC\\, C\\# , a \\=> b\n\\#1, first\n"
    )
    assert list(synonyms.read(text)) == [
        (2, SynonymGroup(("boiler", "furnace", "heating unit"))),
        (4, SynonymGroup(("vehicle", "van"), ("car",))),
        (5, SynonymGroup(("C, C#", "a => b"))),
        (6, SynonymGroup(("#1", "first"))),
    ]


@given(st.lists(st.builds(SynonymGroup, TERMS, TERMS | st.just(()))))
def test_what_is_written_is_read_again(groups: list[SynonymGroup]) -> None:
    assert [group for _, group in synonyms.read(synonyms.write(groups))] == groups


def test_a_query_contains_a_term_whose_lexemes_it_has_at_the_same_distances() -> None:
    query = {"state": [1, 9], "art": [4], "gallery": [5]}
    assert synonyms.contains(("state", "art"), (0, 3), query)
    assert not synonyms.contains(("state", "art"), (0, 1), query)
    assert not synonyms.contains(("state", "museum"), (0, 1), query)
    assert synonyms.contains(("gallery",), (0,), query)
