"""A hit's literal matches are whole phrases, whole identifiers and whole titles of the query."""

from __future__ import annotations

import pytest

from app.text.queries import analysis, literal_matches


def _reasons(query: str, content: str, title: str = "") -> tuple[str, ...]:
    return literal_matches.reasons(analysis.parse(query), title=title, content=content)


@pytest.mark.parametrize(
    ("identifier", "content"),
    [
        ("ERR_40", "raised ERR_40."),
        ("ERR_40", "(err_40)"),
        ("ERR_40", "ERR_40: the gauge answered"),
        ("ERR_40", "エラーERR_40が出た"),
        ("E-1042", "E-1042, E-1043"),
        ("v1.2", "since v1.2."),
        ("getUserName", "calls getUserName() twice"),
        ("foo()", "then foo() returns"),
        ("app/text.py", "in app/text.py"),
        ("--dry-run", "pass --dry-run first"),
    ],
)
def test_an_identifier_matches_where_it_occurs_whole(identifier: str, content: str) -> None:
    assert _reasons(f"what is {identifier}", content) == ("identifier",)


@pytest.mark.parametrize(
    ("identifier", "content"),
    [
        ("ERR_40", "raised ERR_4012"),
        ("ERR_40", "raised MY_ERR_40"),
        ("ERR_40", "raised ERR_40-B"),
        ("ERR_40", "raised X-ERR_40"),
        ("E-104", "E-1042"),
        ("v1.2", "since v1.2.3"),
        ("v1.2", "since v1.21"),
        ("10.0.1", "10.0.1.7"),
        ("getUser", "calls getUserName() twice"),
    ],
)
def test_a_part_of_a_longer_identifier_is_no_match(identifier: str, content: str) -> None:
    assert _reasons(f"what is {identifier}", content) == ()


@pytest.mark.parametrize("query", ["Error ERR_99 in 2024", "ERR_99 at 14:30", "ERR_99 1,000 times", "ERR_99 3.5"])
def test_a_number_beside_an_identifier_is_none(query: str) -> None:
    assert _reasons(query, "errors in 2024 at 14:30, 1,000 times, 3.5 hours") == ()


def test_words_joined_by_punctuation_are_no_identifiers() -> None:
    assert _reasons("ERR_99 in a well-known and/or case", "a well-known and/or case") == ()


def test_a_phrase_in_a_script_without_spaces_matches_inside_a_run() -> None:
    assert _reasons('"日本語"', "これは日本語です") == ("phrase",)
    assert _reasons('"日本語"', "日本の言語") == ()
