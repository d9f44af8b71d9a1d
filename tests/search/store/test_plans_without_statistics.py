"""A search looks up what it needs by keys before anything was analysed, as after the first upload or an upgrade."""

import random
from uuid import uuid4

import hybrid
import plans
import pytest

from app.database import filters
from app.database.filter_types import Filters
from app.search.store import hybrid_search

WORDS, LIMIT = ["balt", "kax", "mirn"], 5
MOST = {"lexemes": len(WORDS), "postings": len(WORDS), "documents": LIMIT}
"""Most rows that a search needs of each table."""


@pytest.mark.parametrize("seen", [Filters(), Filters(metadata={"n": {"gte": 5}})], ids=["all", "a part"])
async def test_only_the_words_of_the_query_and_the_hits_are_read(database, embedder, seen: Filters) -> None:
    user, dice = f"new-{uuid4().hex}", random.Random(3)
    vocabulary = [f"{a}{b}{c}" for a in "bdfkm" for b in "aeiou" for c in ("lt", "rn", "x", "zk", "p", "st")]
    texts = [[" ".join(dice.choices(vocabulary, k=8)) for _ in range(20)] for _ in range(20)]
    drafts = [hybrid.draft(*chunks, metadata={"n": n}) for n, chunks in enumerate(texts)]
    await hybrid.store_all(database, user, drafts, embedder=embedder)
    query = await embedder.embed_query(" ".join(WORDS))
    caller = database.restricted(filters.restriction(seen)) if seen else database
    async with caller.reading(user) as reading:
        asked = await hybrid_search.restrict(reading, hybrid.request(user, " ".join(WORDS), query, limit=LIMIT))
        statement, binds = hybrid_search.prepare(asked, "restricted" if seen else "exact")
        ran = plans.ran(await plans.explained(reading, statement.text, binds))
    for table, most in MOST.items():
        nodes = [node for node in ran if node.get("Relation Name") == table]
        if table == "documents" and seen:
            continue  # all are compared with the filters
        assert sum(node["Actual Rows"] * node["Actual Loops"] for node in nodes) <= (2 if seen else 1) * most, table
