"""Query plans of entities, names and mentions use their keys, however many of them a user has.

The statements run as the service's role for a user with 3,000 entities, 4,000 mentions and 3,000 headings, next to
another user, and again with the planner statistics of an empty database, because ANALYZE may run later than inserts,
and names also with statistics of other users only.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import harness
import hybrid
import plans
import pytest
import sqlalchemy as sa
import statements
from plans import Plan

from app.database.schema import tables as store_tables
from app.database.transactions import Database, Reading
from app.entities import operations as entities
from app.entities.store import mentions, titles_and_headings
from app.entities.store.mentions import Mention
from app.entities.store.titles_and_headings import HeadingChunk
from app.entities.types import EntityDraft
from app.multihop import store as links
from app.multihop.store import LinkScope, LinkSource
from benchmarks.fake_embedder import FakeEmbedder

ENTITIES = 3_000
TABLES = ("entities", "entity_names", "mentions", "headings")
ANALYZE = f"ANALYZE {', '.join(f'stepwell.{table}' for table in TABLES)}"
BY_NAME = (
    "given_names", "entities_by_name", "gazetteer_names", "matching_entities", "openings_of_names",
    "own_entities_by_name",
)  # fmt: skip
Binds = dict[str, Any]
Many = tuple[str, list[UUID], dict[UUID, UUID]]


@pytest.fixture(scope="module")
async def many(database: Database, embedder: FakeEmbedder) -> Many:
    """A user with many entities, each mentioned once or twice, their ids, and two chunks with their document."""
    return await _store_many(database, embedder)


@pytest.fixture(scope="module")
async def later(database: Database, embedder: FakeEmbedder, address: Any, many: Many) -> Many:
    """Another such user, who is not in the planner's statistics."""
    owner = await address.connect()
    await owner.execute(ANALYZE)
    await owner.close()
    return await _store_many(database, embedder)


async def _store_many(database: Database, embedder: FakeEmbedder) -> Many:
    user = f"many-{uuid4().hex}"
    document = await hybrid.store(database, user, hybrid.draft(*(f"note w{n}" for n in range(40))), embedder=embedder)
    given = [EntityDraft("person", f"Person {n}", (f"Alias {n % 300}",)) for n in range(ENTITIES)]
    added = await entities.add(given, user, db=database, embedder=embedder)
    ids = [entity.entity_id for entity in added]
    async with database.writing(user) as writing:
        chunk_nos = list(await writing.scalars(sa.text("SELECT chunk_no FROM stepwell.chunks ORDER BY 1")))
        found = [Mention(e, chunk_nos[n % 40], document, "text", 1) for n, e in enumerate(ids)]
        found += [Mention(e, chunk_nos[0], document, "attendee", 1) for e in ids[:1_000]]
        await mentions.add(writing, found)
        heading_chunks = [HeadingChunk(e, chunk_nos[n % 40], chunk_nos[n % 40], document) for n, e in enumerate(ids)]
        await titles_and_headings.add_headings(writing, heading_chunks)
        chunks = list(await writing.scalars(sa.text("SELECT chunk_id FROM stepwell.chunks ORDER BY chunk_no LIMIT 3")))
    return user, ids, dict.fromkeys(chunks[1:], document)


def _binds(ids: list[UUID], documents: dict[UUID, UUID]) -> dict[str, tuple[tuple[str, ...], Binds]]:
    """Each statement with its parts and binds; `documents` are those of some chunks."""
    chunks = list(documents)
    keys = [f"person {n}".encode() for n in range(20)]
    return {
        "own_entities_by_name": ((), {"types": ["person"] * 20, "keys": keys}),
        "entities_by_name": ((), {"keys": keys}),
        "gazetteer_names": ((), {"keys": keys}),
        "given_names": ((), {"keys": keys}),
        "openings_of_names": ((), {"words": "person\nalias", "pairs": b"\n".join(keys).decode()}),
        "list_entities": (("after",), {"after_name": "Person 2", "after_id": ids[0], "limit": 20}),
        "linked_documents": ((), {"entity_id": ids[0], "limit": 20, "after_strength": None, "after_id": None}),
        "chunks_with_names": ((), {"indexed": ["note w3"], "befores": [2**40]}),
        "matching_entities": (
            (),
            {
                "keys": keys,
                "near_keys": [b"person 31", b"alias 7"],
                "near_words": ["persom 31", "alyas 7"],
                "roles": ["role:mason"],
                "words": "note w3",
                "embedding": None,
                "most": 50,
            },
        ),
        "namesakes": ((), {"entity_ids": ids[:5], "embedding": None, "most": 50}),
        "covered_words": ((), {"words": "note w3", "entity_ids": ids[:5], "texts": ["mason"] * 5}),
        "names_of_chunks": ((), {"chunk_ids": chunks, "counted": 2_000}),
        "links": (
            (),
            links.binds(
                "",
                LinkScope(
                    [LinkSource(chunk_id, 1.0) for chunk_id in chunks],
                    names=[f"person {n}" for n in range(20)],
                    headings={"person 1"},
                    compared=chunks,
                ),
            ),
        ),
        "links_of_entities": (
            (),
            {
                "chunk_ids": chunks,
                "document_ids": list(documents.values()),
                "entity_ids": ids[:5],
                "given_ids": ids[:5],
                "decay": 0.25,
                "sample": 2_000,
                "most": 400,
            },
        ),
    }


@pytest.mark.parametrize("generic", [False, True], ids=["custom plan", "generic plan"])
@pytest.mark.parametrize("counted", [False, True], ids=["statistics of before", "statistics of now"])
@pytest.mark.parametrize("name", sorted(_binds([UUID(int=1)], {})))
async def test_no_statement_reads_all_of_a_users_rows(database, owner, many, name, counted, generic) -> None:
    if counted:
        await owner.execute(ANALYZE)
    await _assert_reads_little(database, many, name, generic=generic)


@pytest.mark.parametrize("generic", [False, True], ids=["custom plan", "generic plan"])
@pytest.mark.parametrize("name", BY_NAME)
async def test_names_are_looked_up_by_key_for_a_user_that_the_statistics_do_not_contain(database, later, name, generic):
    await _assert_reads_little(database, later, name, generic=generic, tables=("entity_names",))


async def test_mentions_in_chunks_are_read_by_key_however_many_an_entity_has(database, owner, many) -> None:
    user, ids, documents = many
    async with database.writing(user) as writing:
        rows = await writing.execute(
            sa.text("SELECT chunk_id, chunk_no FROM stepwell.chunks WHERE user_id = :u"), {"u": user}
        )
        chunk_nos = {row.chunk_id: row.chunk_no for row in rows}
        (document,) = set(documents.values())
        await mentions.add(writing, [Mention(ids[-1], no, document, "text", 1) for no in chunk_nos.values()])
    await owner.execute(ANALYZE)
    parts, binds = _binds(ids, documents)["links_of_entities"]
    binds |= {"chunk_ids": list(chunk_nos), "document_ids": [document] * len(chunk_nos)}
    binds |= {"entity_ids": ids[-1:], "given_ids": ids[-1:], "user_id": user}
    async with database.searching(user) as reading:
        ran = await _ran(reading, "links_of_entities", parts, binds)
    read = [node for node in ran if node.get("Relation Name") == "mentions"]
    assert len(chunk_nos) in [node["Actual Loops"] for node in read]
    assert [node["Rows Removed by Filter"] for node in read if node.get("Rows Removed by Filter")] == []


async def test_chunks_to_link_are_put_in_order_after_they_are_read(database: Database, many: Many) -> None:
    newest = sa.text("SELECT chunk_no FROM stepwell.chunks ORDER BY chunk_no DESC LIMIT 3")
    async with database.searching(many[0]) as reading:
        chunk_nos = list(await reading.scalars(newest))
        with harness.counted_statements(harness.Tenant(database)) as ran:
            found = await mentions.chunk_texts_of(reading, chunk_nos)
    assert [one.chunk_no for one in found] == chunk_nos[::-1]
    assert "ORDER BY" not in ran[-1]  # Postgres below 17 would read all chunks of the user in this order


async def test_descriptions_are_found_through_their_graph_and_not_without_a_query_vector(database, owner, embedder):
    user = f"described-{uuid4().hex}"
    given = [EntityDraft("person", f"Person {n}", description=f"mason {n}") for n in range(1_000)]
    await entities.add(given, user, db=database, embedder=embedder)
    await owner.execute("ANALYZE stepwell.entity_vectors")
    parts, binds = _binds([UUID(int=1)], {})["matching_entities"]
    read = {}
    for query, vector in (("mason 7", await embedder.embed_query("mason 7")), ("none", None)):
        async with database.searching(user) as reading:
            ran = await _ran(reading, "matching_entities", parts, binds | {"user_id": user, "embedding": vector})
        (scan,) = [node for node in ran if node.get("Relation Name") == "entity_vectors"]
        read[query] = (scan.get("Index Name"), scan["Actual Rows"] * scan["Actual Loops"])
    assert read["mason 7"] == ("ix_entity_vectors_embedding", binds["most"] + 1)  # one more tells whether it is a tie
    assert read["none"][1] == 0


async def _assert_reads_little(
    database: Database, many: Many, name: str, *, generic: bool, tables: Sequence[str] = TABLES
) -> None:
    user, ids, documents = many
    parts, binds = _binds(ids, documents)[name]
    async with database.searching(user) if generic else database.reading(user) as reading:
        ran = await _ran(reading, name, parts, {**binds, "user_id": user})
    read = {node.get("Relation Name"): 0 for node in ran}
    for node in ran:
        rows = (
            node["Actual Rows"] + node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
        )
        read[node.get("Relation Name")] += rows * node["Actual Loops"]
    for table in tables:
        assert read.get(table, 0) <= ENTITIES / 2, (table, read)


async def _ran(reading: Reading, name: str, parts: Sequence[str], binds: Binds) -> list[Plan]:
    """The nodes of a statement's plan with what they read."""
    plan = await plans.explained(reading, statements.SOURCES[name].compiled(*parts).text, binds)
    return list(plans.nodes(plan["Plan"]))


SEVERAL_WAYS = """
SELECT r.relname, r.reloptions
FROM pg_index AS x
JOIN pg_class AS r ON r.oid = x.indrelid
WHERE r.relnamespace = CAST('stepwell' AS regnamespace) AND pg_get_indexdef(x.indexrelid, 1, true) = 'user_id'
  AND r.relname = ANY (CAST($1 AS text[]))
GROUP BY r.oid
HAVING count(*) > 1
"""
RARELY_READ = {"audit_log", "embeddings", "entity_changes", "entity_members"}
RARELY_READ |= {"feedback", "recognised_pictures", "sources"}
"""Tables with several indexes by user of which ingest looks nothing up by another key than the first.

A user has 1,000 sources and 5,000 recognised pictures at most. Feedback is looked up by its document when that is
deleted, for a user without statistics too: tests/documents/store/test_write_plans.py.
"""


async def test_new_users_become_known_to_the_planner_before_they_have_many_rows(owner: asyncpg.Connection) -> None:
    found = await owner.fetch(SEVERAL_WAYS, sorted({table.name for table in store_tables.of_users()} - RARELY_READ))
    assert {"chunks", "documents", "mentions"} <= {row["relname"] for row in found}
    wanted = {"autovacuum_analyze_scale_factor=0", "autovacuum_analyze_threshold=2000"}
    assert [row["relname"] for row in found if not wanted <= set(row["reloptions"] or ())] == []
