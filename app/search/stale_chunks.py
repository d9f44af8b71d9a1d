"""Finds the chunks that a search has read and that were replaced or deleted since, so that it can remove them.

No transaction is open while a provider is called, so a search that calls one between two reads may see two versions of
a document.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from uuid import UUID

from app.database.transactions import SearchTransaction
from app.documents.store import chunks
from app.query.types import Candidate
from app.search.state import SearchContext

_stored_fields = operator.attrgetter(
    "document_id", "source_id", "title", "uri", "chunk_index", "start_offset", "end_offset", "heading_path", "metadata"
)
"""The stored fields of a candidate except its text, which the chunk's id is derived from."""


async def find(read: Iterable[Candidate], context: SearchContext, db: SearchTransaction) -> frozenset[UUID]:
    """The chunks that the transaction's snapshot does not contain as they were read.

    Nothing is read if the user's version is that of the search; otherwise the search is at the transaction's version
    afterwards.
    """
    if db.version == context.version:
        return frozenset()
    by_id = {candidate.chunk_id: candidate for candidate in read}
    stored = await chunks.by_id(db, list(by_id), vector=None)
    context.version = db.version
    same = {i for i, (now, _similarity) in stored.items() if _stored_fields(now) == _stored_fields(by_id[i])}
    return frozenset(by_id) - same
