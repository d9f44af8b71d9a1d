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
from typing import Protocol, TypeVar
from uuid import UUID

from app import errors
from app.database.filter_types import ORDERED_CHARACTERS
from app.kinds import DocumentOrder

MAX_LENGTH = 1_200
Key = TypeVar("Key")
Row = TypeVar("Row")


class ListedDocument(Protocol):
    """What the order of a listing of documents depends on."""

    @property
    def document_id(self) -> UUID: ...

    @property
    def created_at(self) -> datetime: ...

    @property
    def updated_at(self) -> datetime: ...

    @property
    def title(self) -> str: ...


def make(key: datetime | float | str, row_id: UUID) -> str:
    """The cursor after the row with this key: a time, the strength of a link, or a name."""
    text = key.isoformat() if isinstance(key, datetime) else key if isinstance(key, str) else repr(key)
    return base64.urlsafe_b64encode(f"{text}|{row_id}".encode()).decode().rstrip("=")


def cut(rows: Sequence[Row], limit: int, cursor: Callable[[Row], str]) -> tuple[Sequence[Row], str | None]:
    """The first `limit` rows, and the cursor after them if there are more."""
    shown = rows[:limit]
    return shown, cursor(shown[-1]) if len(rows) > limit else None


def read(cursor: str) -> tuple[datetime, UUID]:
    """The sort key in a cursor. Raises `invalid_cursor`."""
    return _decode(cursor, _moment)


def after_document(document: ListedDocument, order: DocumentOrder) -> str:
    """The cursor after this document, in an order; all but the one of creation are named in it."""
    if order == "newest":
        return make(document.created_at, document.document_id)
    key = {
        "oldest": document.created_at.isoformat(),
        "changed": document.updated_at.isoformat(),
        "title": document.title[:ORDERED_CHARACTERS],
    }[order]
    return make(f"{order}:{key}", document.document_id)


def read_document(cursor: str, order: DocumentOrder) -> tuple[datetime | str, UUID]:
    """The sort key in the cursor of a listing in this order. Raises `invalid_cursor`."""

    def parse(text: str) -> datetime | str:
        named, _, key = text.partition(":")
        if named != order:
            raise ValueError("another order")
        return _name(key) if order == "title" else _moment(key)

    return read(cursor) if order == "newest" else _decode(cursor, parse)


def read_name(cursor: str) -> tuple[str, UUID]:
    """The sort key in a cursor. Raises `invalid_cursor`."""
    return _decode(cursor, _name)


def read_strength(cursor: str) -> tuple[float, UUID]:
    """The sort key in a cursor. Raises `invalid_cursor`."""
    return _decode(cursor, _strength)


def _decode(cursor: str, parse: Callable[[str], Key]) -> tuple[Key, UUID]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        key, _, row_id = base64.b64decode(padded, altchars=b"-_", validate=True).decode().rpartition("|")
        return parse(key), UUID(row_id)
    except (ValueError, OverflowError, binascii.Error) as error:
        raise errors.BadRequest(errors.INVALID_CURSOR, field="cursor", code="invalid_cursor") from error


def _moment(text: str) -> datetime:
    timestamp = datetime.fromisoformat(text)
    if timestamp.tzinfo is None:
        raise ValueError("no time zone")
    return timestamp.astimezone(UTC)


def _name(text: str) -> str:
    if "\0" in text:
        raise ValueError("NUL character")
    return text


def _strength(text: str) -> float:
    if not math.isfinite(strength := float(text)):
        raise ValueError("not finite")
    return strength
