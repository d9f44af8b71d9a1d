"""Stores feedback on the hits of searches, exports it, and deletes expired feedback.

A query is stored only if a caller sends feedback on it. A search itself stores nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from uuid import UUID

from app import errors
from app.database.transactions import SharedTransaction
from app.documents import operations as documents
from app.documents.types import Upload
from app.evaluation import beir
from app.feedback import store
from app.feedback.types import FeedbackOptions, FeedbackRequest, GivenFeedback
from app.services import Services

PAGE = 200


async def give(given: FeedbackRequest, user_id: str, services: Services) -> UUID:
    """Store or withdraw a judgement; returns the id of its document.

    Raises BadRequest if the service keeps no feedback, NotFound for an unknown passage or nothing to withdraw.
    """
    if not services.option(FeedbackOptions).days:
        raise errors.BadRequest("No feedback is kept here: STEPWELL_FEEDBACK_DAYS is 0.")
    await services.db.check_writable()
    try:
        async with services.db.preparing(user_id, checked=True) as writing:
            document_id = await (store.put if given.helpful is not None else store.withdraw)(writing, given)
    except errors.NotFound:  # a document that the caller does not see
        raise _unknown(given) from None
    if document_id is None:
        raise _unknown(given)
    return document_id


def _unknown(given: FeedbackRequest) -> errors.NotFound:
    field = "document_id" if given.chunk_id is None else "chunk_id"
    if given.helpful is None:
        return errors.NotFound("There is no feedback on this query and passage.", field=field)
    return errors.NotFound(f"No such {'document' if given.chunk_id is None else 'chunk'}.", field=field)


async def expire(db: SharedTransaction, services: Services) -> int:
    """Delete the expired judgements of all users; returns their number."""
    return await store.expire(db, days=services.option(FeedbackOptions).days)


def group(given: Iterable[GivenFeedback]) -> list[beir.JudgedQuestion]:
    """Groups judgements by query, ordered by the first judgement of each. A query has the same id in every export.

    A document, named by URI or else by id, has grade 1 if it or one of its passages helped, else 0.
    """
    found: dict[str, dict[str, float]] = {}
    for one in given:
        grades = found.setdefault(one.query, {})
        name = one.uri or str(one.document_id)
        grades[name] = max(grades.get(name, 0), int(one.helpful))
    ids = (hashlib.sha256(query.encode()).hexdigest()[:12] for query in found)
    return [beir.JudgedQuestion(name, query, grades) for name, (query, grades) in zip(ids, found.items(), strict=True)]


async def export(user_id: str, folder: Path, services: Services) -> tuple[int, int]:
    """Write the judged questions and all documents of a user in BEIR layout; replaces existing files.

    Returns the numbers of questions and documents.
    """
    async with services.db.reading(user_id) as reading:
        given = [one async for one in store.list_all(reading, days=services.option(FeedbackOptions).days)]
    judged = group(reversed(given))
    count = await beir.write(folder, judged, _uploads(user_id, services))
    return len(judged), count


async def _uploads(user_id: str, services: Services) -> AsyncIterator[Upload]:
    """The documents of a user with their texts, newest first."""
    after = None
    while page := await documents.page(user_id, db=services.db, limit=PAGE, after=after):
        for listed in page:
            try:
                whole = await documents.get(listed.document_id, user_id, db=services.db)
            except errors.NotFound:  # deleted since the page was read
                continue
            name = whole.uri or str(whole.document_id)
            yield Upload(whole.content or "", whole.title, name, whole.metadata, created_at=whole.created_at)
        after = (page[-1].created_at, page[-1].document_id)
