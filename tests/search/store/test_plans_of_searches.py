"""Query plans of the hybrid statement.

The statements run as the service's role under row-level security, with real binds, for a user with many chunks.
"""

import random
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import asyncpg
import hybrid
import plans
import pytest
import sqlalchemy as sa
from plans import Plan

from app.database import filters, sql, transactions
from app.database.filter_types import Filters
from app.database.schema import tables
from app.database.transactions import Database
from app.documents.store import documents, hidden_chunks, visible_document_lists
from app.multihop import store as links
from app.multihop.store import LinkScope, LinkSource, SourceIdentifier
from app.query import hop_signal_weights
from app.query.search_types import HybridRequest
from app.search.store import hybrid_search
from app.text.queries.parsed_query import IndexText, TextCondition
from benchmarks.fake_embedder import FakeEmbedder

CHUNKS, OTHERS = 4_000, 500
GRAPH = "ix_embeddings_embedding"
TENANT = {table.name for table in tables.of_users()}
SMALL_TABLES = {"tenants", "sources", "text_statistics"}
"""A row or a handful a user: how they are scanned does not matter."""


@pytest.fixture(scope="module")
async def big(database: Database, owner: asyncpg.Connection, embedder: FakeEmbedder) -> str:
    """A user with 4,000 chunks in 80 documents, beside another with 500; the graph is built after them."""
    definition = await owner.fetchval("SELECT pg_get_indexdef(CAST($1 AS regclass))", f"stepwell.{GRAPH}")
    await owner.execute(f"DROP INDEX stepwell.{GRAPH}")
    user, dice = f"big-{uuid4().hex}", random.Random(5)
    vocabulary = [f"{a}{b}{c}" for a in "bdfkm" for b in "aeiou" for c in ("lt", "rn", "x", "zk")]
    for owner_of, count in ((user, CHUNKS), (f"other-{uuid4().hex}", OTHERS)):
        drafts = []
        for n in range(count // 50):
            often = "common" if n == 7 else "common outside"
            texts = [f"{often} {' '.join(dice.choices(vocabulary, k=6))} w{n}x{m}" for m in range(50)]
            drafts.append(hybrid.draft(*texts, metadata={"n": n, "kind": "rare" if n == 7 else "common"}))
        await hybrid.store_all(database, owner_of, drafts, embedder=embedder)
    await owner.execute(definition)
    await owner.execute("VACUUM ANALYZE")
    return user


async def _explain(database: Database, asked: HybridRequest, *settings: str) -> Plan:
    """The plan of the very statement that recall runs, with what really ran."""
    statement, binds = hybrid_search.prepare(asked)
    async with database.reading(asked.user_id) as reading:
        for setting in settings:
            await reading.execute(sa.text(f"SET LOCAL {setting}"))
        return await plans.explained(reading, statement.text, binds)


def _cte(plan: Plan, name: str) -> list[Plan]:
    """The nodes that ran inside one CTE."""
    for node in plans.nodes(plan["Plan"]):
        if node.get("Subplan Name") == f"CTE {name}":
            return [inner for inner in plans.nodes(node) if inner["Actual Loops"] > 0]
    return []


def _sorted(nodes: list[Plan]) -> set[str]:
    """The types of the nodes whose rows are sorted: a limit, whose ties are put in order."""
    return {node["Plans"][0]["Node Type"] for node in nodes if "Sort" in node["Node Type"]}


def _indexes(nodes: list[Plan]) -> set[str]:
    return {node["Index Name"] for node in nodes if "Index Name" in node}


def _scanned(nodes: list[Plan], table: str) -> list[str]:
    return [node["Node Type"] for node in nodes if node.get("Relation Name") == table]


def _conditions(node: Plan) -> str:
    return " ".join(str(node.get(key, "")) for key in ("Index Cond", "Recheck Cond", "Filter"))


ASKED = {
    "plain": {},
    "filtered": {"filters": Filters(metadata={"n": {"gte": 10}})},
    "selective": {"filters": Filters(metadata={"kind": "rare"})},
    "excluding words": {"excluded": ["balt"]},
    "strict": {"strict": ["common balt"]},
    "convex": {"fusion": "convex", "weights": (0.3, 0.7)},
}


SEEN = [*((name, 30) for name in ASKED), ("plain", 0), ("convex", 0)]


@dataclass(frozen=True, slots=True)
class Asked:
    """A search, with its plans by the graph and by an exact scan."""

    request: HybridRequest
    graph: Plan
    exact: Plan


@pytest.fixture(
    scope="module", params=[pytest.param((ASKED[name], seen), id=f"{name}, {seen} seen") for name, seen in SEEN]
)
async def asked(request, database, big, embedder) -> Asked:
    """A search, with as many chunks excluded as were seen before."""
    options, seen = request.param
    query = await embedder.embed_query("balt kax")
    first = hybrid.request(big, "balt kax common", query, **options)
    found = await hybrid.run(database, replace(first, limit=30))
    asked = replace(first, exclude_chunk_ids=tuple(candidate.chunk_id for candidate in found.candidates[:seen]))
    planned = []
    for floor, factor in ((0, 0.0), (CHUNKS, float(CHUNKS))):
        with pytest.MonkeyPatch.context() as patch:
            hybrid.scan_up_to(patch, floor, factor)
            planned.append(await _explain(database, asked))
    return Asked(asked, *planned)


async def test_the_vector_leg_uses_the_graph_and_no_exact_scan(asked) -> None:
    plan = asked.graph
    nearest = _cte(plan, "nearest_by_index")
    assert GRAPH in _indexes(nearest)
    assert _sorted(nearest) == {"Limit"}
    ran = {
        node.get("Index Name"): node["Actual Loops"]
        for node in plans.ran(plan)
        if node.get("Relation Name") == "embeddings"
    }
    assert ran.pop(GRAPH) == 1
    # the vectors of hits that only the text leg found
    assert ran.pop("pk_embeddings", 0) <= asked.request.limit
    assert ran == {}


async def test_the_exact_scan_does_not_use_the_graph(asked) -> None:
    assert GRAPH not in _indexes(plans.ran(asked.exact))
    assert _scanned(plans.ran(asked.exact), "embeddings")


@pytest.mark.parametrize("way", ["graph", "exact"])
async def test_postings_and_lexemes_are_read_through_their_keys(asked, way) -> None:
    ran = plans.ran(getattr(asked, way))
    assert {"pk_postings", "pk_lexemes"} <= _indexes(ran)
    for table in ("postings", "lexemes"):
        assert all("Index" in kind or "Bitmap" in kind for kind in _scanned(ran, table))


@pytest.mark.parametrize("way", ["graph", "exact"])
async def test_no_more_chunks_are_fetched_than_the_legs_and_the_answer_need(asked, way) -> None:
    ran = [node for node in plans.ran(getattr(asked, way)) if node.get("Relation Name") == "chunks"]
    assert "Seq Scan" not in {node["Node Type"] for node in ran}
    fetched = sum(node["Actual Rows"] * node["Actual Loops"] for node in ran if node["Node Type"] != "Index Only Scan")
    few_pass = asked.request.filters.metadata == {"kind": "rare"}  # a leg that never fills looks at all it found
    assert fetched <= 10 * asked.request.candidates + (CHUNKS if way == "graph" and few_pass else 0)


@pytest.mark.parametrize("way", ["graph", "exact"])
async def test_every_scan_of_a_tenant_table_has_the_user_as_a_constant(asked, way) -> None:
    scans = [node for node in plans.nodes(getattr(asked, way)["Plan"]) if node.get("Relation Name") in TENANT]
    # Older servers plan the branch that only gives the query vector its type, and never run it.
    scans = [node for node in scans if (node["Relation Name"], node["Alias"]) != ("embeddings", "t")]
    assert len(scans) > 5
    for node in scans:
        assert f"(user_id = '{asked.request.user_id}'::text)" in _conditions(node), node


LINKING = {"rare_words": (100, 100), "shared_identifiers": (1_000, 500)}
"""For each statement that follows links by words: the candidates that it may compare, and the fewest rows it reads."""
SELECTIVE = {
    "scalar": Filters(metadata={"kind": "rare"}),
    "in": Filters(metadata={"n": {"in": [7, 8]}}),
    "two keys": Filters(metadata={"kind": "rare", "n": 7}),
    "with a range": Filters(metadata={"kind": "rare", "n": {"gte": 1}}),
    "any": Filters(any_of=(Filters(metadata={"kind": "rare"}), Filters(metadata={"n": 8}))),
    "all": Filters(all_of=(Filters(metadata={"kind": "rare"}), Filters(negated=Filters(metadata={"n": 8})))),
}


@pytest.fixture(scope="module")
async def librarian(owner: asyncpg.Connection) -> str:
    """A user with 2,000 documents without chunks."""
    user = f"librarian-{uuid4().hex}"
    await owner.execute(
        "INSERT INTO stepwell.documents (user_id, document_id, metadata, title, config, content, identity,"
        " content_hash, attributes_hash, chunk_count) SELECT $1, gen_random_uuid(), jsonb_build_object('n', n, 'kind',"
        " CASE WHEN n = 7 THEN 'rare' ELSE 'common' END), '', 'english', '', uuid_send(gen_random_uuid()), '', '', 0"
        " FROM generate_series(1, 2000) AS n",
        user,
    )
    await owner.execute("ANALYZE stepwell.documents")
    return user


@pytest.mark.parametrize("filters", SELECTIVE.values(), ids=SELECTIVE)
async def test_equality_is_read_from_the_inverted_index_on_metadata(database, librarian, embedder, filters) -> None:
    query = await embedder.embed_query("balt")
    plan = await _explain(database, hybrid.request(librarian, "balt", query, filters=filters), "enable_seqscan = off")
    assert "ix_documents_metadata" in _indexes(_cte(plan, "filtered_documents"))


@pytest.mark.parametrize("generic", [False, True], ids=["custom plan", "generic plan"])
@pytest.mark.parametrize(
    ("name", "most", "least"), [(name, *LINKING[name]) for name in hop_signal_weights.STATEMENTS[1:]]
)
async def test_links_by_words_read_few_rows_by_their_keys(database, big, embedder, generic, name, most, least) -> None:
    first = await hybrid.run(database, hybrid.request(big, "balt", await embedder.embed_query("balt"), limit=5))
    texts = [f"balt {end}" for end in ("kax", "dux", "mirn", "fazk", "kolt", "bex")]
    found = [SourceIdentifier(text, IndexText(text, text)) for text in texts]
    sources = [LinkSource(one.chunk_id, 0.5, lead=1.0) for one in first.candidates]
    sources[0] = replace(sources[0], identifiers=found)
    vector = await embedder.embed_query("kax")
    binds = links.binds(big, LinkScope(sources, words={"kax": 4.0}, corpus_chunks=CHUNKS, vector=vector))
    often = CHUNKS // 10
    binds |= {"commonest": often, "commonest_word": often, "most_compared": most, "most_chunks": 10}
    async with database.searching(big) if generic else database.reading(big) as reading:
        ran = plans.ran(await plans.explained(reading, sql.statement(name).text, binds))
    assert {"pk_postings", "pk_lexemes", "pk_embeddings"} <= _indexes(ran)
    assert not [node for node in ran if node["Node Type"] == "Seq Scan"]
    read = {name: sum(node["Actual Loops"] for node in ran if node.get("Index Name") == name) for name in _indexes(ran)}
    assert least <= read["uq_chunks_user_id_chunk_no"] <= most + 10
    assert read["pk_embeddings"] <= 10


async def test_words_that_may_follow_a_minus_sign_are_compared_with_few_chunks(database, big) -> None:
    words = {bind: ["common"] for bind in ("words", "words_folded", "words_plain")}
    async with database.reading(big) as reading:
        statement = sql.statement("signed_words").text
        ran = plans.ran(await plans.explained(reading, statement, {"user_id": big, "most_read": 20, **words}))
    assert _fetched(ran, "chunks") == 20
    (scan,) = [node for node in ran if node.get("Relation Name") == "chunks"]
    assert "chunk_no" in scan["Index Cond"]


KEYS = {"half": Filters(metadata={"n": {"gte": 40}}), "one document": Filters(metadata={"kind": "rare"})}
"""What a restricted caller sees: 2,000 and 50 of the 4,000 chunks; `outside` is in all chunks but these 50."""


async def _explain_restricted(database: Database, user: str, shown: Filters, *request: Any, **more: Any) -> list[Plan]:
    """The nodes that ran in the plan of the statement that recall runs for a restricted caller."""
    seen = database.restricted(filters.restriction(shown))
    async with seen.reading(user) as reading:
        asked = await hybrid_search.restrict(reading, hybrid.request(user, *request, **more))
        statement, binds = hybrid_search.prepare(asked, "restricted")
        return plans.ran(await plans.explained(reading, statement.text, binds))


def _fetched(nodes: list[Plan], table: str) -> int:
    return sum(node["Actual Rows"] * node["Actual Loops"] for node in nodes if node.get("Relation Name") == table)


@pytest.mark.parametrize("shown", KEYS.values(), ids=KEYS)
async def test_a_restricted_caller_searches_the_graph_or_few_chunks(
    by_graph, database, big, embedder, shown, monkeypatch
) -> None:
    query = await embedder.embed_query("balt kax")
    ran = await _explain_restricted(database, big, shown, "balt kax common", query)
    assert GRAPH in _indexes(ran)
    monkeypatch.setattr(hybrid_search, "EXACT_FLOOR", CHUNKS // 2)
    few = await _explain_restricted(database, big, shown, "balt kax common", query)
    assert GRAPH not in _indexes(few)
    for nodes in (ran, few):
        assert {"pk_postings", "pk_lexemes"} <= _indexes(nodes)
        for table in ("postings", "lexemes", "chunks", "embeddings"):
            assert "Seq Scan" not in _scanned(nodes, table), table


async def test_a_word_outside_of_a_small_scope_is_not_looked_up_posting_by_posting(database, big, monkeypatch) -> None:
    shown = KEYS["one document"]
    few = await _explain_restricted(database, big, shown, "outside common", limit=5)
    assert _fetched(few, "chunks") <= 5 + 50  # the answer, and the ids of equal scores
    hybrid.scan_up_to(monkeypatch)
    control = await _explain_restricted(database, big, shown, "outside common", limit=5)
    assert max(node["Actual Loops"] for node in control if node.get("Relation Name") == "chunks") > CHUNKS // 2


async def test_a_list_of_documents_spares_the_look_up_of_each_row_and_is_of_one_version(database, big, embedder, owner):
    seen = database.restricted(filters.restriction(KEYS["one document"]))
    query = await embedder.embed_query("balt kax")
    asked = hybrid.request(big, "balt kax", query)
    looked_up = []
    for is_listed in (False, True):
        async with seen.reading(big) as reading:
            shown = (
                await hybrid_search.restrict(reading, asked)
                if is_listed
                else replace(asked, filters=KEYS["one document"])
            )
            statement, binds = hybrid_search.prepare(shown, "restricted")
            ran = plans.ran(await plans.explained(reading, statement.text, binds))
        looked_up.append(sum(n["Actual Loops"] for n in ran if n.get("Index Name") == "pk_documents"))
    assert looked_up[1] + 50 < looked_up[0]
    async with seen.reading(big) as reading:
        await visible_document_lists.prepare(reading)
        assert reading.listed.chunks == 50
    change = "UPDATE stepwell.documents SET metadata = metadata || $2 WHERE user_id = $1 AND document_id = $3"
    (document_id,) = reading.listed.document_ids
    await owner.execute(change, big, '{"kind": "common"}', document_id)
    await owner.execute("UPDATE stepwell.tenants SET version = version + 1 WHERE user_id = $1", big)
    try:
        async with seen.searching(big) as reading:
            assert (await hybrid_search.hybrid(reading, asked)).candidates == ()
    finally:
        await owner.execute(change, big, '{"kind": "rare"}', document_id)
        await owner.execute("UPDATE stepwell.tenants SET version = version + 1 WHERE user_id = $1", big)


async def test_statistics_of_few_documents_read_only_the_rows_of_these(database, big) -> None:
    read = sa.text(
        "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables "
        "WHERE relname IN ('chunks', 'embeddings')"
    )
    async with database.restricted(filters.restriction(KEYS["one document"])).reading(big) as reading:
        before = await reading.scalar(read)
        found = await documents.stats(reading)
        assert await reading.scalar(read) - before <= 4 * 50
    assert (found.documents, found.chunks, found.vectors) == (1, 50, 50)


async def test_words_are_compared_with_the_few_chunks_that_a_caller_sees(database, big, monkeypatch) -> None:
    seen = database.restricted(filters.restriction(KEYS["one document"]))
    word = IndexText("outsidx", "outsidx")
    requests = {
        "corrections_of_words": {
            "words": ["outsidx"],
            "words_folded": [word.folded],
            "words_plain": [word.plain],
            "limit": 4,
            "edits_folded": ["outside"],
            "edits_plain": ["outside"],
        },
        "lexemes_by_prefix": {"firsts": ["out"], "ends": ["ouu"], "queries": ["'out':*"], "most_read": 0, "limit": 4},
    }
    for name, binds in requests.items():
        looked_up = []
        for most in (visible_document_lists.MOST_VISIBLE, 0):
            monkeypatch.setattr(visible_document_lists, "MOST_VISIBLE", most)
            async with seen.reading(big) as reading:
                parts, own = await visible_document_lists.visible_binds(reading)
                values = {"user_id": big, **binds, **own}
                ran = plans.ran(await plans.explained(reading, sql.statement(name, *parts).text, values))
            looked_up.append(sum(n["Actual Loops"] for n in ran if n.get("Relation Name") == "chunks"))
            assert "Seq Scan" not in _scanned(ran, "chunks")
        few, control = looked_up
        assert few <= 1 < CHUNKS // 2 < control, (name, looked_up)
        monkeypatch.undo()


async def test_a_small_scope_is_tested_for_an_expression_without_reading_the_index(database, big, monkeypatch) -> None:
    asked = hybrid.request(big, "common outs", filters=KEYS["one document"])
    groups = (TextCondition("outs", indexed=IndexText("outs", "outs"), is_prefix=True),)
    asked = replace(asked, lexical=replace(asked.lexical, groups=groups))
    read = []
    for most in (hybrid_search.TESTED_CHUNKS, 0):
        monkeypatch.setattr(hybrid_search, "TESTED_CHUNKS", most)
        async with database.reading(big) as reading:
            compiled = await hybrid_search.compile_conditions(reading, asked.lexical)
            statement, binds = hybrid_search.prepare(asked, compiled=compiled)
            ran = plans.ran(await plans.explained(reading, statement.text, binds))
        nodes = [node for node in ran if node.get("Relation Name") == "chunks"]
        read.append(
            sum((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in nodes)
        )
    few, control = read
    assert few <= 50 < CHUNKS // 2 < control


async def test_parts_that_were_not_requested_never_run(by_graph, database, big, embedder) -> None:
    query = await embedder.embed_query("balt")
    lexical = plans.ran(await _explain(database, hybrid.request(big, "balt", query, weights=(0.0, 1.0))))
    assert _scanned(lexical, "embeddings") == []
    semantic = plans.ran(await _explain(database, hybrid.request(big, "balt", query, weights=(1.0, 0.0))))
    assert _scanned(semantic, "postings") == []
    both = await _explain(database, hybrid.request(big, "balt", query))
    for name in ("filtered_documents", "excluded_chunks", "rarest_chunks", "excluded_queries", "strict_queries"):
        assert not [node for node in _cte(both, name) if "Relation Name" in node], name


SETTINGS = {
    "jit": "off",
    "plan_cache_mode": "force_custom_plan",
    "hnsw.iterative_scan": "strict_order",
    "hnsw.max_scan_tuples": "2147483647",
    "hnsw.ef_search": "242",
    "statement_timeout": "5s",
    "lock_timeout": "10s",
    "max_parallel_workers_per_gather": "0",
    "transaction_read_only": "on",
}


async def test_a_reading_transaction_has_the_settings_of_a_search_and_the_next_has_not(database, user) -> None:
    async with database.reading(user, candidates=220) as reading:
        found = {name: await reading.scalar(sa.text(f"SHOW {name}")) for name in SETTINGS}
    assert found == SETTINGS
    async with database.shared() as shared:
        after = {name: await shared.scalar(sa.text(f"SHOW {name}")) for name in SETTINGS if name != "jit"}
    assert not {name for name, value in after.items() if value == SETTINGS[name]} - {"max_parallel_workers_per_gather"}


async def test_vectors_are_found_and_compared_by_the_keys_of_their_chunks(database, big, embedder, owner) -> None:
    rows = await owner.fetch("SELECT chunk_id FROM stepwell.chunks WHERE user_id = $1 LIMIT 100", big)
    ids, vector = [row["chunk_id"] for row in rows], await embedder.embed_query("balt")
    for statement, binds in (
        (hybrid_search.VECTOR_OF_CHUNK, {"chunk_id": ids[0]}),
        (sql.statement("similarity_matrix", "matrix"), {"chunk_ids": ids, "embedding": vector}),
    ):
        async with database.reading(big) as reading:
            plan = await plans.explained(reading, statement.text, {"user_id": big, **binds})
        assert _indexes(plans.ran(plan)) == {"pk_chunks", "pk_embeddings"}


async def test_planned_once_a_connection_both_legs_still_use_their_indexes(database, big, embedder) -> None:
    ask = hybrid.request(big, "balt kax common", await embedder.embed_query("balt kax"))
    statement, binds = hybrid_search.prepare(ask)
    async with database.searching(big) as reading:
        plan = await plans.explained(reading, statement.text, binds, "")
    planned = {
        node["Subplan Name"]: list(plans.nodes(node)) for node in plans.nodes(plan["Plan"]) if "Subplan Name" in node
    }
    assert GRAPH in _indexes(planned["CTE nearest_by_index"])
    assert _sorted(planned["CTE nearest_by_index"]) == {"Limit"}
    assert "pk_postings" in _indexes(planned["CTE generated"])
    every = list(plans.nodes(plan["Plan"]))
    assert not [n for n in every if n["Node Type"] == "Seq Scan" and n["Relation Name"] not in SMALL_TABLES]


@pytest.mark.parametrize(("above", "mode"), [(CHUNKS - 1, "force_custom_plan"), (CHUNKS, "force_generic_plan")])
async def test_a_filtered_search_is_planned_for_its_binds_if_the_user_has_many_chunks(
    database, big, embedder, monkeypatch, above, mode
) -> None:
    monkeypatch.setattr(transactions, "PLANNED_ABOVE", above)
    ask = hybrid.request(big, "balt kax common", await embedder.embed_query("balt kax"))
    async with database.searching(big) as reading:
        await hybrid_search.hybrid(reading, ask)
        before = await reading.scalar(sa.text("SHOW plan_cache_mode"))
        await hybrid_search.hybrid(reading, replace(ask, filters=Filters(metadata={"kind": "rare"})))
        after = await reading.scalar(sa.text("SHOW plan_cache_mode"))
    assert (before, after) == ("force_generic_plan", mode)


async def test_removing_a_document_reads_blocks_of_postings_by_their_whole_key(database, big, owner) -> None:
    document = await owner.fetchval("SELECT document_id FROM stepwell.documents WHERE user_id = $1 LIMIT 1", big)
    async with database.writing(big) as writing:
        binds = {"user_id": big, "document_ids": [document]}
        plan = await plans.explained(writing, sql.statement("unindex_documents").text, binds, "")
    reads = [n for n in plans.nodes(plan["Plan"]) if n.get("Relation Name") == "postings" and "Index Name" in n]
    assert len(reads) >= 4
    assert not [n for n in reads if "(first_no " not in n["Index Cond"]]


async def test_removing_hidden_chunks_is_not_planned_for_a_user_whom_no_statistics_know(database) -> None:
    async with database.writing("new") as writing:
        await hidden_chunks.unindex(writing, uuid4(), after="", limit=1)
        assert await writing.scalar(sa.text("SHOW plan_cache_mode")) == "force_generic_plan"
