"""The weights of a query follow from the languages that the model reads, as far as they are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.query.types import HybridRequest, Weights
from app.search import understanding
from app.search.understanding import FOREIGN, UNREAD

REQUEST = HybridRequest("user", None, None, Weights(0.4, 0.6), "convex", limit=5)
ENGLISH, MANY = frozenset({"en"}), frozenset({"en", "es", "el", "ru", "zh"})


@pytest.mark.parametrize("query", ["Πού βρίσκεται ο φάρος;", "где маяк", "灯台はどこですか", "מגדלור"])
def test_a_script_that_the_model_does_not_read_is_searched_by_words(query: str) -> None:
    assert understanding.with_languages(REQUEST, query, ENGLISH) == replace(REQUEST, weights=UNREAD["convex"])
    read = understanding.with_languages(REQUEST, query, MANY)
    assert read.weights == REQUEST.weights
    assert read.by_language is not None


def test_a_model_whose_languages_are_not_known_has_the_usual_weights() -> None:
    assert understanding.with_languages(REQUEST, "Πού βρίσκεται ο φάρος;", frozenset()) is REQUEST


def test_a_model_of_one_language_is_not_trusted_across_languages() -> None:
    chosen = [understanding.with_languages(REQUEST, "lighthouse", codes).by_language for codes in (ENGLISH, MANY)]
    assert [one and one.foreign for one in chosen] == [REQUEST.weights, FOREIGN["convex"]]


def test_documents_without_a_configuration_are_read_if_the_query_may_be_english() -> None:
    chosen = [understanding.with_languages(REQUEST, text, ENGLISH).by_language for text in ("latarnia", "wieża")]
    assert [one and sorted(one.read_configs) for one in chosen] == [["english", "simple"], ["english"]]
