"""Filters and excluded chunks apply to both legs before these are cut to their candidates."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import hybrid
import pytest
from query_vectors import angled, at, ids

from app.providers.fake import FakeEmbedder
from app.shapes import Filters
from app.store.db import Database

METADATA = {
    "old": {"year": 1999, "tags": ["red", "blue"], "when": "2024-03-01", "it's": 1, 'a"b': 2, "$.x": 3, "größe": 4},
    "new": {"year": 2024, "tags": ["red"], "when": "2024-03-02T10:00:00+00:00", "deep": {"inner": [1, 2]}, "ok": True},
    "odd": {"year": "2024", "tags": "red", "when": "soon", "\\": 5, "a.b": 6, "null": None, "😀": 7},
}
CASES = [
    ({"tags": ["red"]}, {"old", "new"}),
    ({"tags": ["red", "blue"]}, {"old"}),
    ({"tags": "red"}, {"odd"}),
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
    ({"when": {"gte": 'soon" || true'}}, set()),
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
