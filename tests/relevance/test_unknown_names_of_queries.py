"""Finds names and identifiers of a query that no document contains, but not its other unknown words."""

from __future__ import annotations

import pytest

from app.query.types import Term
from app.relevance import unknown_names


def found(query: str, *, known: str = "", missing: str = "", config: str = "english", words: str = "") -> list[str]:
    """The unknown names of a query with these lexemes."""
    terms = [Term(lexeme, 3, 1.0) for lexeme in known.split()] + [Term(lexeme, 0, 4.0) for lexeme in missing.split()]
    return unknown_names.find(query, terms, config=config, known_words=words.split())


@pytest.mark.parametrize(
    ("query", "known", "missing", "names"),
    [
        ("What is the default port of Redis?", "default port", "redi", ["redis"]),
        ("what is the default port of redis", "default port", "redi", ["redis"]),
        ("how do i change the default port of redis", "chang default port", "redi", []),
        ("Why does error E9999 occur?", "error occur", "e9999", ["e9999"]),
        ("Where did Ada Quillfeather study?", "studi ada", "quillfeath", []),
        ("Where did Ada Quillfeather study?", "studi", "ada quillfeath", ["ada quillfeather"]),
        ("Describe the port", "port", "describ", []),
        ("THE PORT OF REDIS", "port", "redi", ["redis"]),
        (
            "Which five wooden boats did Ada paint over the long winter in Ostrava harbour with lead and tar?",
            "five wooden boat ada paint long winter harbour lead tar",
            "ostrava",
            [],
        ),
        ("Who fixed the Bendigos sync?", "bendigo sync fix", "bendigos", []),
        ("¿Cuándo abrió el puerto?", "puert abri", "cuand", []),
    ],
)
def test_unknown_names_and_many_unknown_words_are_found(query: str, known: str, missing: str, names: list[str]) -> None:
    assert found(query, known=known, missing=missing) == names


def test_words_that_are_known_otherwise_are_no_unknown_names() -> None:
    assert found("What is the port of Redis?", known="port", missing="redi", words="redis") == []


def test_documents_that_contain_few_of_the_other_words_are_in_another_language() -> None:
    query = "Which river flows through Bremen?"
    assert found(query, known="river flow", missing="bremen") == ["bremen"]
    assert found(query, known="", missing="river flow bremen") == []


def test_capitals_say_nothing_in_german() -> None:
    assert found("Wie hoch ist der Mietpreis?", known="hoch", missing="mietpreis", config="german") == []
    assert found("Wann tritt der Fehler E9999 auf?", known="tritt fehl", missing="e9999", config="german") == ["e9999"]
