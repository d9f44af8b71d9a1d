"""Identifiers are told from other words."""

import pytest

from app.text.queries import identifiers


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("ERR_STREAM was raised", "err stream"),
        ("see app/stream.py, or getUserName()", "app stream py get user name"),
        ("tagged #howto by @ana", "howto ana"),
        ("the stream of ERR_STREAM", "err"),
        ("A well-known end. New York, U-turn and McDonald", ""),
        ("", ""),
    ],
)
def test_only_words_that_are_nothing_else_are_pieces(text: str, pieces: str) -> None:
    assert set(identifiers.find_pieces(text).split()) == set(pieces.split())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the type FB-12, kx207b or 7F-2210-B (`ERR_PWR_2207`)", ["FB-12", "kx207b", "7F-2210-B", "ERR_PWR_2207"]),
        ("inc-48213 and INC-48213 | 0x80070057", ["inc-48213", "0x80070057"]),
        ("型号FB-12的电池", ["FB-12"]),
        ("some_limit in app/main.py, getUserName", ["some_limit", "app/main.py", "getUserName"]),
        ("version 4.1.2 or v2.0, 10.0.3.17, 24-118 and 4711", []),
        ("2025-07-02T10:15Z, 14-Mar-2025, Q3-2025, mid-1980s, 9am-5pm, 12mm, 200-300km, 30th, 18-year-old", []),
        ("and/or well-known U.S. New-York McDonald HALLIN MP3", []),
        ("A-" + "9" * 200, []),
    ],
)
def test_whole_identifiers_are_told_from_versions_dates_measures_and_words(text: str, found: list[str]) -> None:
    assert identifiers.find_identifiers(text) == found


def test_a_token_that_is_too_long_for_an_identifier_is_not_cached() -> None:
    before = identifiers._is_identifier.cache_info().currsize
    assert identifiers.find_identifiers("a1" * 4_000) == []
    assert identifiers._is_identifier.cache_info().currsize == before
