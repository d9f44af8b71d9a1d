"""Tests of the translation of filters to SQL against an oracle in Python."""

from __future__ import annotations

import json
import random
from uuid import uuid4

import asyncpg
import filter_oracle
import pytest
from filter_oracle import StoredDocument

from app.store.connection import sql
from app.store.connection.transactions import Database
from app.store.documents import filters as translation

DOCUMENTS, FILTERS = 60, 250
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
    documents = [filter_oracle.draw_document(dice, uuid4(), sources) for _ in range(DOCUMENTS)]
    columns = "user_id, document_id, source_id, created_at, metadata, title, config, content, identity, content_hash"
    await owner.executemany(
        f"INSERT INTO stepwell.documents ({columns}, attributes_hash, chunk_count) "
        "VALUES ($1, $2, $3, $4, $5, '', 'english', '', $6, '', '', 0)",
        [
            (user, d.document_id, d.source_id, d.created_at, json.dumps(d.metadata), d.document_id.bytes)
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
