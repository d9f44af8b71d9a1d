"""Checks the plan of a user's search: each table is read through the index that the search is meant to use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from app.shapes import HybridRequest
from app.store.connection.transactions import Database
from app.store.search import recall

GRAPH = "ix_embeddings_embedding"
INDEXES = {
    "postings": {"pk_postings"},
    "lexemes": {"pk_lexemes"},
    "chunks": {"uq_chunks_user_id_chunk_no", "pk_chunks"},
}
"""The indexes through which a search may read the tables that grow with a user."""

Node = dict[str, Any]


async def violations(db: Database, asked: HybridRequest, *, graph: bool) -> list[str]:
    """Returns what is wrong with the plan of a search that is to use the HNSW graph, or an exact scan."""
    async with db.reading(asked.user_id, candidates=asked.candidates) as reading:
        statement, binds = recall.prepared(asked, stored=reading.graph_rows)
        explained = sa.text(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.text}")
        found = (await reading.execute(explained, binds)).scalar_one()
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    return sorted(set(_violations(plan, graph=graph)))


def _violations(plan: Node, *, graph: bool) -> Iterator[str]:
    ran = list(_ran(plan))
    indexes = {node["Index Name"] for node in ran if "Index Name" in node}
    if (GRAPH in indexes) != graph:
        yield f"{GRAPH} is {'not ' if graph else ''}used"
    for node in ran:
        table = node.get("Relation Name", "")
        if table in INDEXES and node["Node Type"] == "Seq Scan":
            yield f"sequential scan of {table}"
        if table in INDEXES and "Index Name" in node and node["Index Name"] not in INDEXES[table]:
            yield f"{table} is read through {node['Index Name']}"


def _ran(node: Node) -> Iterator[Node]:
    if node["Actual Loops"]:
        yield node
    for child in node.get("Plans", ()):
        yield from _ran(child)
