"""Phrases and required words are found through the user's own postings, whatever other users have stored.

The statement runs as the service's role under row-level security, with and without a leakproof `@@`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import hybrid
import pytest
import sqlalchemy as sa

from app.store.connection.transactions import Database
from app.store.search import recall
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
    """A user with 120 chunks beside one with 900: all have "gannet", a third "outage" too, a thirtieth "heron".

    The tsvectors have an index, which the service has none of.
    """
    user = f"gannets-{uuid4().hex}"
    for owner_of, count in ((user, OWN), (f"other-{uuid4().hex}", OTHERS)):
        texts = [f"gannet {'calm' if n % 3 else 'outage'} {'x' if n % 30 else 'heron'} w{n}" for n in range(count)]
        texts[3] = "outage of the gannet"
        await hybrid.store(database, owner_of, hybrid.draft(*texts), embedder=embedder)
    await owner.execute("CREATE INDEX ix_tsv ON stepwell.chunks USING gin (tsv)")
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
    """The scans that ran."""
    async with database.reading(user) as reading:
        found = (await reading.execute(sa.text(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}"), binds)).scalar_one()
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    return [node for node in _nodes(plan) if "Scan" in node["Node Type"] and node["Actual Loops"] > 0]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


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
async def test_only_chunks_with_all_words_are_looked_up_by_their_numbers(
    database, gannets, leakproof, strict, tested
) -> None:
    ask = hybrid.request(gannets, "gannet outage", strict=strict, limit=5)
    statement, binds = recall.prepared(ask)
    scans = await _scans(database, gannets, statement.text, binds)
    chunks = [scan for scan in scans if scan.get("Relation Name") == "chunks"]
    assert {scan["Index Name"] for scan in chunks} <= {BY_NUMBER, "pk_chunks"}
    assert sum(map(_rows, chunks)) == tested + min(tested, 5)
    assert "ix_tsv" not in {scan.get("Index Name") for scan in scans}


async def test_negative_control_a_match_reads_the_entries_of_all_users_or_all_chunks(
    database, gannets, leakproof
) -> None:
    scans = await _scans(database, gannets, MATCHING, {"user_id": gannets})
    read = {scan.get("Index Name"): _rows(scan) for scan in scans if "Index" in scan["Node Type"]}
    if leakproof:
        assert read["ix_tsv"] == (OWN + OTHERS) // 30
    else:
        assert "ix_tsv" not in read
        assert max(map(_rows, scans)) >= OWN
