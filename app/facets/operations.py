"""Counts the facets of metadata, repairs stored counts, and suggests a key or value for a filter that finds nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any

from rapidfuzz import fuzz, process

from app.database import transactions
from app.database.filter_types import BOUNDS, Filters, is_operator_object
from app.derived_row_repairs import Repair, UserRows, under_lock
from app.facets import store
from app.facets.types import Facet, FacetCache, FacetQuery
from app.query.search_types import MissedFilter
from app.services import Services
from app.text import iso_dates, uris

NEAREST_SCORE = 70
"""Least similarity, 0 to 100, of a key or value to the stored one that is suggested, by its letters, else its words."""
MAX_CHECKED = 5
"""Most folders, most conditions on metadata, and most values of one, that are compared with what is stored."""
NAMED = 5
"""Stored keys or values that are named where none is near."""
COMPARED_VALUES = 1_000
"""Most values of a key, the commonest, that a given value is compared with."""


@transactions.retry_read
async def run(query: FacetQuery, user_id: str, services: Services) -> Sequence[Facet]:
    """The keys of metadata with types, values and counts. Raises DatabaseUnavailable, DeadlineExceeded.

    The result is cached until the user's documents change, for callers who see the same documents.
    """
    async with services.db.reading(user_id) as reading:
        digest = hashlib.blake2b(repr(query).encode(), digest_size=16).digest()  # filters may have thousands of ids
        key = (user_id, reading.audience, digest)
        find = partial(store.count, reading, query)
        return await transactions.get_or_find(services.state(FacetCache), reading.version, key, find)


@transactions.retry_read
async def find_missed(filters: Filters, user_id: str, *, db: transactions.Database) -> list[MissedFilter]:
    """The conditions on metadata that no document meets, each tested alone, with the nearest key or value.

    A folder is near if only the beginning or the case of its path is wrong. Of groups, only `all` is examined.
    """
    found = []
    async with db.reading(user_id) as reading:
        for folder in list(_folders(filters))[:MAX_CHECKED]:
            of_files = await store.count(reading, FacetQuery(key="folder", limit=COMPARED_VALUES, of="files"))
            known = [uris.show(one.value) for facet in of_files for one in facet.values]
            folder = uris.show(folder).rstrip("/")
            end = f"/{folder.strip('/')}".casefold()
            nearest = min((path for path in known if f"/{path}".casefold().endswith(end)), key=len, default=None)
            is_known = any(f"{path}/".startswith(folder + "/") for path in known)
            if not is_known and (nearest or 0 < len(known) < COMPARED_VALUES):  # one with all documents is not counted
                same, named = (nearest or "").casefold() == folder.casefold(), tuple(known[:NAMED])
                found.append(MissedFilter("folder", True, named, nearest_value=nearest, same_letters=same))
        for key, wanted in list(_conditions(filters))[:MAX_CHECKED]:
            [*of_key] = await store.count(reading, FacetQuery(key=key, limit=COMPARED_VALUES))
            if not of_key:
                known = [facet.key for facet in await store.count(reading, FacetQuery(limit=0))]
                found.append(MissedFilter(key, False, tuple(known[:NAMED]), nearest_key=_nearest(key, known)))
            elif not await _is_met(reading, key, wanted, of_key[0]):
                found.append(_missed_value(key, wanted, of_key[0]))
    return found


def _conditions(filters: Filters) -> Iterator[tuple[str, Any]]:
    """The keys and conditions on metadata that every document must meet, without those that a missing key meets."""
    yield from (one for one in (filters.metadata or {}).items() if _needs_key(one[1]))
    for group in filters.all_of or ():
        yield from _conditions(group)


def _needs_key(wanted: Any) -> bool:
    """Whether only documents that have the key meet a condition."""
    return not is_operator_object(wanted) or any(name != "ne" and to is not False for name, to in wanted.items())


def _folders(filters: Filters) -> Iterator[str]:
    """The folders in which every document must be."""
    if filters.folder:
        yield filters.folder
    for group in filters.all_of or ():
        yield from _folders(group)


async def _is_met(reading: transactions.Reading, key: str, wanted: Any, facet: Facet) -> bool:
    """Whether a document may meet a condition on a key that documents have."""
    if is_operator_object(wanted):
        bounds = [wanted[name] for name in BOUNDS if name in wanted]
        if bounds and not (facet.types.keys() & {"list", _type(bounds[0])} and _may_compare(bounds[0], facet)):
            return False
    values = _values(wanted)
    known = {(_type(one.value), one.value) for one in facet.values}
    needs_all = isinstance(wanted, list)
    if not values or (not needs_all and any((_type(value), value) in known for value in values)):
        return True
    if facet.distinct <= len(facet.values) and not needs_all:
        return False
    only = FacetQuery(Filters(metadata={key: wanted if needs_all else {"in": values}}), key=key, limit=1)
    return bool(await store.count(reading, only))


def _may_compare(bound: Any, facet: Facet) -> bool:
    """Whether a range may compare values of the key. A range of dates needs a date among them if all are known."""
    is_known = isinstance(bound, str) and "list" not in facet.types and facet.distinct <= len(facet.values)
    return not is_known or any(iso_dates.microseconds(_text(one.value)) is not None for one in facet.values)


def _values(wanted: Any) -> list[Any]:
    """The values of which a document must have one, or all of a list; none for other conditions."""
    listed = wanted.get("in", []) if is_operator_object(wanted) else wanted if isinstance(wanted, list) else [wanted]
    return listed if all(isinstance(value, str | int | float) for value in listed) else []


def _type(value: Any) -> str:
    """The type of a value as facets name it."""
    return "string" if isinstance(value, str) else "boolean" if isinstance(value, bool) else "number"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _missed_value(key: str, wanted: Any, facet: Facet) -> MissedFilter:
    values, texts = _values(wanted), {_text(one.value): one.value for one in facet.values}
    may_have_one = facet.distinct > len(texts) or not texts.keys().isdisjoint(map(_text, values))
    if isinstance(wanted, list) and may_have_one:
        return MissedFilter(key, True, (), nearest_value=json.dumps({"in": wanted}, ensure_ascii=False))
    if not values:  # a range
        return MissedFilter(key, True, tuple(texts)[:1], of_type=max(facet.types, key=facet.types.__getitem__))
    compared = ((value, _nearest(_text(value), list(texts))) for value in values[:MAX_CHECKED])
    value, nearest = next((pair for pair in compared if pair[1] is not None), (values[0], None))
    if nearest is None:
        return MissedFilter(key, True, tuple(texts)[:NAMED])
    same, found = nearest.casefold() == _text(value).casefold(), texts[nearest]
    of_type = _type(found) if _type(found) != _type(value) else None
    return MissedFilter(key, True, (), nearest_value=found, same_letters=same, of_type=of_type)


def _nearest(text: str, known: list[str]) -> str | None:
    for score in (fuzz.ratio, fuzz.token_set_ratio):
        if found := process.extractOne(text, known, scorer=score, processor=str.casefold, score_cutoff=NEAREST_SCORE):
            return found[0]
    return None


async def _find_wrong_counts(rows: UserRows) -> AsyncIterator[range]:
    """Yields a range with as many numbers as there are wrong counts. The repair counts everything anew."""
    async with rows.reading() as reading:
        found = await store.count_differences(reading)
    if found:
        yield range(found)


REPAIRS = (
    Repair(
        "facets",
        _find_wrong_counts,
        under_lock(lambda writing, _wrong: store.recount(writing)),
        "counts of metadata",
    ),
)
