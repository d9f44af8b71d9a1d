"""Encodes and decodes the cursors of paginated listings.

A cursor contains the sort key of the last row of a page, not an offset, so that pages neither skip nor repeat rows when
rows are added or deleted. It contains no user id, since listings only read the user's own rows.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

from app import errors

MAX_LENGTH = 1_200
Key = TypeVar("Key")
Row = TypeVar("Row")


def make(key: datetime | float | str, row_id: UUID) -> str:
    """The cursor after the row with this key: a time, the strength of a link, or a name."""
    text = key.isoformat() if isinstance(key, datetime) else key if isinstance(key, str) else repr(key)
    return base64.urlsafe_b64encode(f"{text}|{row_id}".encode()).decode().rstrip("=")


def cut(rows: Sequence[Row], limit: int, cursor: Callable[[Row], str]) -> tuple[Sequence[Row], str | None]:
    """The first `limit` rows, and the cursor after them if there are more."""
    shown = rows[:limit]
    return shown, cursor(shown[-1]) if len(rows) > limit else None


def moment(text: str) -> datetime:
    """The time in a cursor. Raises ValueError."""
    timestamp = datetime.fromisoformat(text)
    if timestamp.tzinfo is None:
        raise ValueError("no time zone")
    return timestamp.astimezone(UTC)


def name(text: str) -> str:
    """The name in a cursor. Raises ValueError."""
    if "\0" in text:
        raise ValueError("NUL character")
    return text


def strength(text: str) -> float:
    """The strength of a link in a cursor. Raises ValueError."""
    if not math.isfinite(read := float(text)):
        raise ValueError("not finite")
    return read


def read(cursor: str, parse: Callable[[str], Key]) -> tuple[Key, UUID]:
    """The sort key in a cursor, of the kind that `parse` reads, and the id. Raises `invalid_cursor`."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        key, _, row_id = base64.b64decode(padded, altchars=b"-_", validate=True).decode().rpartition("|")
        return parse(key), UUID(row_id)
    except (ValueError, OverflowError, binascii.Error) as error:
        raise errors.BadRequest(errors.INVALID_CURSOR, field="cursor", code="invalid_cursor") from error
