"""Boolean expressions are read into conditions, by one grammar at every depth."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.text.queries import parsed_query, query_parsing
from app.text.queries.parsed_query import Combination, Condition, Negation, TextCondition


def _groups(query: str) -> list[str]:
    return list(map(parsed_query.write, query_parsing.parse(query).groups))


@pytest.mark.parametrize(
    ("query", "required", "phrases", "excluded", "groups"),
    [
        ('lime AND (cement OR mortar) NOT "fast drying"', ("lime",), (), ("fast drying",), ["(cement OR mortar)"]),
        ("ferry NOT (Brisa OR Charged)", (), (), ("Brisa", "Charged"), []),
        ("ferry (Brisa OR Charged)", (), (), (), ["(Brisa OR Charged)"]),
        ("a1 AND b1 OR c1", (), (), (), ["((a1 AND b1) OR c1)"]),
        ("a1 OR b1 AND NOT c1", (), (), (), ["(a1 OR (b1 AND NOT c1))"]),
        ("(lime cement) AND tide", ("tide",), (), (), ["(lime OR cement)"]),
        ("+(lime cement) tide", (), (), (), ["(lime OR cement)"]),
        ("-(lime cement) tide", (), (), ("lime", "cement"), []),
        ('"x1 y1" OR mortar', (), (), (), ['("x1 y1" OR mortar)']),
        ('lime AND (tide AND "x1 y1")', ("lime", "tide"), ("x1 y1",), (), []),
        ("(lime NOT cement) AND tide", ("lime", "tide"), (), ("cement",), []),
        ("(lime NOT cement) OR tide", (), (), (), ["((lime AND NOT cement) OR tide)"]),
        ("((lime OR tide) AND x1) OR y1", (), (), (), ["(((lime OR tide) AND x1) OR y1)"]),
        ("conf* settings", (), (), (), ["conf*"]),
        ("NOT conf*", (), (), (), ["NOT conf*"]),
        ("猫*", (), (), (), ["猫*"]),
        ("title:lime heading:mortar", (), (), (), ["title:lime", "heading:mortar"]),
        ('title:"slaked lime" -title:old*', (), (), (), ['title:"slaked lime"', "NOT title:old*"]),
        ("title:(lime OR heading:mortar)", (), (), (), ["(title:lime OR heading:mortar)"]),
        ("title\\:lime \\AND \\(old\\)", (), (), (), []),
        ("lime \\* \\+tide", (), (), (), []),
        ("(a1 OR b1). AND c1", ("c1",), (), (), ["(a1 OR b1)"]),
        ("f(x) AND (tide OR y1)", ("f(x",), (), (), ["(tide OR y1)"]),
        ('("x1 y1")', (), ("x1 y1",), (), []),
        ('("x1 y1" -zebra)', (), ("x1 y1",), ("zebra",), []),
        ('("x1 y1" NOT zebra)', (), ("x1 y1",), ("zebra",), []),
        ("(lime -zebra)", ("lime",), (), ("zebra",), []),
        ("NOT NOT lime", ("lime",), (), (), []),
        ("lime NOT NOT tide", ("tide",), (), (), []),
        ("lime AND tide NOT x1 OR y1", ("lime", "tide"), (), (), ["(NOT x1 OR y1)"]),
        ("quay AND (lime AND tide NOT x1 OR y1)", ("quay", "lime", "tide"), (), (), ["(NOT x1 OR y1)"]),
        ("quay OR (ferry (lime OR tide))", (), (), (), ["(quay OR (lime OR tide))"]),
        ("Terms AND Conditions", ("Terms", "Conditions"), (), (), []),
        ("Does it cover (fire OR flood)?", (), (), (), ["(fire OR flood)"]),
        ('"to be" AND castle', ("castle",), ("to be",), (), []),
    ],
)
def test_an_expression_is_parsed_into_conditions(query: str, required: Any, phrases: Any, excluded: Any, groups: Any):
    parsed = query_parsing.parse(query)
    assert (parsed.required, parsed.phrases, parsed.excluded, _groups(query)) == (required, phrases, excluded, groups)
    assert parsed.expression_error is None


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("lime AND (cement OR mortar)", "lime cement mortar"),
        ("lime NOT (cement OR mortar)", "lime"),
        ("conf* title:lime", "conf lime"),
        ("lime AND NOT title:mortar", "lime"),
        ("title\\:lime \\AND x1", "title:lime AND x1"),
    ],
)
def test_the_words_of_an_expression_that_it_wants_are_scored(query: str, words: str) -> None:
    parsed = query_parsing.parse(query)
    assert (parsed.words, parsed.text) == (words, words)


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("lime AND (cement OR mortar", "unclosed_group"),
        ("(lime OR cement)) AND mortar", "unopened_group"),
        ("lime AND ()", "empty_group"),
        ("lime AND (OR cement)", "missing_operand"),
        ("(lime OR cement) AND", "missing_operand"),
        ("lime mortar AND", "missing_operand"),
        ("title:(lime", "unclosed_group"),
        ("(((((lime OR x1) OR x2) OR x3) OR x4) OR x5)", "too_deep"),
        (" OR ".join(f"word{n}*" for n in range(70)), "too_many_operands"),
    ],
)
def test_an_expression_that_cannot_be_read_is_words(query: str, error: str) -> None:
    parsed = query_parsing.parse(query)
    assert (parsed.expression_error, parsed.groups, parsed.required, parsed.excluded) == (error, (), (), ())
    assert "lime" in parsed.words or "word1" in parsed.words


@pytest.mark.parametrize(
    "query",
    [
        "lime OR mortar", "Hoppet (Film) director", "up to two years (i.e. infants)", "(Michigan football team) game",
        "lime (cement", "cement) lime", "smile :) or :(", "((((((deep))))))", "A* search", "*args", "5* hotel", "a**b",
        "f(x)", "print()", "title: lime", "subtitle:lime", "ratio:2", "C:\\temp", "lime () mortar",
        "state-of-the-art C++", "| a | - - - | b |", "at -5 or +5 degrees", "use --verbose", "CPU AND GPU",
        "war and peace or not", "what is NOT covered", "is water damage NOT covered by it", "damage is NOT covered",
        "How do lime AND mortar bind?", "the limits AND the terms", "flood, storm OR the sea", "does NOT apply",
        "WHAT IS NOT COVERED", "FRANCE (NATO) AND ITALY", "RELATIONS OF FRANCE AND (OR) ITALY NOT KNOWN",
        "Which vendors (NOT Brisa) supply it?",
    ],
)  # fmt: skip
def test_other_queries_and_operators_of_a_sentence_are_words_only(query: str) -> None:
    parsed = query_parsing.parse(query)
    assert (parsed.required, parsed.phrases, parsed.excluded, parsed.groups) == ((), (), (), ())
    assert parsed.expression_error is None
    assert parsed.words == (query.replace(" OR ", " ") if query == "lime OR mortar" else query)


_WORDS = st.builds(
    TextCondition,
    st.sampled_from(["lime", "tide gauge", "AND", "mortar"]),
    is_phrase=st.just(True),
    field=st.sampled_from([None, "title", "heading"]),
) | st.builds(TextCondition, st.sampled_from(["lime", "cement", "tide"]), is_prefix=st.booleans())


def _combined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    parts = st.lists(inner | st.builds(Negation, _WORDS), min_size=2, max_size=3).map(tuple)
    return st.builds(Combination, st.sampled_from(["and", "or"]), parts)


@given(_combined(_WORDS | _combined(_WORDS)))
def test_a_condition_is_written_as_it_is_read(condition: Condition) -> None:
    text = parsed_query.write(Combination("or", (condition, TextCondition("quay", is_prefix=True))))
    assert _groups(text) == [text]


PIECES = [
    *("a1", "AND", "OR", "NOT", "(", ")", '"x y"', "“", "”", "+", "-", "b*", "title:", "\\", "*", "猫\u200b", "?")
]
QUERY = st.builds(str.join, st.sampled_from(["", " "]), st.lists(st.sampled_from(PIECES), max_size=25))


@given(st.text(alphabet=st.characters(codec=None)) | QUERY)
@example("+0\\AND")
@example("+a1\\*")
def test_any_query_parses_into_parts_of_itself_and_one_that_cannot_be_read_has_words_only(query: str) -> None:
    parsed, seen = query_parsing.parse(query), query_parsing.normalise(query)
    parts = (*parsed.required, *parsed.phrases, *parsed.excluded)
    unescaped = seen.replace("\\", "")  # a backslash before an operator is no part of the text
    assert all(part and part.replace("\\", "") in unescaped for part in parts)
    assert not (parsed.expression_error and (parts or parsed.groups))
    assert bool(parsed.text) == bool(seen)
