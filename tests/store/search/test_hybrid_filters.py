"""Filters and excluded chunks apply to both legs before these are cut to their candidates."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import uuid4

import hybrid
import pytest
import sqlalchemy as sa
from query_vectors import angled, at, ids

from app.shapes import Filters
from app.store.connection import transactions
from app.store.connection.transactions import Database
from benchmarks.fake_embedder import FakeEmbedder

METADATA = {
    "old": {"year": 1999, "tags": ["red", "blue"], "when": "2024-03-01", "it's": 1, 'a"b': 2, "$.x": 3, "größe": 4},
    "new": {"year": 2024, "tags": ["red"], "when": "2024-03-02T10:00:00+00:00", "deep": {"inner": [1, 2]}, "ok": True},
    "odd": {"year": "2024", "tags": "red", "when": "soon", "\\": 5, "a.b": 6, "null": None, "😀": 7},
}
CASES = [
    ({"tags": ["red"]}, {"old", "new"}),
    ({"tags": ["red", "blue"]}, {"old"}),
    ({"tags": "red"}, {"old", "new", "odd"}),
    ({"year": 2024}, {"new"}),
    ({"year": "2024"}, {"odd"}),
    ({"deep": {"inner": [2]}}, {"new"}),
    ({"ok": True}, {"new"}),
    ({"null": None}, {"odd"}),
    ({"absent": 1}, set()),
    ({}, {"old", "new", "odd"}),
    ({"year": {"gte": 1999}}, {"old", "new"}),
    ({"year": {"gt": 1999}}, {"new"}),
    ({"year": {"lt": 2024}}, {"old"}),
    ({"year": {"gte": 1999, "lte": 1999.5}}, {"old"}),
    ({"year": {"gte": 1999, "lt": 1999}}, set()),
    ({"year": {"gte": 1999}, "tags": ["blue"]}, {"old"}),
    ({"year": {"gte": 1}, "when": {"gte": "2024-03-02"}}, {"new"}),
    ({"when": {"gte": "2024-03-01"}}, {"old", "new"}),
    ({"when": {"lt": "2024-03-02"}}, {"old"}),
    ({"when": {"gt": "2024-03-02T09:59:59+00:00", "lt": "2024-03-02T12:01:00+02:00"}}, {"new"}),
    ({"when": {"lte": "2024-03-02T10:00:00Z"}}, {"old", "new"}),
    ({"when": {"gte": "2024-03-02T10:00:00.001Z"}}, set()),
    ({"when": {"gte": "2024-03-02T12:00+02:00", "lte": "2024-03-02T10:00"}}, {"new"}),
    ({"year": {"gte": "0001-01-01"}}, set()),
    ({"when": {"gte": 0}}, set()),
    ({"it's": {"gte": 1}}, {"old"}),
    ({'a"b': {"lte": 2}}, {"old"}),
    ({"$.x": {"gt": 2}}, {"old"}),
    ({"größe": {"gte": 4}}, {"old"}),
    ({"😀": {"gte": 7}}, {"odd"}),
    ({"\\": {"gte": 5}}, {"odd"}),
    ({"a.b": {"gte": 6}}, {"odd"}),
    ({"x) || (1 == 1": {"gte": 0}}, set()),
    ({":user_id": {"gte": 0}}, set()),
    ({"it's": 1, "$.x": 3}, {"old"}),
    ({"tags": {"in": ["blue", "green"]}}, {"old"}),
    ({"year": {"in": [1999, "2024"]}}, {"old", "odd"}),
    ({"year": {"in": []}}, set()),
    ({"tags": {"ne": "blue"}}, {"new", "odd"}),
    ({"ok": {"ne": True}}, {"old", "odd"}),
    ({"null": {"exists": True}}, {"odd"}),
    ({"null": {"exists": False}}, {"old", "new"}),
    ({"year": {"gte": 1999, "ne": 2024, "exists": True}}, {"old"}),
    ({"tags": "red", "year": {"lt": 2024}}, {"old"}),
    ({"tags": "red", "year": 2024}, {"new"}),
]
DAY = datetime(2024, 3, 2, tzinfo=UTC)
OLD, BLUE, NEW = Filters(metadata={"year": 1999}), Filters(metadata={"tags": "blue"}), Filters(created_after=DAY)
GROUPS = [
    (Filters(any_of=(OLD, Filters(metadata={"deep": {"inner": [2]}}))), {"old", "new"}),
    (Filters(any_of=(BLUE, NEW)), {"old", "new", "odd"}),
    (Filters(any_of=(BLUE, Filters(created_before=DAY))), {"old"}),
    (Filters(all_of=(NEW, Filters(metadata={"tags": "red"}))), {"new", "odd"}),
    (Filters(all_of=(OLD, NEW)), set()),
    (Filters(negated=Filters(metadata={"year": {"gte": 1999}})), {"odd"}),
    (Filters(negated=Filters(any_of=(BLUE, Filters(metadata={"ok": True})))), {"odd"}),
    (Filters(metadata={"tags": "red"}, negated=NEW), {"old"}),
]


@pytest.fixture(scope="module")
async def described(database: Database, embedder: FakeEmbedder) -> str:
    """A user whose three documents differ in their metadata and age."""
    user = f"described-{uuid4().hex}"
    days = {"old": 1, "new": 2, "odd": 3}
    for name, metadata in METADATA.items():
        created = datetime(2024, 3, days[name], tzinfo=UTC)
        stored = hybrid.draft(
            f"copper {name}", f"copper river {name}", metadata=metadata, title=name, created_at=created
        )
        await hybrid.store(database, user, stored, embedder=embedder)
    return user


@pytest.mark.parametrize("graph", [False, True], ids=["exact", "graph"])
@pytest.mark.parametrize(("metadata", "expected"), CASES, ids=[str(metadata) for metadata, _ in CASES])
async def test_metadata_filters_apply_to_both_legs(request, database, described, metadata, expected, graph) -> None:
    if graph:
        request.getfixturevalue("by_graph")
    filters = Filters(metadata=metadata)
    found = await hybrid.run(database, hybrid.request(described, "copper", at(1), filters=filters))
    assert {candidate.title for candidate in found.candidates} == expected
    assert (found.vector_found, found.text_found) == (2 * len(expected), 2 * len(expected))
    assert found.scope_chunks == min(2 * len(expected), 2 if graph else 6)


@pytest.mark.parametrize("graph", [False, True], ids=["exact", "graph"])
@pytest.mark.parametrize(("filters", "expected"), GROUPS, ids=range(len(GROUPS)))
async def test_groups_of_filters_apply_to_both_legs(request, database, described, filters, expected, graph) -> None:
    if graph:
        request.getfixturevalue("by_graph")
    found = await hybrid.run(database, hybrid.request(described, "copper", at(1), filters=filters))
    assert {candidate.title for candidate in found.candidates} == expected
    assert (found.vector_found, found.text_found) == (2 * len(expected), 2 * len(expected))


NOON = [
    "2026-01-31T12:00",
    "2026-01-31T12:00:00",
    "2026-01-31T12:00:00Z",
    "2026-01-31t12:00z",
    "2026-01-31 12:00:00.000",
    "2026-01-31T12:00:00,000000000Z",
    "2026-01-31T14:00+02:00",
    "2026-01-31T14:00:00+0200",
    "2026-01-31 06:30:00-05:30",
    " 2026-01-31T00:00:00-12 ",
]
NO_MOMENTS = [
    "2026-02-30",
    "2026-01-31T24:00",
    "2026-1-31",
    "20260131",
    "2026",
    "31.01.2026",
    "2026-01-31T12:00 CET",
    "",
]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
async def test_a_range_means_the_same_for_every_form_of_a_time_and_in_every_time_zone(
    database, embedder, owner, address, user, zone
) -> None:
    """The stored stamps and the session's time zone differ; a date is its first moment in UTC."""
    await owner.execute(f"ALTER DATABASE {address.name} SET timezone = '{zone}'")
    opened = transactions.connect(address.service_dsn, pool_size=1)
    for number, stamp in enumerate([*NOON, *NO_MOMENTS, "2026-01-31", "2026-02-01"]):
        stored = hybrid.draft(f"copper {number}", metadata={"when": stamp}, title=stamp)
        await hybrid.store(database, user, stored, embedder=embedder)

    async def found(**bounds: str) -> set[str]:
        request = hybrid.request(user, "copper", filters=Filters(metadata={"when": bounds}), limit=50)
        return {candidate.title for candidate in (await hybrid.run(opened, request)).candidates}

    try:
        for bound in ("2026-01-31T12:00", "2026-01-31T12:00:00Z", "2026-01-31T07:00:00-05:00"):
            assert await found(gte=bound, lte=bound) == set(NOON)
            assert await found(gt=bound) == {"2026-02-01"}
            assert await found(lt=bound) == {"2026-01-31"}
        assert await found(gte="2026-01-31", lt="2026-02-01") == {*NOON, "2026-01-31"}
        assert await found(gte="0001-01-01") == {*NOON, "2026-01-31", "2026-02-01"}
    finally:
        await opened.close()
        await owner.execute(f"ALTER DATABASE {address.name} RESET timezone")


async def test_sessions_run_in_utc(owner, address) -> None:
    await owner.execute(f"ALTER DATABASE {address.name} SET timezone = 'Asia/Kathmandu'")
    opened = transactions.connect(address.service_dsn, pool_size=1)
    try:
        async with opened.shared() as session:
            assert await session.scalar(sa.text("SHOW timezone")) == "UTC"
    finally:
        await opened.close()
        await owner.execute(f"ALTER DATABASE {address.name} RESET timezone")


async def test_a_range_applies_to_each_element_of_a_list_and_to_numbers_and_dates_apart(put, find) -> None:
    for metadata in (
        {"at": ["2024-05-01", 7, "x", None]},
        {"at": ["2023-01-01", "2025-01-01"]},
        {"at": "7"},
        {"at": {"x": 7}},
    ):
        await put(f"copper {json.dumps(metadata)}", metadata=metadata)

    async def found(**bounds: object) -> int:
        return len((await find("copper", filters=Filters(metadata={"at": bounds}))).candidates)

    assert await found(gte="2024-01-01", lt="2025-01-01") == 1
    assert await found(gte="2023-01-01") == 2
    assert await found(gte=7) == 1
    assert await found(gte=7, lte="2024-05-01") == 0
    with pytest.raises(ValueError, match="soon"):
        await found(gte='soon" || true')


@pytest.mark.parametrize(
    ("after", "before", "expected"),
    [
        (2, None, {"new", "odd"}),
        (None, 2, {"old"}),
        (2, 3, {"new"}),
        (2, 2, set()),
        (None, None, {"old", "new", "odd"}),
    ],
)
async def test_created_after_is_inclusive_and_created_before_exclusive(
    database, described, after, before, expected
) -> None:
    def day(number: int | None) -> datetime | None:
        return None if number is None else datetime(2024, 3, number, tzinfo=UTC)

    filters = Filters(created_after=day(after), created_before=day(before))
    found = await hybrid.run(database, hybrid.request(described, "copper", at(1), filters=filters))
    assert {candidate.title for candidate in found.candidates} == expected
    assert found.vector_found == found.text_found == 2 * len(expected)


async def test_filters_by_source_and_document_apply_to_both_legs(put, find, owner, user) -> None:
    first, second = await put("copper river"), await put("copper meadow")
    source = uuid4()
    await owner.execute(
        "INSERT INTO stepwell.sources (user_id, source_id, path, glob) VALUES ($1, $2, '/', '*')", user, source
    )
    await owner.execute(
        "UPDATE stepwell.documents SET source_id = $3 WHERE user_id = $1 AND document_id = $2", user, second, source
    )
    of_source = await find("copper", at(1), filters=Filters(source_ids=(source, uuid4())))
    assert [c.document_id for c in of_source.candidates] == [second]
    assert of_source.candidates[0].source_id == source
    of_document = await find("copper", at(1), filters=Filters(document_ids=(first, uuid4())))
    assert [c.document_id for c in of_document.candidates] == [first]
    for filters in (Filters(document_ids=()), Filters(document_ids=(first,), source_ids=(source,))):
        nothing = await find("copper", at(1), filters=filters)
        assert (nothing.candidates, nothing.vector_found, nothing.text_found, nothing.scope_chunks) == ((), 0, 0, 0)
        assert nothing.corpus_chunks == 2


@pytest.mark.parametrize("graph", [False, True], ids=["exact", "graph"])
async def test_excluded_chunks_are_removed_before_the_legs_are_cut(request, put, find, graph) -> None:
    if graph:
        request.getfixturevalue("by_graph")
    texts = [f"copper {'river ' * n}".strip() for n in range(30)]
    await put(*texts, embedded=[angled(0.99 - n / 50) for n in range(30)])
    everything = await find("copper", at(1), candidates=30, limit=30)
    assert hybrid.contents(everything) == texts
    rest = await find("copper", at(1), candidates=10, limit=10, exclude_chunk_ids=tuple(ids(everything)[:20]))
    assert hybrid.contents(rest) == texts[20:]
    assert (rest.vector_found, rest.text_found) == (10, 10)
    assert [(c.vector_rank, c.text_rank) for c in rest.candidates] == [(n, n) for n in range(1, 11)]


async def test_excluding_no_or_unknown_chunks_changes_nothing(put, find) -> None:
    await put("copper", "copper river")
    everything = await find("copper", at(1))
    assert await find("copper", at(1), exclude_chunk_ids=(uuid4(), uuid4())) == everything


async def test_excluding_everything_returns_no_hits_and_a_full_report(put, find) -> None:
    await put("copper", "copper river", "meadow")
    gone = tuple(ids(await find("copper", at(1))))
    empty = await find("copper", at(1), exclude_chunk_ids=gone)
    assert empty.candidates == ()
    assert (empty.vector_found, empty.text_found, empty.corpus_chunks, empty.scope_chunks) == (0, 0, 3, 3)
    assert [(term.lexeme, term.df) for term in empty.terms] == [("copper", 2)]
