"""Where does the next page of a listing begin?

A cursor is a place in the order, not an offset, so that pages neither skip nor repeat when documents come and go. It
names no user: it is only ever read inside the caller's own rows.
"""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from uuid import UUID

from app import errors

LONGEST = 200


def make(created_at: datetime, document_id: UUID) -> str:
    """The cursor behind this document."""
    return base64.urlsafe_b64encode(f"{created_at.isoformat()}|{document_id}".encode()).decode().rstrip("=")


def read(cursor: str) -> tuple[datetime, UUID]:
    """The place that a cursor names. Raises BadRequest."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        moment, _, document_id = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii").partition("|")
        when = datetime.fromisoformat(moment)
        if when.tzinfo is None:
            raise ValueError("no zone")
        return when.astimezone(UTC), UUID(document_id)
    except (ValueError, OverflowError, binascii.Error) as error:
        raise errors.BadRequest("Use the next_cursor of an earlier page, unchanged.", field="cursor") from error
