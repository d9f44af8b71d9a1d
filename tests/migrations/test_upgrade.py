"""A populated database of every older revision keeps its rows and its search results when it is upgraded.

A revision that changes rows, and each from 0024 on, has a test of its own on a populated database of the one before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from uuid import UUID

import asyncpg
import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from app.shapes import (
    FacetQuery,
    Filters,
    HybridRequest,
    IndexText,
    LexicalQuery,
    LinkScope,
    LinkSource,
    LogitScale,
    RelevanceCalibration,
    Weights,
)
from app.store.accounts import audit
from app.store.connection import transactions
from app.store.documents import fetched_pages, visible_documents
from app.store.entities import entities
from app.store.facets import facets
from app.store.filters import filters
from app.store.maintenance import facet_repairs, migration, reembedding
from app.store.multihop import links
from app.store.search import recall

MODEL, DIMENSION = "fake", 64
REVISIONS = [script.revision for script in ScriptDirectory(str(migration.scripts())).walk_revisions()][::-1]
NEAR, FAR = (f"[{','.join(map(str, [*first, *[0] * (DIMENSION - 2)]))}]" for first in ((0.6, 0.8), (1, 0)))
SIXTY = (0.6, 0.8, *[0.0] * (DIMENSION - 2))
HARBOUR, BRANDT, ENTITY, JOB = (UUID(int=number) for number in (1, 2, 9, 6))
KEY = "0123456789ab"

ROWS = {
    "0001": f"""
        INSERT INTO stepwell.tenants (user_id, version, next_chunk_no) VALUES ('ana', 7, 3), ('bob', 1, 2);
        INSERT INTO stepwell.embedding_identity (model, dimension) VALUES ('{MODEL}', {DIMENSION})
        ON CONFLICT DO NOTHING;
        INSERT INTO stepwell.sources (user_id, source_id, path, glob)
        VALUES ('ana', '{UUID(int=5)}', '/notes', '*.md');
        INSERT INTO stepwell.documents (user_id, document_id, source_id, identity, uri, title, config, metadata,
                                        content, content_hash, attributes_hash, chunk_count)
        VALUES ('ana', '{HARBOUR}', '{UUID(int=5)}', 'a', 'harbour.md', 'Silent Harbour', 'english', '{{"a": "b"}}',
                'lantern lantern harbour, by Ilse Brandt', 'h', 'a', 1),
               ('ana', '{BRANDT}', NULL, 'b', NULL, 'Ilse Brandt', 'english', '{{}}', 'lantern maker', 'h', 'a', 1),
               ('bob', '{HARBOUR}', NULL, 'a', NULL, 'Silent Harbour', 'english', '{{}}', 'lantern', 'h', 'a', 1);
        INSERT INTO stepwell.chunks (user_id, chunk_id, chunk_no, document_id, chunk_index, content, start_offset,
                                     end_offset, heading_path, config, tsv, length, embedding_key)
        SELECT d.user_id, d.document_id, row_number() OVER (PARTITION BY d.user_id ORDER BY d.document_id),
               d.document_id, 0, d.content, 0, length(d.content), '{{Top}}', d.config,
               to_tsvector('english', d.content),
               (SELECT sum(cardinality(t.positions)) FROM unnest(to_tsvector('english', d.content)) AS t), d.document_id
        FROM stepwell.documents AS d WHERE d.user_id IN ('ana', 'bob');
        INSERT INTO stepwell.embeddings (user_id, chunk_no, document_id, embedding)
        SELECT user_id, chunk_no, document_id, CASE document_id WHEN '{HARBOUR}' THEN '{FAR}' ELSE '{NEAR}' END::vector
        FROM stepwell.chunks WHERE user_id IN ('ana', 'bob');
        INSERT INTO stepwell.text_statistics (user_id, config, chunks, tokens)
        SELECT user_id, config, count(*), sum(length)
        FROM stepwell.chunks WHERE user_id IN ('ana', 'bob') GROUP BY user_id, config;
        INSERT INTO stepwell.postings (user_id, lexeme, first_no, items)
        SELECT c.user_id, t.lexeme, min(c.chunk_no),
               array_agg(c.chunk_no << 24 | cardinality(t.positions)::bigint << 16 | c.length ORDER BY c.chunk_no)
        FROM stepwell.chunks AS c CROSS JOIN LATERAL unnest(c.tsv) AS t
        WHERE c.user_id IN ('ana', 'bob') GROUP BY c.user_id, t.lexeme;
        INSERT INTO stepwell.lexemes (user_id, lexeme, df, tail_no, tail_size)
        SELECT user_id, lexeme, cardinality(items), first_no, cardinality(items)
        FROM stepwell.postings WHERE user_id IN ('ana', 'bob');
        INSERT INTO stepwell.entities (user_id, entity_id, type, name, origin)
        VALUES ('ana', '{ENTITY}', 'name', 'Ilse Brandt', 'title');
        INSERT INTO stepwell.entity_names (user_id, name_key, entity_id, name)
        VALUES ('ana', 'ilse brandt', '{ENTITY}', 'Ilse Brandt');
        INSERT INTO stepwell.mentions (user_id, entity_id, chunk_no, kind, document_id, count)
        VALUES ('ana', '{ENTITY}', 1, 'text', '{HARBOUR}', 1), ('ana', '{ENTITY}', 2, 'title', '{BRANDT}', 1);
        INSERT INTO stepwell.api_keys (key_id, user_id, secret_hash, scopes, name)
        VALUES ('{KEY}', 'ana', 'secret', '{{search}}', 'old');
        INSERT INTO stepwell.jobs (job_id, user_id, kind) VALUES ('{JOB}', 'ana', 'relink');
        """,
    "0002": "UPDATE stepwell.documents SET names_version = 1 WHERE user_id = 'ana'",
    "0003": f"""
        UPDATE stepwell.tenants SET names_version = 3 WHERE user_id = 'ana';
        INSERT INTO stepwell.entity_words (user_id, lexeme, entity_id) VALUES ('ana', 'maker', '{ENTITY}');
        INSERT INTO stepwell.entity_vectors (user_id, entity_id, embedding) VALUES ('ana', '{ENTITY}', '{NEAR}');
        INSERT INTO stepwell.entity_changes (user_id, name_key, name, version)
        VALUES ('ana', 'ilse brandt', 'Ilse Brandt', 3);
        """,
    "0004": f"""
        INSERT INTO stepwell.headings (user_id, entity_id, section_no, chunk_no, document_id)
        VALUES ('ana', '{ENTITY}', 2, 2, '{BRANDT}')
        """,
    "0012": f"""
        INSERT INTO stepwell.embedding_cache (user_id, model, dimension, task, text_hash, embedding)
        VALUES ('ana', '{MODEL}', {DIMENSION}, 'passage', '{UUID(int=7)}', '{NEAR}');
        """,
    "0013": f"""
        INSERT INTO stepwell.sources (user_id, source_id, path, glob)
        VALUES ('ana', '{UUID(int=8)}', '/srv/notes', '**/*');
        INSERT INTO stepwell.source_files (user_id, source_id, path, documents, job_id)
        VALUES ('ana', '{UUID(int=8)}', 'a.md', 1, '{UUID(int=9)}');
        UPDATE stepwell.documents SET source_id = '{UUID(int=8)}', source_path = 'a.md'
        WHERE user_id = 'ana' AND document_id = '{BRANDT}';
        """,
    "0026": f"""
        UPDATE stepwell.tenants SET calibration = '{{1500000,800000,0,1000000}}', calibrated = '{{"questions": 30}}'
        WHERE user_id = 'ana';
        INSERT INTO stepwell.feedback (user_id, feedback_id, query, document_id, chunk_id, helpful)
        VALUES ('ana', '{UUID(int=10)}', 'lantern', '{BRANDT}', NULL, true);
        """,
    "0029": """
        UPDATE stepwell.tenants SET synonyms = '[{"terms": ["lantern", "lamp"]}]', synonyms_version = 1
        WHERE user_id = 'ana';
        """,
    "0031": f"""
        INSERT INTO stepwell.recognised_pictures (user_id, picture_key, lines)
        VALUES ('ana', '{UUID(int=11)}', 'encrypted');
        """,
}
"""Rows that can be inserted from a revision on."""


@pytest.fixture
async def empty(new_database):
    return await new_database()


async def test_each_upgrade_keeps_the_rows_and_the_search_results_of_users_of_every_older_revision(empty) -> None:
    owner, database = await empty.connect(), transactions.connect(empty.service_dsn, pool_size=1)
    columns: dict[str, list[str]] = {}
    rows: dict[str, list[str]] = {}
    try:
        for revision in REVISIONS:
            reached = await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision=revision)
            assert (reached, await _rows(owner, columns)) == (revision, rows)
            if revision != REVISIONS[-1]:
                for script in (rows for since, rows in ROWS.items() if since <= revision):
                    await owner.execute(_of_users(script, revision))
                columns = await _columns(owner)
                rows = await _rows(owner, columns)
        await migration.check(database, model=MODEL, dimension=DIMENSION)
        for ana, bob in (_users(revision) for revision in REVISIONS[:-1]):
            assert await _results(database, ana, bob) == {ana: [BRANDT, HARBOUR], bob: [HARBOUR]}
            assert await _linked(database, ana) == {BRANDT: "Ilse Brandt"}
    finally:
        await database.close()
        await owner.close()


def _users(revision: str) -> tuple[str, str]:
    return f"ana-{revision}", f"bob-{revision}"


def _of_users(script: str, revision: str) -> str:
    """The same rows for two users of a revision; ids that are unique over all users differ too."""
    ana, bob = _users(revision)
    key, job = f"{int(revision):012x}", UUID(int=1_000 + int(revision))
    script = script.replace("'ana'", f"'{ana}'").replace("'bob'", f"'{bob}'")
    return script.replace(KEY, key).replace(str(JOB), str(job))


async def test_stored_uses_of_keys_are_bounded_from_revision_0024_on_so_that_the_next_uses_are_counted(empty) -> None:
    await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0023")
    owner, service = await empty.connect(), None
    try:
        await owner.execute(ROWS["0001"])
        use = "SELECT stepwell.count_key_uses($1, $2, $3)"
        await owner.execute(use, [KEY] * 2, ["search", "write"], [2**63 - 1, 7])
        await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION)
        service = await empty.connect("stepwell_service")
        for uses in ([1, 1, 2**63 - 1], [2**63 - 1, 1, 1]):
            await service.execute(use, [KEY] * 3, ["search", "write", "admin"], uses)
        counted = dict(await owner.fetch("SELECT scope, uses FROM stepwell.key_uses"))
        assert counted == {"search": audit.MAX_USES, "write": 9, "admin": audit.MAX_USES}
    finally:
        await owner.close()
        if service is not None:
            await service.close()


async def _expect_a_scale_for_several_hops_from_revision_0032_on(empty, owner, database) -> None:
    six = "UPDATE stepwell.tenants SET calibration = calibration || '{200000,900000}'"
    with pytest.raises(asyncpg.CheckViolationError):
        await owner.execute(six)
    await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION)
    for hops in (LogitScale(1.5, 0.8), LogitScale(0.2, 0.9)):
        async with database.reading("ana") as reading:
            assert reading.calibration == RelevanceCalibration(LogitScale(1.5, 0.8), LogitScale(), hops)
        await owner.execute(six + " WHERE cardinality(calibration) = 4")


async def test_users_have_a_calibration_and_feedback_of_their_own_from_revision_0026_on(empty) -> None:
    await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0025")
    owner, database = await empty.connect(), transactions.connect(empty.service_dsn, pool_size=1)
    try:
        await owner.execute(ROWS["0001"])
        await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0026")
        async with database.writing("ana") as writing:
            for statement in filter(str.strip, ROWS["0026"].split(";")):
                await writing.execute(sa.text(statement.replace(":", r"\:")))
        visible = sa.text("SELECT helpful FROM stepwell.feedback")
        for user, calibration, judged in (("ana", [1_500_000, 800_000, 0, 1_000_000], [True]), ("bob", None, [])):
            stored = await owner.fetchval("SELECT calibration FROM stepwell.tenants WHERE user_id = $1", user)
            async with database.reading(user) as reading:
                assert (stored, list(await reading.scalars(visible))) == (calibration, judged)
        await _expect_a_scale_for_several_hops_from_revision_0032_on(empty, owner, database)
        await owner.execute("UPDATE stepwell.feedback SET at = now() - interval '3 days'")
        async with database.shared() as connection:
            expired = [await connection.scalar(sa.text(f"SELECT stepwell.expire_feedback({days})")) for days in (4, 2)]
        assert expired == [0, 1]
    finally:
        await database.close()
        await owner.close()


async def test_sources_have_names_that_are_unique_for_their_user_from_revision_0028_on(empty) -> None:
    await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0027")
    owner = await empty.connect()
    try:
        for since in ("0001", "0013"):
            await owner.execute(ROWS[since])
        await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0028")
        assert [row["name"] for row in await owner.fetch("SELECT name FROM stepwell.sources")] == [None, None]
        await owner.execute("UPDATE stepwell.sources SET name = 'notes' WHERE path = '/notes'")
        with pytest.raises(asyncpg.UniqueViolationError):
            await owner.execute("UPDATE stepwell.sources SET name = 'notes' WHERE path = '/srv/notes'")
    finally:
        await owner.close()


async def test_0035_notes_pages_0036_counts_stored_metadata_and_0037_keeps_restrictions(empty) -> None:
    await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0032")
    owner, database = await empty.connect(), transactions.connect(empty.service_dsn, pool_size=1)
    try:
        await owner.execute(ROWS["0001"])
        metadata = {"a": [1, 1.0, "b", "b", None, [2]], "b": {"c": 1}, "c": 2.50, "k" * 201: 1, "d": "é" * 3_000}
        await owner.execute(
            "UPDATE stepwell.documents SET metadata = $1 WHERE title = 'Ilse Brandt'", json.dumps(metadata)
        )
        await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION)
        for user in ("ana", "bob"):
            async with database.reading(user) as reading:
                assert await facet_repairs.differences(reading) == 0
                counted = await facets.count(reading, FacetQuery())
                assert [(one.key, one.documents, one.distinct) for one in counted] == [
                    *(("a", 2, 3), ("b", 1, 0), ("c", 1, 1), ("d", 1, 1))
                ][: 4 * (user == "ana")]
        async with database.writing("ana") as writing:
            assert await fetched_pages.find(writing, identity=b"a") is None
            await fetched_pages.note(writing, HARBOUR, {"etag": "7"})
        async with database.reading("ana") as reading:
            found = await fetched_pages.find(reading, identity=b"a")
        assert found == fetched_pages.DocumentOfPage(HARBOUR, "Silent Harbour", 1, b"ha", {"etag": "7"})
        async with database.reading("bob") as reading:
            assert await fetched_pages.find(reading, identity=b"a") is None
        await _assert_restricted_callers_find_what_they_see(database)
    finally:
        await database.close()
        await owner.close()


async def _assert_restricted_callers_find_what_they_see(database: transactions.Database) -> None:
    """By the policies of revision 0038: with a list of documents, without one, and with a list of none."""
    for metadata, expected in (({"b": {"c": 1}}, {BRANDT}), ({"z": 1}, set())):
        seen = database.restricted(filters.restriction(Filters(metadata=metadata)))
        for is_listed in (False, True):
            async with seen.reading("ana") as reading:
                if is_listed:
                    await visible_documents.prepare(reading)
                    assert reading.listed is not None
                    assert set(reading.listed.document_ids) == expected
                for table in ("chunks", "embeddings", "mentions"):
                    rows = await reading.execute(sa.text(f"SELECT DISTINCT document_id FROM stepwell.{table}"))
                    assert set(rows.scalars()) == expected, (table, is_listed)


async def test_documents_of_text_files_count_as_plain_text_from_revision_0007_on(empty) -> None:
    await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0006")
    owner = await empty.connect()
    try:
        await owner.execute(ROWS["0001"])
        await owner.execute("UPDATE stepwell.documents SET uri = 'file:///notes/b.TXT' WHERE uri IS NULL")
        await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION)
        rows = await owner.fetch("SELECT uri, markdown, chunk_tokens, chunk_overlap FROM stepwell.documents")
        assert {tuple(row) for row in rows} == {
            ("harbour.md", True, 160, 24), ("file:///notes/b.TXT", False, 160, 24),
        }  # fmt: skip
    finally:
        await owner.close()


async def test_the_words_of_titles_and_headings_are_labelled_from_revision_0027_on(empty) -> None:
    await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0026")
    owner = await empty.connect()
    try:
        await owner.execute(ROWS["0001"])
        await owner.execute(UNLABELLED)
        before = await owner.fetch(LABELLED)
        assert {row["config"]: row["labels"] for row in before} == {"english": "D", "simple": "D"}
        await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION)
        after = {row["title"]: row for row in await owner.fetch(LABELLED)}
        assert [row["lexemes"] for row in after.values()] == [row["lexemes"] for row in before]
        found = {title: (row["in_title"], row["in_heading"], row["labels"]) for title, row in after.items()}
        assert found == {
            "Silent Harbour": (["harbour", "silent"], ["top"], "ABD"),
            "Top of it": (["top"], ["top"], "CD"),
            "猫の本": (["の", "の本", "本", "猫", "猫の"], ["top"], "ABD"),
            "": ([], ["top"], "BD"),
        }
        assert await owner.fetchval("SELECT count(*) FROM pg_indexes WHERE indexname = 'ix_chunks_tsv'") == 1
    finally:
        await owner.close()


UNLABELLED = f"""
UPDATE stepwell.documents SET title = '猫の本', config = 'simple' WHERE user_id = 'bob';
UPDATE stepwell.documents SET title = 'Top of it' WHERE document_id = '{BRANDT}';
INSERT INTO stepwell.documents (user_id, document_id, identity, title, config, metadata, content, content_hash,
                                attributes_hash, chunk_count)
VALUES ('ana', '{UUID(int=3)}', 'c', '', 'english', '{{}}', 'a keel', 'h', 'a', 1);
INSERT INTO stepwell.chunks (user_id, chunk_id, chunk_no, document_id, chunk_index, content, start_offset, end_offset,
                             heading_path, config, tsv, length, embedding_key)
VALUES ('ana', '{UUID(int=3)}', 3, '{UUID(int=3)}', 0, 'a keel', 0, 6, '{{Top}}', 'english', '', 2, '{UUID(int=3)}');
UPDATE stepwell.chunks AS c
SET config = d.config, heading_path = CASE WHEN d.title = 'Top of it' THEN ARRAY[d.title] ELSE '{{Top}}' END,
    tsv = stepwell.with_characters(to_tsvector(CAST(d.config AS regconfig), concat_ws(' ',
        CASE WHEN d.user_id = 'bob' THEN '猫の の本' ELSE d.title END,
        CASE WHEN d.title <> 'Top of it' THEN 'Top' END, c.content)))
FROM stepwell.documents AS d
WHERE d.user_id = c.user_id AND d.document_id = c.document_id;
"""
LABELLED = """
SELECT d.title, d.config, array(SELECT unnest(tsvector_to_array(c.tsv)) ORDER BY 1) AS lexemes,
       array(SELECT t.lexeme FROM unnest(c.tsv) AS t WHERE t.weights && '{A,C}' ORDER BY 1) AS in_title,
       array(SELECT t.lexeme FROM unnest(c.tsv) AS t WHERE t.weights && '{B,C}' ORDER BY 1) AS in_heading,
       (SELECT string_agg(DISTINCT w.label, '' ORDER BY w.label)
        FROM unnest(c.tsv) AS t CROSS JOIN LATERAL unnest(t.weights) AS w (label)) AS labels
FROM stepwell.chunks AS c JOIN stepwell.documents AS d USING (user_id, document_id)
ORDER BY d.user_id, c.chunk_no
"""


async def test_vectors_of_32_bits_are_found_through_their_index_and_replaced_by_those_of_16_bits(empty) -> None:
    await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision=REVISIONS[-2])
    owner, database = await empty.connect(), transactions.connect(empty.service_dsn, pool_size=1)
    owning = transactions.connect(empty.owner_dsn, pool_size=1)
    try:
        await owner.execute(ROWS["0001"])
        await owner.execute(ROWS["0003"])
        await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION)
        assert await owner.fetchval(TYPES) == f"vector({DIMENSION}) vector({DIMENSION})"
        assert await _indexes_of_hybrid(database) == {"ix_embeddings_embedding"}

        await reembedding.begin(owning, "next", 2)
        await owner.execute(NEXT_ROWS)
        assert await reembedding.switch(owning)
        assert await owner.fetchval(TYPES) == "halfvec(2) halfvec(2)"
        await migration.check(database, model="next", dimension=2)
        assert await _indexes_of_hybrid(database, [0.6, 0.8]) == {"ix_embeddings_embedding"}
    finally:
        await owning.close()
        await database.close()
        await owner.close()


async def test_short_names_of_users_have_keys_with_their_symbols_from_revision_0025_on(empty) -> None:
    await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0024")
    owner = await empty.connect()
    try:
        await owner.execute(ROWS["0001"])
        for number, (name, key, origin) in enumerate(NAMES):
            await owner.execute(
                "INSERT INTO stepwell.entities (user_id, entity_id, type, name, origin) "
                "VALUES ('ana', $1, 'team', $2, $3)",
                UUID(int=100 + number), name, origin,
            )  # fmt: skip
            await owner.execute(
                "INSERT INTO stepwell.entity_names (user_id, name_key, entity_id, name) VALUES ('ana', $1, $2, $3)",
                key.encode(), UUID(int=100 + number), name,
            )  # fmt: skip
        await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION)
        rows = await owner.fetch("SELECT name, name_key FROM stepwell.entity_names ORDER BY entity_id")
        assert [(row["name"], row["name_key"].decode()) for row in rows] == [
            ("Ilse Brandt", "ilse brandt"), ("C++", "c++"), ("C", "c"), ("K & V", "k&v"), ("Josh.ai", "josh ai"),
            ("C#", "c"),
        ]  # fmt: skip
    finally:
        await owner.close()


NAMES = (
    ("C++", "c", "user"),
    ("C", "c", "user"),
    ("K & V", "k v", "user"),
    ("Josh.ai", "josh ai", "user"),
    ("C#", "c", "metadata"),
)


TYPES = """
SELECT string_agg(format_type(atttypid, atttypmod), ' ') FROM pg_attribute
WHERE attname = 'embedding' AND attrelid IN ('stepwell.embeddings'::regclass, 'stepwell.entity_vectors'::regclass)
"""
NEXT_ROWS = """
INSERT INTO stepwell.embeddings_next SELECT user_id, chunk_no, document_id, '[0.6,0.8]' FROM stepwell.embeddings;
INSERT INTO stepwell.entity_vectors_next SELECT user_id, entity_id, '[0.6,0.8]' FROM stepwell.entity_vectors;
"""


async def _indexes_of_hybrid(database: transactions.Database, vector: Sequence[float] = SIXTY) -> set[str]:
    """The HNSW indexes in the plan of the hybrid statement where no table may be scanned."""
    asked = HybridRequest("ana", list(vector), None, Weights(vector=1.0, text=0.0), "rrf", limit=10)
    statement, binds = recall.prepared(asked)
    async with database.reading("ana") as reading:
        await reading.execute(sa.text("SET LOCAL enable_seqscan = off"))
        await reading.execute(sa.text("SET LOCAL enable_sort = off"))
        plan = (await reading.execute(sa.text(f"EXPLAIN {statement.text}"), binds)).scalars().all()
    return set(re.findall(r"ix_\w+_embedding\b", "\n".join(plan)))


async def _columns(owner: asyncpg.Connection) -> dict[str, list[str]]:
    """The columns of each table of the schema."""
    found = await owner.fetch(
        "SELECT table_name, array_agg(quote_ident(column_name) ORDER BY ordinal_position) AS columns "
        "FROM information_schema.columns WHERE table_schema = 'stepwell' AND table_name <> 'alembic_version' "
        "GROUP BY table_name"
    )
    return {row["table_name"]: row["columns"] for row in found}


async def _rows(owner: asyncpg.Connection, columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """Every row of each table as text, limited to the given columns."""
    query = "SELECT ROW({})::text AS row FROM stepwell.{} ORDER BY 1"
    return {
        table: [row["row"] for row in await owner.fetch(query.format(", ".join(names), table))]
        for table, names in columns.items()
    }


async def _results(database: transactions.Database, *users: str) -> dict[str, list[UUID]]:
    """The chunks that a hybrid search returns to each user, best first; the vector leg decides."""
    found: dict[str, list[UUID]] = {}
    for user in users:
        words = LexicalQuery(IndexText("lantern", "lantern"))
        request = HybridRequest(user, list(SIXTY), words, Weights(vector=2.0, text=1.0), "rrf", limit=10)
        async with database.reading(user) as reading:
            result = await recall.hybrid(reading, request)
        assert result.text_found == result.vector_found == len(result.candidates)
        found[user] = [candidate.chunk_id for candidate in result.candidates]
    return found


async def _linked(database: transactions.Database, user: str) -> dict[UUID, str | None]:
    """The names that link the first document to other chunks, by chunk."""
    async with database.searching(user) as reading:
        assert reading.version.data == 7
        assert [entity.name for entity in await entities.page(reading, limit=9)] == ["Ilse Brandt"]
        found = await links.follow(reading, LinkScope([LinkSource(HARBOUR, 1.0)]))
        return {one.chunk_id: one.link.name for one in found if one.link and one.link.signal == "linked"}
