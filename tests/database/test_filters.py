"""Tests of the translation of filters to SQL against an oracle in Python."""

import random

import asyncpg
import filter_oracle
import pytest
from filter_oracle import StoredDocument

from app.database import filters as translation
from app.database import foreign_filter_operators, sql
from app.database.filter_types import BOUNDS, OPERANDS, OPERATORS, Filters
from app.database.transactions import Database
from app.text import iso_dates

DOCUMENTS, FILTERS, TEXTS = 60, 250, 5_000
PASSING = (
    "-- Lists the documents that pass filters.\n-- :user_id text\n"
    "SELECT d.document_id FROM stepwell.documents AS d WHERE d.user_id = :user_id AND {{passes_filters d}}"
)


@pytest.fixture(scope="module")
async def stored(owner: asyncpg.Connection) -> tuple[str, list[StoredDocument]]:
    """A user with random documents."""
    return await filter_oracle.store(owner, random.Random(11), DOCUMENTS)


async def test_sql_and_oracle_agree_on_which_documents_pass_random_filters(database: Database, stored) -> None:
    user, documents = stored
    dice, selective = random.Random(12), 0
    async with database.reading(user) as reading:
        for _ in range(FILTERS):
            filters = filter_oracle.draw_filters(dice, documents)
            binds = translation.binds(filters)
            rows = await reading.execute(sql.parse(PASSING).compiled(*binds), {"user_id": user, **binds})
            expected = {d.document_id for d in documents if filter_oracle.passes(filters, d)}
            assert {row.document_id for row in rows} == expected, filters
            selective += 0 < len(expected) < DOCUMENTS
    assert selective > FILTERS / 3


async def test_python_and_sql_read_the_same_dates(owner: asyncpg.Connection) -> None:
    dice = random.Random(13)
    texts = [*filter_oracle.DATES, *filter_oracle.NO_DATES, *(_date_text(dice) for _ in range(TEXTS))]
    rows = await owner.fetch(
        "SELECT t.text, stepwell.microseconds(t.text) AS moment FROM unnest($1::text[]) AS t (text)", texts
    )
    assert [(row["text"], iso_dates.microseconds(row["text"])) for row in rows] == [tuple(row) for row in rows]
    assert sum(row["moment"] is not None for row in rows) > TEXTS / 4


def _date_text(dice: random.Random) -> str:
    """A date or time in one of many forms, not all of which are read."""
    day = f"{dice.choice([0, 1, 1900, 1969, 2024, 9999]):04}-{dice.randint(1, 13):02}-{dice.randint(1, 30):02}"
    if dice.random() < 0.2:
        return _space(dice) + day + _space(dice)
    time = f"{dice.choice('Tt ')}{dice.randint(0, 24):02}:{dice.randint(0, 60):02}"
    if dice.random() < 0.8:
        time += f":{dice.randint(0, 60):02}"
        time += dice.choice(["", *[f"{dice.choice('.,')}{dice.randrange(10**n):0{n}}" for n in (1, 6, 7, 8, 9, 10)]])
    sign = dice.choice("+-")
    offset = dice.choice(["", "Z", "z", f"{sign}{dice.randint(0, 16):02}", f"{sign}15:59", f"{sign}0230", f"{sign}2"])
    return _space(dice) + day + time + _space(dice) + offset + _space(dice)


def _space(dice: random.Random) -> str:
    return dice.choice([*([""] * 12), *([" "] * 4), "  ", "\t", "\r\n", "\x0b", "\u00a0", "\u3000"])


def test_every_operator_has_its_condition_and_every_bound_its_comparison() -> None:
    assert translation._OPERATORS.keys() == OPERANDS.keys()
    assert translation._COMPARISONS.keys() == set(BOUNDS)
    with pytest.raises(ValueError, match="unknown operator"):
        translation.binds(Filters(metadata={"year": {"$gt": 2020}}))


def test_the_beginning_of_the_uri_is_compared_without_a_json_path() -> None:
    assert translation.binds(Filters(folder="notes"))["uri_prefixes"][0] == "notes/"
    assert translation.binds(Filters(uri_prefix="notes/a")).keys() == {"uri_prefixes"}
    assert translation.binds(Filters(folder="notes", uri_prefix="n")).keys() == {"uri_prefixes", "matching_document"}


def test_no_operator_is_refused_as_one_of_another_system() -> None:
    assert [name for name in OPERATORS if foreign_filter_operators.advice(name)] == []
