"""A populated database of the baseline keeps its rows and its search results through every later revision."""

import asyncio
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import schema_dump
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from app import errors
from app.database import filters, transactions
from app.database.calibration_types import LogitScale, RelevanceCalibration
from app.database.filter_types import Filters
from app.database.schema import migration, reembedding
from app.derived_row_repairs import Damage
from app.entities.linking import mention_refresh
from app.entities.store import mentions, name_changes
from app.maintenance import repair
from app.query.search_types import HybridRequest, LexicalQuery, Weights
from app.search.store import hybrid_search
from app.services import ChunkingOptions, Services
from app.text import uris
from app.text.names import gazetteer, names
from app.text.queries.parsed_query import IndexText
from benchmarks.fake_embedder import FakeEmbedder

DOCUMENT = "11111111-1111-1111-1111-111111111111"
WAITING = f"""
INSERT INTO stepwell.tenants (user_id) VALUES ('ana'), ('bob'), ('cy');
INSERT INTO stepwell.documents (user_id, document_id, identity, title, config, content, content_hash, attributes_hash,
                                chunk_count, names_version)
VALUES ('bob', '{DOCUMENT}', '\\x00', 'Long', 'english', 'Long.', '\\x00', '\\x00', 0, {names.VERSION});
INSERT INTO stepwell.jobs (job_id, user_id, kind, payload)
VALUES (gen_random_uuid(), 'ana', 'relink', '{{}}'),
       (gen_random_uuid(), 'bob', 'link_document', '{{"document_id": "{DOCUMENT}"}}');
INSERT INTO stepwell.entity_changes (user_id, name_key, name, version, pending, lowered)
VALUES ('ana', 'ana', 'Ana', 3, true, true), ('ana', 'ben', 'Ben', 2, false, false), ('cy', 'cy', 'Cy', 1, true, false);
"""

MODEL, DIMENSION = "fake", 64
REVISIONS = [script.revision for script in ScriptDirectory(str(migration.scripts())).walk_revisions()][::-1]
REWRITTEN = {
    "0046": {"entities": ("origin",)},
    "0047": dict.fromkeys(("documents", "staged_documents"), ("identity", "uri")),
    "0050": {"entity_names": ("name_key",), "entity_words": ("lexeme",)},
    "0052": {"entity_names": ("name_key",), "entity_words": ("lexeme",)},
    "0055": {"entity_names": ("name_key",), "entity_words": ("lexeme",)},
}
"""Columns whose values a revision changes."""
SIXTY = (0.6, 0.8, *[0.0] * (DIMENSION - 2))


async def _upgrade(address: Any, revision: str = "head") -> str:
    return await migration.upgrade(address.owner_dsn, model=MODEL, dimension=DIMENSION, revision=revision)


async def test_the_baseline_equals_the_schema_that_the_revisions_before_it_made(new_database, populated) -> None:
    empty = await new_database()
    assert await _upgrade(empty, migration.BASELINE) == migration.BASELINE == REVISIONS[0]
    assert schema_dump.dump(empty) == schema_dump.dump(populated)


async def test_each_revision_keeps_the_rows_that_it_does_not_drop(populated, owner) -> None:
    before = await _columns(owner)
    for revision in REVISIONS[1:]:
        rows = await _rows(owner, before)
        assert await _upgrade(populated, revision) == revision
        after = await _columns(owner)
        changed = REWRITTEN.get(revision, {})
        kept = {
            table: [c for c in before[table] if c in after[table] and c not in changed.get(table, ())]
            for table in before.keys() & after.keys()
        }
        now = await _rows(owner, kept)
        assert {t: _sorted(now[t], kept[t]) for t in kept} == {t: _sorted(rows[t], kept[t]) for t in kept}
        before = after


async def test_0047_gives_documents_the_identity_of_their_uri_in_any_spelling(populated, owner) -> None:
    await _upgrade(populated, "0045")
    decomposed, path = "file:///x/e%CC%81 b.md", "/x/é b.md"
    for number, uri in enumerate((decomposed, path, "notes/e\u0301.md", "notes/a.md")):
        document_id, hashed = str(UUID(int=number)), hashlib.sha256(json.dumps(["uri", uri]).encode()).digest()
        await owner.execute(INSERT, document_id, hashed, uri)
    await _upgrade(populated)
    for table in ("documents", "staged_documents"):
        rows = await owner.fetch(f"SELECT uri, identity FROM stepwell.{table} WHERE uri IS NOT NULL")
        assert {row["uri"] for row in rows if row["identity"] != uris.identity(row["uri"])} <= {decomposed}
    rows = await owner.fetch("SELECT uri FROM stepwell.documents WHERE user_id = 'eva'")
    assert {row["uri"] for row in rows} == {decomposed, path, "notes/é.md", "notes/a.md"}


INSERT = """
INSERT INTO stepwell.documents (user_id, document_id, identity, uri, title, config, content, content_hash,
                                attributes_hash, chunk_count)
VALUES ('eva', $1, $2, $3, 'Tide', 'english', 'Tide.', 'h', 'a', 0)
"""


async def test_0050_0052_and_0055_give_added_entities_the_keys_of_the_words_of_names_and_roles(
    populated, owner
) -> None:
    await _upgrade(populated, "0049")
    await owner.execute(MIXED)
    await _upgrade(populated)
    keys = await owner.fetch("SELECT name, name_key FROM stepwell.entity_names WHERE user_id = 'ida'")
    assert {row["name"]: row["name_key"].decode() for row in keys} == {
        **dict(zip(KEYS, map(gazetteer.key, KEYS), strict=True)),
        "other": "kept",
    }
    roles = await owner.fetch("SELECT lexeme FROM stepwell.entity_words WHERE user_id = 'ida'")
    assert {row["lexeme"] for row in roles} == {"role:ai 担当", "ai担当"}


KEYS = {
    "ABC株式会社": "abc株式会社", "मीना": "मन", "کریمی ۱۲": "کریمی ۱۲", "ガス・A": "カス a", "Ёлка": "елка",
    "สมชาย ใจดี": "สมชาย ใจด", "ÉC+": "ec+", "Школа № 5": "школа No 5", "दुसऱ्या": "दसरय", "Æsa Łoś": "æsa łos",
}  # fmt: skip
"""Names with their keys until revision 0049."""
MIXED = f"""
INSERT INTO stepwell.tenants (user_id) VALUES ('ida');
INSERT INTO stepwell.entities (user_id, entity_id, type, name, origin, role)
VALUES ('ida', '00000000-0000-0000-0000-000000000001', 'team', 'ABC株式会社', 'user', 'AI担当');
INSERT INTO stepwell.entity_names (user_id, entity_id, name, name_key)
SELECT 'ida', '00000000-0000-0000-0000-000000000001', name, convert_to(key, 'UTF8')
FROM jsonb_each_text('{json.dumps({**KEYS, "other": "kept"})}') AS o (name, key);
INSERT INTO stepwell.entity_words (user_id, lexeme, entity_id)
SELECT 'ida', lexeme, '00000000-0000-0000-0000-000000000001' FROM unnest(ARRAY['role:ai担当', 'ai担当']) AS lexeme;
"""


async def test_0055_gives_teams_the_new_ids_of_members_from_documents(populated, owner) -> None:
    await _upgrade(populated, "0054")
    former, other = (names.Name(key, "").entity_id for key in ("łukasz zal", "søren"))
    await owner.execute(TEAM, former, other)
    await _upgrade(populated)
    members = await owner.fetch("SELECT member_id FROM stepwell.entity_members WHERE user_id = 'ole'")
    assert {row["member_id"] for row in members} == {names.Name("lukasz zal", "").entity_id, other}


TEAM = """
WITH tenant AS (INSERT INTO stepwell.tenants (user_id) VALUES ('ole')),
those AS (
    INSERT INTO stepwell.entities (user_id, entity_id, type, name, origin)
    VALUES ('ole', '00000000-0000-0000-0000-000000000001', 'team', 'Film', 'user'),
           ('ole', $1, 'person', 'Łukasz Żal', 'metadata'), ('ole', $2, 'person', 'Søren', 'user')
),
named AS (
    INSERT INTO stepwell.entity_names (user_id, entity_id, name, name_key)
    VALUES ('ole', $1, 'Łukasz Żal', convert_to('łukasz zal', 'UTF8')),
           ('ole', $2, 'Søren', convert_to('søren', 'UTF8'))
)
INSERT INTO stepwell.entity_members (user_id, entity_id, member_id)
SELECT 'ole', '00000000-0000-0000-0000-000000000001', member FROM unnest(ARRAY[$1, $2]) AS member
"""


async def test_an_upgraded_database_is_accepted_and_searched(populated, owner, service) -> None:
    matches = [tuple(row) for row in await owner.fetch(MATCHES)]
    assert {(user, kind) for user, kind, _ in matches} >= {("ana", "howto"), ("ana", "products"), ("bob", None)}
    steps: list[migration.AppliedRevision] = []
    upgraded = migration.upgrade(populated.owner_dsn, model=MODEL, dimension=DIMENSION, report=steps.append)
    assert await upgraded == migration.head()
    assert [step.revision for step in steps if step.summary and step.seconds >= 0] == REVISIONS[1:]
    await migration.check(service, model=MODEL, dimension=DIMENSION)
    for user in ("ana", "bob"):
        assert await _found(service, user) == sum(count for of, _, count in matches if of == user)
        if owner.get_server_version() < (18,):  # its stemmers are not those of the server that was dumped
            repaired = await repair.run(user, Services(service, FakeEmbedder(dimension=DIMENSION, name=MODEL)))
            assert repaired.keys() <= {"texts", "postings"}
        checked = await repair.check(user, db=service, keys=ChunkingOptions().entity_keys)
        assert checked.damage == Damage()
    restricted = service.restricted(filters.restriction(Filters(metadata={"kind": "howto"})))
    assert [("ana", "howto", await _found(restricted, "ana"))] == [row for row in matches if "howto" in row]


MATCHES = """
SELECT c.user_id, d.metadata ->> 'kind' AS kind, count(*)
FROM stepwell.chunks AS c JOIN stepwell.documents AS d USING (user_id, document_id)
WHERE c.tsv @@ 'tide' GROUP BY 1, 2
"""
"""The number of chunks with a word, by user and kind of document."""


async def test_0041_gives_a_calibration_of_four_numbers_the_scale_of_relevance_for_several_hops(
    populated, owner, service
) -> None:
    await owner.execute("UPDATE stepwell.tenants SET calibration = calibration[1:4] WHERE user_id = 'ana'")
    await _upgrade(populated)
    async with service.reading("ana") as reading:
        relevance = LogitScale(1.5, 0.8)
        assert reading.entered.calibration == RelevanceCalibration(relevance, LogitScale(), relevance)


async def test_a_database_of_an_earlier_revision_is_refused_and_not_changed(populated, owner) -> None:
    await owner.execute("UPDATE stepwell.alembic_version SET version_num = '0039'")
    schema = schema_dump.dump(populated)
    with pytest.raises(errors.SchemaMismatch) as refused:
        await _upgrade(populated)
    assert str(refused.value) == (
        "The database is at revision 0039, this version upgrades from 0040 on: "
        "run `stepwell db upgrade` of commit b8c21b15 first."
    )
    assert schema_dump.dump(populated) == schema


async def test_vectors_of_32_bits_are_found_through_their_index_and_replaced_by_those_of_16_bits(
    populated, owner, service
) -> None:
    owning = transactions.connect(populated.owner_dsn, pool_size=1)
    try:
        await owner.execute(AS_VECTOR)
        await _upgrade(populated)
        await migration.check(service, model=MODEL, dimension=DIMENSION)
        assert await owner.fetchval(TYPES) == f"vector({DIMENSION}) vector({DIMENSION})"
        assert await _indexes_of_hybrid(service) == {"ix_embeddings_embedding"}

        await reembedding.begin(owning, "next", 2)
        await owner.execute(NEXT_ROWS)
        assert await reembedding.switch(owning)
        assert await owner.fetchval(TYPES) == "halfvec(2) halfvec(2)"
        await migration.check(service, model="next", dimension=2)
        assert await _indexes_of_hybrid(service, [0.6, 0.8]) == {"ix_embeddings_embedding"}
    finally:
        await owning.close()


AS_VECTOR = "".join(
    f"""
    DROP INDEX stepwell.ix_{table}_embedding;
    ALTER TABLE stepwell.{table} ALTER COLUMN embedding TYPE vector({DIMENSION});
    CREATE INDEX ix_{table}_embedding ON stepwell.{table} USING hnsw (embedding vector_cosine_ops)
    WITH (m = 16, ef_construction = 200);
    """
    for table in ("embeddings", "entity_vectors")
)
"""Databases of the baseline have such columns if an earlier version created them."""
TYPES = """
SELECT string_agg(format_type(atttypid, atttypmod), ' ') FROM pg_attribute
WHERE attname = 'embedding' AND attrelid IN ('stepwell.embeddings'::regclass, 'stepwell.entity_vectors'::regclass)
"""
NEXT_ROWS = """
INSERT INTO stepwell.embeddings_next SELECT user_id, chunk_no, document_id, '[0.6,0.8]' FROM stepwell.embeddings;
INSERT INTO stepwell.entity_vectors_next SELECT user_id, entity_id, '[0.6,0.8]' FROM stepwell.entity_vectors;
"""


async def _indexes_of_hybrid(database: transactions.Database, vector: Sequence[float] = SIXTY) -> set[str]:
    """The HNSW indexes in the plan of the hybrid statement if no table may be scanned."""
    asked = HybridRequest("ana", list(vector), None, Weights(vector=1.0, text=0.0), "rrf", limit=10)
    statement, binds = hybrid_search.prepare(asked)
    async with database.reading("ana") as reading:
        await reading.execute(sa.text("SET LOCAL enable_seqscan = off"))
        await reading.execute(sa.text("SET LOCAL enable_sort = off"))
        plan = (await reading.execute(sa.text(f"EXPLAIN {statement.text}"), binds)).scalars().all()
    return set(re.findall(r"ix_\w+_embedding\b", "\n".join(plan)))


async def _columns(owner: asyncpg.Connection) -> dict[str, list[str]]:
    """The columns of each table of the schema."""
    found = await owner.fetch(
        "SELECT table_name, array_agg(column_name ORDER BY ordinal_position) AS columns "
        "FROM information_schema.columns WHERE table_schema = 'stepwell' AND table_name <> 'alembic_version' "
        "GROUP BY table_name"
    )
    return {row["table_name"]: row["columns"] for row in found}


async def _rows(owner: asyncpg.Connection, columns: dict[str, list[str]]) -> dict[str, list[dict[str, str]]]:
    """Every row of each table, with its given columns as text."""
    found = {}
    for table, named in columns.items():
        listed = ", ".join(f'"{name}"::text' for name in named)
        found[table] = [dict(row) for row in await owner.fetch(f"SELECT {listed} FROM stepwell.{table}")]
    return found


def _sorted(rows: list[dict[str, str]], names: list[str]) -> list[list[str]]:
    """Rows with some of their columns, ordered by these columns only."""
    return sorted(([row[name] for name in names] for row in rows), key=str)


async def _found(database: transactions.Database, user: str) -> int:
    """The number of chunks that a search for a word returns to a user. Each leg finds all of them."""
    words = LexicalQuery(IndexText("tide", "tide"))
    request = HybridRequest(user, None, words, Weights(vector=0.0, text=1.0), "rrf", limit=100)
    async with database.reading(user) as reading:
        return len((await hybrid_search.hybrid(reading, request)).candidates)


async def test_an_upgrade_that_ended_because_a_request_waited_for_it_is_repeated(populated, owner) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'stepwell.tenants'::regclass"
    await owner.execute("SET deadlock_timeout = '1h'")  # so Postgres ends the upgrade, never this request
    async with owner.transaction():
        await owner.execute("LOCK TABLE stepwell.tenants IN ACCESS SHARE MODE")
        upgrading = asyncio.create_task(_upgrade(populated))
        while not await owner.fetchval(waiting):
            assert not upgrading.done()
        assert await owner.fetchval("SELECT count(*) FROM stepwell.documents"), "after the deadlock"
    assert await upgrading == migration.head()


async def test_0042_keeps_what_waits_to_be_linked(new_database) -> None:
    empty = await new_database()
    await _upgrade(empty, "0040")
    owner = await empty.connect()
    database, as_owner = (transactions.connect(dsn, pool_size=1) for dsn in (empty.service_dsn, empty.owner_dsn))
    try:
        await owner.execute(WAITING)
        await _upgrade(empty)
        assert sorted(await mention_refresh.enqueue_all(as_owner)) == ["bob", "cy"], "ana has a job"
        async with database.reading("ana") as reading:
            (change,) = await name_changes.pending(reading, limit=9)
            assert (change.key, change.name, change.before) == ("ana", "Ana", 2**63 - 1)
        async with database.reading("bob") as reading:
            assert [str(one) for one in await mentions.list_unlinked(reading, version=names.VERSION, limit=9)] == [
                DOCUMENT
            ]
        jobs = await owner.fetch("SELECT user_id, kind FROM stepwell.jobs ORDER BY user_id")
        assert [tuple(row) for row in jobs] == [("ana", "relink"), ("bob", "relink"), ("cy", "relink")]
    finally:
        await owner.close()
        await database.close()
        await as_owner.close()
