"""Tests of the translation of filters to SQL against an oracle in Python."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from uuid import uuid4

import asyncpg
import filter_oracle
import pytest
from filter_oracle import StoredDocument

from app.shapes import BOUNDS, OPERANDS, FacetQuery, Filters, dates
from app.store.connection import sql
from app.store.connection.transactions import Database
from app.store.facets import facet_conditions, filtered_facets
from app.store.facets.document_ids import IdCache
from app.store.filters import filters as translation
from app.store.filters import json_paths
from app.store.maintenance import facet_repairs

DOCUMENTS, FILTERS, TEXTS = 60, 250, 5_000
PASSING = (
    "-- Lists the documents that pass filters.\n-- :user_id text\n"
    "SELECT d.document_id FROM stepwell.documents AS d WHERE d.user_id = :user_id AND {{passes_filters d}}"
)


@pytest.fixture(scope="module")
async def stored(owner: asyncpg.Connection) -> tuple[str, list[StoredDocument]]:
    """A user with random documents."""
    dice, user = random.Random(11), f"filtering-{uuid4().hex}"
    sources = [uuid4(), uuid4()]
    insert = "INSERT INTO stepwell.sources (user_id, source_id, path, glob) VALUES ($1, $2, $3, '*')"
    await owner.executemany(insert, [(user, source, str(source)) for source in sources])
    drawn = [filter_oracle.draw_document(dice, uuid4(), sources) for _ in range(DOCUMENTS)]
    documents = [replace(one, metadata={**one.metadata, "n": number}) for number, one in enumerate(drawn)]
    columns = (
        "user_id, document_id, source_id, created_at, metadata, uri, title, config, content, identity, content_hash"
    )
    await owner.executemany(
        f"INSERT INTO stepwell.documents ({columns}, attributes_hash, chunk_count) "
        "VALUES ($1, $2, $3, $4, $5, $7, '', 'english', '', $6, '', '', 0)",
        [
            (user, d.document_id, d.source_id, d.created_at, json.dumps(d.metadata), d.document_id.bytes, d.uri)
            for d in documents
        ],
    )
    return user, documents


async def test_sql_and_oracle_agree_on_which_documents_pass_random_filters(database: Database, stored) -> None:
    user, documents = stored
    dice, selective = random.Random(12), 0
    async with database.reading(user) as reading:
        for _ in range(FILTERS):
            filters = filter_oracle.draw_filters(dice, documents)
            binds = translation.binds(filters)
            rows = await reading.execute(sql.compiled(PASSING, *binds), {"user_id": user, **binds})
            expected = {d.document_id for d in documents if filter_oracle.passes(filters, d)}
            assert {row.document_id for row in rows} == expected, filters
            selective += 0 < len(expected) < DOCUMENTS
    assert selective > FILTERS / 3


async def test_ids_and_oracle_agree_on_which_documents_pass_random_filters(
    database: Database, stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, documents = stored
    monkeypatch.setattr(filtered_facets, "FEW", -1)
    async with database.writing(user) as writing:
        await writing.lock()
        await facet_repairs.correct(writing)
    dice, cache, on_ids, on_attributes = random.Random(14), IdCache(), 0, 0
    async with database.reading(user) as reading:
        for _ in range(FILTERS):
            filters = filter_oracle.draw_filters(dice, documents)
            found = await filtered_facets.count(reading, FacetQuery(filters, key="n", limit=DOCUMENTS), cache)
            expected = {d.metadata["n"] for d in documents if filter_oracle.passes(filters, d)}
            assert {value.value for facet in found for value in facet.values} == expected, filters
            conditions = await facet_conditions.read(reading, filters)
            on_ids += 0 < len(expected) < DOCUMENTS and conditions is not None
            on_attributes += 0 < len(expected) < DOCUMENTS and bool(conditions and conditions.tests)
    assert on_ids > FILTERS / 8 < on_attributes


async def test_python_and_sql_read_the_same_dates(owner: asyncpg.Connection) -> None:
    dice = random.Random(13)
    texts = [*filter_oracle.DATES, *filter_oracle.NO_DATES, *(_date_text(dice) for _ in range(TEXTS))]
    rows = await owner.fetch(
        "SELECT t.text, stepwell.microseconds(t.text) AS moment FROM unnest($1::text[]) AS t (text)", texts
    )
    assert [(row["text"], dates.microseconds(row["text"])) for row in rows] == [tuple(row) for row in rows]
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
    assert json_paths._COMPARISONS.keys() == set(BOUNDS)
    with pytest.raises(ValueError, match="unknown operator"):
        translation.binds(Filters(metadata={"year": {"$gt": 2020}}))
