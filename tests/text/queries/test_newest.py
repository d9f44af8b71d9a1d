"""A query asks for the newest only by a superlative that is not quoted, and if it names no date."""

from __future__ import annotations

import pytest

from app.text.queries import newest


@pytest.mark.parametrize(
    "query",
    [
        "What is the latest decision on lime mortar?",
        "newest firmware",
        "latest firmware 7.2024.1-rc for board 4711",
        "Which outage was the most recent?",
        "Was ist der neueste Stand beim Umzug?",
        "die aktuellste Fassung",
        "la version la plus récente",
        "el informe más reciente",
        "il verbale più recente",
        "o relatório mais recente",
        "de nieuwste versie",
    ],
)
def test_superlatives_of_time_ask_for_the_newest(query: str) -> None:
    assert newest.is_asked(query)


@pytest.mark.parametrize(
    "query",
    [
        "recent changes of the current plan",
        "the last landing",
        "Does 'The Latest Stock Market News' mention lime?",
        'notes on "the newest harbour"',
        "image-latest",
        "latestVersion",
        "un document plus récent que celui-ci",
        "the latest good news as of 20260908",
        "newest pumps in 2024",
        "latest report before 2025-03",
        "der neueste Stand vom 3.5.2024",
    ],
)
def test_other_words_of_time_titles_and_identifiers_do_not(query: str) -> None:
    assert not newest.is_asked(query)
