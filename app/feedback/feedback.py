"""Takes feedback on the hits of searches, hands it out, and deletes what is too old.

Only a caller's own act stores a query. Nothing of a search itself is kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from uuid import UUID

from app import errors
from app.feedback import store as feedback
from app.feedback.types import Feedback, FeedbackOptions, GivenFeedback
from app.services import Services

log = logging.getLogger(__name__)

EXPIRE_EVERY_S = 3_600.0


async def give(given: Feedback, user_id: str, services: Services) -> UUID:
    """Store or withdraw a judgement; returns the id of its document.

    Raises BadRequest where no feedback is kept, NotFound for an unknown passage, and if there is nothing to withdraw.
    """
    if not services.option(FeedbackOptions).days:
        raise errors.BadRequest("No feedback is kept here: STEPWELL_FEEDBACK_DAYS is 0.")
    await services.db.check_writable()
    try:
        async with services.db.preparing(user_id, checked=True) as writing:
            document_id = await (feedback.put if given.helpful is not None else feedback.withdraw)(writing, given)
    except errors.NotFound:  # a document that the caller does not see
        raise _unknown(given) from None
    if document_id is None:
        raise _unknown(given)
    return document_id


def _unknown(given: Feedback) -> errors.NotFound:
    field = "document_id" if given.chunk_id is None else "chunk_id"
    if given.helpful is None:
        return errors.NotFound("There is no feedback on this query and passage.", field=field)
    return errors.NotFound(f"No such {'document' if given.chunk_id is None else 'chunk'}.", field=field)


async def listed(user_id: str, services: Services) -> AsyncIterator[GivenFeedback]:
    """The judgements of a user, newest first."""
    async with services.db.reading(user_id) as reading:
        async for one in feedback.listed(reading, days=services.option(FeedbackOptions).days):
            yield one


async def expire_forever(services: Services) -> None:
    """Delete the judgements of all users that are too old, once an hour until cancelled."""
    while True:
        try:
            async with services.db.shared() as shared:
                expired = await feedback.expire(shared, days=services.option(FeedbackOptions).days)
            if expired:
                log.info("feedback expired: %d", expired, extra={"action": "feedback_expired"})
        except errors.StepwellError as error:
            log.warning("expiry of feedback postponed: %s", error.code, extra={"action": "feedback_postponed"})
        await asyncio.sleep(EXPIRE_EVERY_S)
