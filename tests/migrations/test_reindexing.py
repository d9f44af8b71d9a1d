"""Revision 0006 analyses the stored texts again that its rules change, and derives the moments of stored metadata."""

from __future__ import annotations

import json
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.pipelines.maintenance import repair
from app.shapes import Filters, HybridRequest, IndexText, LexicalQuery, Weights
from app.store.connection import sql, transactions
from app.store.maintenance import migration
from app.store.search import recall
from app.text.words import lexical

MODEL, DIMENSION = "fake", 64
VECTOR = json.dumps([1.0] * DIMENSION)
TEXTS = [
    *(("english", f"猫の本、第{n}巻") for n in range(300)),
    *(("english", text) for text in ("copper 猫 river", "A plain text, 2024", "Æon and Œuvre complete")),
    *(("french", text) for text in ("le cœur", "le coeur", "des sœurs, ex æquo", "la pêche")),
    *(("danish", text) for text in ("et æble", "aeble")),
]
OLD_INDEX_TEXTS = {
    "Æon and Œuvre complete": "aeon eon and oeuvre euvre complete",
    "le cœur": "le cœur",
    "des sœurs, ex æquo": "des sœurs ex æquo",
}
"""The indexed texts of revision 0005 that differ from today's."""
METADATA = {"when": ["2026-01-31T12:00:00Z", "soon"], "year": 2024}


@pytest.fixture(scope="module")
async def populated(new_database):
    """A database of revision 0005 with the rows that its version stored, upgraded to the newest revision."""
    address = await new_database()
    await migration.upgrade(address.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0005")
    owner, service = await address.connect(), transactions.connect(address.service_dsn, pool_size=1)
    owning = transactions.connect(address.owner_dsn, pool_size=1)
    try:
        for user in ("ana", "bob"):
            await _store(owner, owning, user, TEXTS if user == "ana" else [("english", "a plain text")])
        before = await _rows(owner, "bob")
        await migration.upgrade(address.owner_dsn, model=MODEL, dimension=DIMENSION)
        assert await _rows(owner, "bob") == before
        yield service
    finally:
        await owning.close()
        await service.close()
        await owner.close()


async def _store(
    owner: asyncpg.Connection, owning: transactions.Database, user: str, texts: list[tuple[str, str]]
) -> None:
    await owner.execute("INSERT INTO stepwell.tenants (user_id, next_chunk_no) VALUES ($1, $2)", user, len(texts) + 1)
    for number, (config, text) in enumerate(texts, 1):
        document = uuid4()
        await owner.execute(
            "INSERT INTO stepwell.documents (user_id, document_id, identity, title, config, metadata, content, "
            "content_hash, attributes_hash, chunk_count, names_version) "
            "VALUES ($1, $2::uuid, uuid_send($2::uuid), '', $3, $4, $5, 'h', 'a', 1, 1000)",
            user, document, config, json.dumps(METADATA), text,
        )  # fmt: skip
        await _store_chunk(owner, user, document, number, config, text)
        async with owning.shared() as writing:
            of_document = {"user_id": user, "document_ids": [document]}
            await writing.execute(sql.statement("index_documents"), of_document)
            await writing.execute(sql.statement("count_documents"), {**of_document, "sign": 1})


async def _store_chunk(
    owner: asyncpg.Connection, user: str, document: UUID, number: int, config: str, text: str
) -> None:
    indexed = OLD_INDEX_TEXTS.get(text) or lexical.index_text(text, config)
    await owner.execute(
        "INSERT INTO stepwell.chunks (user_id, chunk_id, chunk_no, document_id, chunk_index, content, start_offset, "
        "end_offset, heading_path, config, tsv, length, embedding_key) "
        "SELECT $1, $2, $3, $2, 0, $4, 0, 1, '{}', $5, t.tsv, (SELECT sum(cardinality(w.positions)) "
        "FROM unnest(t.tsv) AS w), $2 FROM to_tsvector($5::text::regconfig, $6) AS t (tsv)",
        user, document, number, text, config, indexed,
    )  # fmt: skip
    await owner.execute(
        "INSERT INTO stepwell.embeddings (user_id, chunk_no, document_id, embedding) "
        "VALUES ($1, $2, $3, $4::text::vector)",
        user, number, document, VECTOR,
    )  # fmt: skip


async def _rows(owner: asyncpg.Connection, user: str) -> list[list[str]]:
    tables = ("chunks", "postings", "lexemes", "text_statistics")
    query = "SELECT r::text AS row FROM stepwell.{} AS r WHERE user_id = $1 ORDER BY 1"
    return [[row["row"] for row in await owner.fetch(query.format(table), user)] for table in tables]


async def test_every_derived_row_equals_that_of_a_new_upload(populated) -> None:
    checked = await repair.check("ana", db=populated, keys=())
    assert (checked.chunks, checked.damage.texts, checked.damage.postings, checked.damage.statistics) == (
        len(TEXTS), 0, 0, 0,
    )  # fmt: skip


async def _found(database: transactions.Database, user: str, words: str, filters: Filters | None = None) -> list[str]:
    lexical_query = LexicalQuery(IndexText(lexical.index_text(words, "english"), lexical.index_text(words, "german")))
    request = HybridRequest(
        user, None, lexical_query, Weights(0.0, 1.0), "rrf", 400, candidates=400, filters=filters or Filters()
    )
    async with database.reading(user) as reading:
        return [candidate.content for candidate in (await recall.hybrid(reading, request)).candidates]


async def test_characters_and_ligatures_of_stored_texts_match(populated) -> None:
    assert len(await _found(populated, "ana", "猫")) == 301
    assert len(await _found(populated, "ana", "巻")) == 300
    assert {*await _found(populated, "ana", "coeur")} == {*await _found(populated, "ana", "cœur")}
    assert {*await _found(populated, "ana", "coeur")} == {"le cœur", "le coeur"}
    assert await _found(populated, "ana", "soeurs aequo") == ["des sœurs, ex æquo"]
    assert await _found(populated, "ana", "eon") == []


@pytest.mark.parametrize(("bounds", "count"), [({"lte": "2026-01-31T12:00"}, 1), ({"lt": "2026-01-31T12:00"}, 0)])
async def test_dates_in_stored_metadata_pass_ranges(populated, bounds, count) -> None:
    filters = Filters(metadata={"when": bounds, "year": {"gte": 2024}})
    assert len(await _found(populated, "bob", "plain", filters)) == count
