"""Phrases and required words are found through the user's own postings, whatever other users have stored.

Conditions of expressions are found through the index of the tsvectors. The statement runs as the service's role under
row-level security, with and without a leakproof `@@`.
"""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import asyncpg
import hybrid
import plans
import pytest

from app.database import transactions
from app.database.transactions import Database
from app.search.store import hybrid_search
from app.text.queries.parsed_query import Combination, Condition, IndexText, Negation, TextCondition
from benchmarks.fake_embedder import FakeEmbedder

OWN, OTHERS = 120, 900
BY_NUMBER = "uq_chunks_user_id_chunk_no"
MATCH = "pg_catalog.ts_match_vq(tsvector, tsquery)"
MATCHING = """
SELECT c.chunk_no FROM stepwell.chunks AS c
WHERE c.user_id = CAST(:user_id AS text) AND c.tsv @@ CAST('heron' AS tsquery)
"""


@pytest.fixture(scope="module")
async def gannets(database: Database, owner: asyncpg.Connection, embedder: FakeEmbedder) -> str:
    """A user with 120 chunks, and one with 900. All have "gannet", a third also "outage", a thirtieth "heron"."""
    user = f"gannets-{uuid4().hex}"
    for owner_of, count in ((user, OWN), (f"other-{uuid4().hex}", OTHERS)):
        texts = [f"gannet {'calm' if n % 3 else 'outage'} {'x' if n % 30 else 'heron'} w{n}" for n in range(count)]
        texts[3] = "outage of the gannet"
        draft = hybrid.draft(*texts)
        titled = [
            replace(chunk, indexed=f"{chunk.indexed}\x1f{'w50' if n == 7 else 'notes'}")
            for n, chunk in enumerate(draft.chunks)
        ]
        await hybrid.store(database, owner_of, replace(draft, chunks=tuple(titled)), embedder=embedder)
    await owner.execute("VACUUM ANALYZE")
    return user


@pytest.fixture(params=[True, False], ids=["leakproof", "not leakproof"])
async def leakproof(request: pytest.FixtureRequest, owner: asyncpg.Connection):
    """Whether `@@` may use an index under row-level security."""
    if not request.param:
        await owner.execute(f"ALTER FUNCTION {MATCH} NOT LEAKPROOF")
    yield request.param
    await owner.execute(f"ALTER FUNCTION {MATCH} LEAKPROOF")


async def _scans(database: Database, user: str, statement: str, binds: dict[str, Any]) -> list[dict[str, Any]]:
    """The scans that were run."""
    async with database.reading(user) as reading:
        plan = await plans.explained(reading, statement, binds)
    return [node for node in plans.ran(plan) if "Scan" in node["Node Type"]]


def _rows(scan: dict[str, Any]) -> float:
    return (scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)) * scan["Actual Loops"]


@pytest.mark.parametrize(
    ("strict", "tested"),
    [
        (["gannet outage"], 40),
        (["outage"], 40),
        (["outage", "gannet"], 40),
        (["gannet"], 100),
        (["heron"], 4),
        (["heron egret"], 0),
    ],
    ids=str,
)
async def test_only_chunks_with_all_words_are_looked_up_by_their_numbers(database, gannets, leakproof, strict, tested):
    ask = hybrid.request(gannets, "gannet outage", strict=strict, limit=5)
    statement, binds = hybrid_search.prepare(ask)
    scans = await _scans(database, gannets, statement.text, binds)
    chunks = [scan for scan in scans if scan.get("Relation Name") == "chunks"]
    assert {scan["Index Name"] for scan in chunks} <= {BY_NUMBER, "pk_chunks"}
    needed = tested + min(tested, 5)
    assert needed <= sum(map(_rows, chunks)) <= needed + tested  # the ids of equal scores are looked up too
    assert "ix_chunks_tsv" not in {scan.get("Index Name") for scan in scans}


async def test_negative_control_a_match_reads_the_entries_of_all_users_or_all_chunks(database, gannets, leakproof):
    scans = await _scans(database, gannets, MATCHING, {"user_id": gannets})
    read = {scan.get("Index Name"): _rows(scan) for scan in scans if "Index" in scan["Node Type"]}
    if leakproof:
        assert read["ix_chunks_tsv"] == (OWN + OTHERS) // 30
    else:
        assert "ix_chunks_tsv" not in read
        assert max(map(_rows, scans)) >= OWN


def _word(text: str, **options: Any) -> TextCondition:
    return TextCondition(text, indexed=IndexText(text, text), **options)


def _any(*parts: Condition) -> Condition:
    return Combination("or", parts)


GROUPS = {
    "group": (_any(_word("heron"), _word("w11")), 5),
    "group and exclusion": (Combination("and", (_word("heron"), Negation(_word("calm")))), 4),
    "prefix": (_word("w11", is_prefix=True), 11),
    "phrase in a group": (_any(_word("heron w0", is_phrase=True), _word("w5")), 2),
    "field": (_word("w50", field="title"), 1),
    "prefix in a field": (_any(_word("w50", field="title", is_prefix=True), _word("w8")), 2),
}


async def _conditions_scan(
    database: Database, user: str, group: Condition, *, owner: Database | None = None
) -> tuple[list[dict[str, Any]], int]:
    """The scans that select the chunks of a condition, and the number of these chunks."""
    ask = hybrid.request(user, "gannet", limit=5)
    ask = replace(ask, lexical=replace(ask.lexical, groups=(group,)))
    async with (owner or database).reading(user) as reading:
        compiled = await hybrid_search.compile_conditions(reading, ask.lexical)
        statement, binds = hybrid_search.prepare(ask, compiled=compiled)
        plan = await plans.explained(reading, statement.text, binds)
    (cte,) = [node for node in plans.nodes(plan["Plan"]) if node.get("Subplan Name") == "CTE strict_chunks"]
    return [node for node in plans.nodes(cte) if "Scan" in node["Node Type"]], cte["Actual Rows"]


@pytest.mark.parametrize("as_owner", [False, True], ids=["service", "owner"])
@pytest.mark.parametrize("name", GROUPS)
async def test_the_conditions_of_an_expression_are_found_through_the_index_of_the_tsvectors(
    database, gannets, address, name, as_owner
) -> None:
    group, matching = GROUPS[name]
    owner = transactions.connect(address.owner_dsn, pool_size=1) if as_owner else None
    try:
        scans, rows = await _conditions_scan(database, gannets, group, owner=owner)
    finally:
        if owner is not None:
            await owner.close()
    assert "ix_chunks_tsv" in {scan.get("Index Name") for scan in scans}
    assert rows == matching
    heap = [scan for scan in scans if scan.get("Relation Name") == "chunks"]
    assert sum(map(_rows, heap)) < OWN / 2


async def test_a_frequent_word_is_looked_for_among_the_users_own_chunks(database, gannets) -> None:
    scans, rows = await _conditions_scan(database, gannets, _any(_word("gannet"), _word("w1")))
    assert rows == OWN
    assert sum(_rows(scan) for scan in scans if scan.get("Relation Name") == "chunks") == OWN


async def test_negative_control_without_a_leakproof_match_no_index_is_read(database, gannets, owner) -> None:
    await owner.execute(f"ALTER FUNCTION {MATCH} NOT LEAKPROOF")
    try:
        scans, rows = await _conditions_scan(database, gannets, GROUPS["prefix"][0])
    finally:
        await owner.execute(f"ALTER FUNCTION {MATCH} LEAKPROOF")
    assert "ix_chunks_tsv" not in {scan.get("Index Name") for scan in scans}
    assert rows == GROUPS["prefix"][1]


async def test_what_a_condition_only_excludes_is_tested_row_by_row(database, gannets) -> None:
    scans, rows = await _conditions_scan(database, gannets, Negation(_word("w11", is_prefix=True)))
    assert (rows, [scan for scan in scans if scan["Actual Loops"]]) == (0, [])
    ask = hybrid.request(gannets, "gannet", limit=200, candidates=200)
    group = Negation(_word("w11", is_prefix=True))
    found = await hybrid.run(database, replace(ask, lexical=replace(ask.lexical, groups=(group,))))
    assert (len(found.candidates), found.condition_plan) == (OWN - 11, "rows")
