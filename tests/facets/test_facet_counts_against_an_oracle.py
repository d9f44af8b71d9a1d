"""Compares the facets of random documents and filters with counts in plain Python."""

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import asyncpg
import filter_oracle
import pytest
from filter_oracle import StoredDocument

from app import errors
from app.database import filters as translation
from app.database import transactions
from app.database.filter_types import Filters
from app.database.transactions import Database
from app.facets import store as facets
from app.facets.types import Facet, FacetQuery

DOCUMENTS, FILTERS, EVERY = 80, 150, 1_000
TYPES = {str: "string", bool: "boolean", int: "number", float: "number", list: "list", dict: "object"}
Counted = dict[str, tuple[int, Counter[str], Counter[Any]]]


@pytest.fixture(scope="module")
async def stored(owner: asyncpg.Connection) -> tuple[str, list[StoredDocument]]:
    """A user with random documents."""
    return await filter_oracle.store(owner, random.Random(31), DOCUMENTS)


def _count(documents: Iterable[StoredDocument], query: FacetQuery) -> Counted:
    """The documents, types and values of each key; elements of lists are values, objects and inner lists are not."""
    counted: Counted = {}
    for metadata in (document.metadata for document in documents):
        for key, value in metadata.items():
            if query.key not in (None, key) or (query.key is None and not _begins(key, query.prefix)):
                continue
            number, types, values = counted.get(key, (0, Counter(), Counter()))
            elements = value if isinstance(value, list) else [value]
            types[TYPES.get(type(value), "null")] += 1
            values.update({_same(one) for one in elements if _is_value(one, key, query)})
            counted[key] = (number + 1, types, values)
    return counted


def _is_value(value: Any, key: str, query: FacetQuery) -> bool:
    is_shown = query.key is None or not query.prefix or (value is not None and _begins(_text(value), query.prefix))
    return not isinstance(value, dict | list) and is_shown


def _begins(text: str, prefix: str) -> bool:
    return text.lower().startswith(prefix.lower())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _same(value: Any) -> tuple[str, Any]:
    """Equal for equal values: 1 equals 1.0, and true does not equal 1."""
    return TYPES.get(type(value), "null"), value


def _as_counted(found: list[Facet]) -> Counted:
    return {
        one.key: (
            one.documents, Counter(one.types), Counter({_same(each.value): each.documents for each in one.values})
        )
        for one in found
    }  # fmt: skip


def _check_order(found: list[Facet]) -> None:
    assert found == sorted(found, key=lambda one: (-one.documents, one.key))
    for one in found:
        texts = [(-each.documents, _text(each.value).lower()) for each in one.values if isinstance(each.value, str)]
        assert texts == sorted(texts, key=lambda each: (each[0], each[1].encode()))


async def test_facets_with_random_filters_are_those_of_counting_in_python(database: Database, stored) -> None:
    user, documents = stored
    dice, selective = random.Random(32), 0
    async with database.reading(user) as reading:
        for _ in range(FILTERS):
            filters = filter_oracle.draw_filters(dice, documents)
            query = FacetQuery(filters, dice.choice([None, "a", "b"]), dice.choice(["", "2", "R", "tr"]), EVERY)
            found = await facets.count(reading, query)
            passing = [document for document in documents if filter_oracle.passes(filters, document)]
            expected = _count(passing, query)
            assert _as_counted(found) == expected, query
            assert [one.distinct for one in found] == [len(expected[one.key][2]) for one in found]
            _check_order(found)
            selective += 0 < len(passing) < DOCUMENTS
    assert selective > FILTERS / 3


async def test_kept_counts_and_those_of_a_restricted_caller_are_those_of_counting_in_python(database, stored) -> None:
    user, documents = stored
    async with database.locking(user) as writing:
        await facets.recount(writing)
        half = [document.metadata for document in documents[: DOCUMENTS // 2]]
        await facets.record(writing, removed=half)
        await facets.record(writing, added=half)
    seen = Filters(metadata={"n": {"lt": DOCUMENTS // 3}})
    restricted = database.restricted(translation.restriction(seen))
    for key, prefix in ((None, ""), (None, "b"), ("a", ""), ("a", "2"), ("b", "r"), ("none", "")):
        query = FacetQuery(key=key, prefix=prefix, limit=EVERY)
        for db, of_caller in ((database, documents), (restricted, documents[: DOCUMENTS // 3])):
            async with db.reading(user) as reading:
                found = await facets.count(reading, query)
            assert _as_counted(found) == _count(of_caller, query), query
            _check_order(found)
    async with database.reading(user) as reading:
        assert await facets.count_differences(reading) == 0
        for filters in (Filters(), Filters(metadata={"n": {"exists": True}})):
            every = {one.key: one for one in await facets.count(reading, FacetQuery(filters, limit=EVERY))}
            for limit in (0, 3):
                for one in await facets.count(reading, FacetQuery(filters, limit=limit)):
                    assert (one.values, one.distinct) == (every[one.key].values[:limit], len(every[one.key].values))


def _is_named_oddly(document: StoredDocument) -> bool:
    """Whether a document names several files, or has a line break in its fragment."""
    uri = document.uri or ""
    return "filename" in document.metadata or uri.count("#") > 1 or "\n" in uri


async def test_a_value_of_a_folder_or_file_type_counts_the_documents_that_its_filter_selects(database, stored) -> None:
    user, documents = stored
    dice = random.Random(33)
    async with database.reading(user) as reading:
        for _ in range(20):
            filters = filter_oracle.draw_filters(dice, documents)
            found = await facets.count(reading, FacetQuery(filters, limit=EVERY, of="files"))
            passing = [document for document in documents if filter_oracle.passes(filters, document)]
            for one in found:
                for each in one.values:
                    chosen = Filters(folder=each.value) if one.key == "folder" else Filters(file_types=(each.value,))
                    selected = [document for document in passing if filter_oracle.passes(chosen, document)]
                    odd = sum(map(_is_named_oddly, passing)) if one.key == "file_type" else 0
                    assert abs(len(selected) - each.documents) <= odd, (filters, each)
                    assert one.key == "file_type" or each.documents < len(passing)
                    below = [other for other in one.values if str(other.value).startswith(f"{each.value}/")]
                    assert each.documents not in [other.documents for other in below], "all are in one folder below"
        [folders] = await facets.count(reading, FacetQuery(key="folder", prefix="NOTES", limit=2, of="files"))
    assert [one.value.startswith("notes") for one in folders.values] == [True, True]
    assert folders.distinct > 2


MANY = """
INSERT INTO stepwell.documents (user_id, document_id, identity, metadata, title, config, content, content_hash,
                                attributes_hash, chunk_count)
SELECT $1 || '-many', gen_random_uuid(), int4send(n), jsonb_build_object('n', n), '', 'english', '', '', '', 0
FROM generate_series(1, 20000) AS n
"""


async def test_counting_ends_at_the_deadline(address, owner: asyncpg.Connection, stored) -> None:
    user, _ = stored
    await owner.execute(MANY, user)
    limits = transactions.TimeLimits(read_ms=5)
    async with transactions.connect(address.service_dsn, pool_size=1, limits=limits) as hurried:
        with pytest.raises(errors.DeadlineExceeded):
            async with hurried.reading(f"{user}-many") as reading:
                await facets.count(reading, FacetQuery(Filters(metadata={"n": {"gte": 0}})))
