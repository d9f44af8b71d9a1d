"""Compares the counts of metadata with the documents, and makes them anew."""

from __future__ import annotations

from collections.abc import AsyncIterator

from app.derived_rows import Repair, UserRows, under_lock
from app.facets.store import facet_counts


async def _find(rows: UserRows) -> AsyncIterator[range]:
    """As many numbers as counts are wrong: all counts are made anew."""
    async with rows.reading() as reading:
        found = await facet_counts.differences(reading)
    if found:
        yield range(found)


REPAIRS = (
    Repair(
        "facets",
        _find,
        under_lock(lambda writing, _wrong: facet_counts.recount(writing)),
        "counts of metadata",
        "counts of keys or values of metadata are wrong",
        "facets match the documents",
    ),
)
