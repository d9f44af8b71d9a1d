"""Finds the chunks that were replaced or deleted after a search read them, so that the search can drop them.

No transaction is open while a provider is called. A search that calls a provider between two reads may therefore see
two versions of a document.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from uuid import UUID

from app.database.transactions import SearchTransaction
from app.documents.store import chunk_reads
from app.query.search_types import STORED, Candidate
from app.search.state import SearchContext

_stored_fields = operator.attrgetter(*(name for name in STORED if name != "content"))
"""The stored fields of a candidate, except the text: the id of the chunk is derived from it."""


async def find(read: Iterable[Candidate], context: SearchContext, db: SearchTransaction) -> frozenset[UUID]:
    """The chunks that have changed, or are gone, in the transaction's snapshot.

    If the user's version has not changed since the search last read, nothing is read. The caller sets the version of
    the search afterwards, once what was found cannot be lost with the connection.
    """
    if db.version == context.version:
        return frozenset()
    by_id = {candidate.chunk_id: candidate for candidate in read}
    stored = await chunk_reads.by_id(db, list(by_id), vector=None)
    same = {i for i, (now, _similarity) in stored.items() if _stored_fields(now) == _stored_fields(by_id[i])}
    return frozenset(by_id) - same
