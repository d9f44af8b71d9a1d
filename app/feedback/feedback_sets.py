"""Writes feedback as an evaluation set with the user's documents."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from app.documents import documents
from app.documents.types import Upload
from app.evaluation import beir
from app.evaluation.beir import JudgedQuestion
from app.feedback import feedback
from app.feedback.types import GivenFeedback
from app.services import Services

PAGE = 200


def grouped(given: Iterable[GivenFeedback]) -> list[JudgedQuestion]:
    """The judgements as questions, in the order of the first on each.

    A document, named by URI or else by id, has grade 1 if it or a passage of it helped, else 0.
    """
    found: dict[str, dict[str, int]] = {}
    for one in given:
        grades = found.setdefault(one.query, {})
        name = one.uri or str(one.document_id)
        grades[name] = max(grades.get(name, 0), int(one.helpful))
    return [JudgedQuestion(_id(query), query, grades) for query, grades in found.items()]


def _id(query: str) -> str:
    """An id of a query that stays the same in later exports."""
    return hashlib.sha256(query.encode()).hexdigest()[:12]


async def export(user_id: str, folder: Path, services: Services) -> tuple[int, int]:
    """Write the judged questions and all documents of a user as a set in BEIR layout; replaces existing files.

    Returns the numbers of questions and documents.
    """
    judged = grouped(reversed([one async for one in feedback.listed(user_id, services)]))
    count = await beir.write(folder, judged, _uploads(user_id, services))
    return len(judged), count


async def _uploads(user_id: str, services: Services) -> AsyncIterator[Upload]:
    """The documents of a user with their texts, newest first."""
    after = None
    while page := await documents.page(user_id, db=services.db, limit=PAGE, after=after):
        for listed in page:
            whole = await documents.get(listed.document_id, user_id, db=services.db)
            name = whole.uri or str(whole.document_id)
            yield Upload(whole.content or "", whole.title, name, whole.metadata, created_at=whole.created_at)
        after = (page[-1].created_at, page[-1].document_id)
