"""Filters apply to both legs before these are cut to their candidates."""

from datetime import UTC, datetime
from uuid import uuid4

import hybrid
import pytest
import sqlalchemy as sa
from query_vectors import at

from app.database import transactions
from app.database.filter_types import Filters
from app.database.transactions import Database
from benchmarks.fake_embedder import FakeEmbedder

METADATA = {
    "old": {"year": 1999, "tags": ["red", "blue"], "when": "2024-03-01", "it's": 1, 'a"b': 2, "$.x": 3, "größe": 4},
    "new": {"year": 2024, "tags": ["red"], "when": "2024-03-02T10:00:00+00:00", "deep": {"inner": [1, 2]}, "ok": True},
    "odd": {"year": "2024", "tags": "red", "when": "soon", "\\": 5, "a.b": 6, "null": None, "😀": 7},
}
CASES = [
    ({"tags": ["red", "blue"]}, {"old"}),
    ({"deep": {"inner": [2]}}, {"new"}),
    ({"null": None}, {"odd"}),
    ({"year": {"gte": 1999, "ne": 2024, "exists": True}}, {"old"}),
    ({"when": {"gte": "2024-03-02T12:00+02:00", "lte": "2024-03-02T10:00"}}, {"new"}),
    ({"it's": {"gte": 1}}, {"old"}),
    ({'a"b': {"lte": 2}}, {"old"}),
    ({"$.x": {"gt": 2}}, {"old"}),
    ({"😀": {"gte": 7}}, {"odd"}),
    ({"\\": {"gte": 5}}, {"odd"}),
    ({"a.b": {"gte": 6}}, {"odd"}),
    ({"x) || (1 == 1": {"gte": 0}}, set()),
    ({":user_id": {"gte": 0}}, set()),
]
"""What the random filters of tests/database/test_filters.py lack, above all keys that could be taken for code."""
DAY = datetime(2024, 3, 2, tzinfo=UTC)
OLD, BLUE, NEW = Filters(metadata={"year": 1999}), Filters(metadata={"tags": "blue"}), Filters(created_after=DAY)


@pytest.fixture(scope="module")
async def described(database: Database, embedder: FakeEmbedder) -> str:
    """A user whose three documents differ in their metadata and age."""
    user = f"described-{uuid4().hex}"
    days = {"old": 1, "new": 2, "odd": 3}
    drafts = []
    for name, metadata in METADATA.items():
        texts, created = (f"copper {name}", f"copper river {name}"), datetime(2024, 3, days[name], tzinfo=UTC)
        drafts.append(hybrid.draft(*texts, metadata=metadata, title=name, created_at=created))
    await hybrid.store_all(database, user, drafts, embedder=embedder)
    return user


@pytest.mark.parametrize(("metadata", "expected"), CASES, ids=[str(metadata) for metadata, _ in CASES])
async def test_metadata_filters_apply_to_both_legs(database, described, metadata, expected, graph) -> None:
    filters = Filters(metadata=metadata)
    found = await hybrid.run(database, hybrid.request(described, "copper", at(1), filters=filters))
    assert {candidate.title for candidate in found.candidates} == expected
    assert (found.vector_found, found.text_found) == (2 * len(expected), 2 * len(expected))
    assert found.scope_chunks == min(2 * len(expected), 2 if graph else 6)


async def test_sessions_run_in_utc(owner, address) -> None:
    await owner.execute(f"ALTER DATABASE {address.name} SET timezone = 'Asia/Kathmandu'")
    opened = transactions.connect(address.service_dsn, pool_size=1)
    try:
        async with opened.shared() as session:
            assert await session.scalar(sa.text("SHOW timezone")) == "UTC"
    finally:
        await opened.close()
        await owner.execute(f"ALTER DATABASE {address.name} RESET timezone")
