"""Lists the ids of the documents that a restricted caller sees, if they are few, and gives the list to transactions.

Policies and filters then compare with the list instead of testing the caller's restriction on each document.

A process keeps the lists of its most recent callers. Every change of documents raises the version of the user's data,
and a list is used only by transactions that read the version for which it was made.
"""

from __future__ import annotations

import weakref
from typing import Any

from cachetools import LRUCache

from app.database import filters, sql
from app.database.filter_types import Filters
from app.database.transactions import Listed, Reading

MOST_VISIBLE = 2_000
"""If the caller sees at most this many chunks, postings are compared with all of them (docs/benchmarks.md)."""
MOST_LISTED = 2_000
"""A list of at most this many documents costs less than looking up the document of each row (docs/benchmarks.md)."""
MOST_COUNTED = 4_000
"""If the caller sees at most this many chunks, the frequencies of words are counted in them."""
MAX_CALLERS = 200
"""Most lists that a process keeps for each database: at most 20 MB."""

_USE = sql.inline("SELECT stepwell.use_list(:document_ids::uuid[])")
_Lists = LRUCache[tuple[str, str], tuple[int, Listed | None]]
_kept: weakref.WeakKeyDictionary[object, _Lists] = weakref.WeakKeyDictionary()


async def prepare(db: Reading) -> None:
    """List the documents that the caller sees, once per transaction, before statements that read many rows.

    A caller who sees everything, or more than MOST_LISTED documents, has no list.
    """
    if db.restriction is None or db.listed is not None:
        return
    listed = await _current(db, db.restriction.audience)
    if listed is not None:
        await db.execute(_USE, {"document_ids": listed.document_ids})
        db.listed = listed


async def visible_binds(db: Reading) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The parts and binds with which a statement that shows words reads visible chunks only.

    The statement includes the fragments `visible_chunks` or `lexeme_is_visible`.

    Both are empty for a caller who sees everything.
    """
    if db.restriction is None:
        return (), {}
    await prepare(db)
    binds = filters.binds(filters.visible(db, Filters()))
    return ("restricted", *binds), {"most_visible": MOST_VISIBLE, **binds}


async def counted_binds(db: Reading) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Like `visible_binds`, with the part `counted` instead of `restricted` if words are counted in what is visible."""
    parts, binds = await visible_binds(db)
    if db.listed is None or (found := db.listed.statistics) is None:
        return parts, binds
    seen = {"seen_configs": list(found), "seen_chunks": [chunks for chunks, _tokens in found.values()]}
    return ("counted", *parts[1:]), {**binds, **seen, "most_visible": MOST_COUNTED}


async def _current(db: Reading, audience: str) -> Listed | None:
    """The list of the caller at the version of the transaction."""
    lists = _kept.setdefault(db.database_key, LRUCache(MAX_CALLERS))
    version, listed = lists.get((db.user_id, audience), (None, None))
    if version != db.version.data:
        binds = filters.binds(filters.visible(db, Filters()))
        values = {"user_id": db.user_id, "most_listed": MOST_LISTED, **binds}
        row = (await db.execute(sql.statement("listed_documents", *binds), values)).one()
        found, listed = tuple(row.document_ids or ()), None
        if len(found) <= MOST_LISTED:
            statistics = None
            if row.chunks <= MOST_COUNTED:
                counted = sql.statement("statistics_of_chunks", "document_ids")
                rows = await db.execute(counted, {"user_id": db.user_id, "document_ids": found})
                statistics = {one.config: (one.chunks, one.tokens) for one in rows}
            listed = Listed(found, row.chunks, statistics)
        lists[db.user_id, audience] = (db.version.data, listed)
    return listed
