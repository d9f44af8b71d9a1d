"""The aboutness of the names in one query limits each other."""

from __future__ import annotations

from uuid import uuid4

import pytest

from app.pipelines.guidance import evidence
from app.pipelines.guidance.linked_documents import EntityLinks
from app.shapes import EntityMatch, HybridResult, NameCase, NameUse, Term


def match(name: str, words: tuple[str, ...], aboutness: float, *, case: NameCase = "capital") -> EntityMatch:
    use = NameUse("full" if len(words) > 1 else "word", words, case)
    return EntityMatch(uuid4(), name, "person", "metadata", 1.0, "name", name.lower(), use, aboutness=aboutness)


def test_a_name_that_the_query_is_not_about_lowers_the_weight_of_the_others() -> None:
    about = match("Ana Torres", ("ana", "torres"), 0.8)
    assert evidence.agreement([]) == evidence.agreement([about]) == 1.0
    assert evidence.agreement([about, match("Ben", ("ben",), 0.8)]) == 1.0
    assert evidence.agreement([about, match("Ben", ("ben",), 0.0)]) == pytest.approx(0.5)


def test_a_second_spelling_and_a_word_in_lower_case_are_no_further_names() -> None:
    about = match("Ana Torres", ("ana", "torres"), 0.8)
    others = [match("AnaTorres", ("ana", "torres"), 0.1), match("Stone", ("stone",), 0.0, case="small")]
    assert evidence.agreement([about, *others]) == 1.0


def test_entities_that_the_same_words_name_have_the_smallest_aboutness_of_them() -> None:
    spellings = [match(name, ("ana", "torres"), 0.0) for name in ("Ana Torres", "AnaTorres")]
    apart = match("Ben", ("ben",), 0.0)
    every = [*spellings, apart]
    links = EntityLinks(
        {one.entity_id: count for one, count in zip(every, (1, 30, 1), strict=True)},
        {one.entity_id: {uuid4(): 2.0} for one in every},
        {},
    )
    result = HybridResult((), (Term("torr", 9, 2.0),), 100, 100, "none", 0, 0, False)
    first, second, other = evidence.weighed(every, result, links, forced=False)
    alone = evidence.weighed([spellings[0]], result, links, forced=False)[0]
    assert first.aboutness == second.aboutness
    assert (first.aboutness or 0.0) < (alone.aboutness or 0.0)
    assert other.aboutness != first.aboutness
