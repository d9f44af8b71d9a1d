"""Encodes and decodes the cursors of paginated listings.

A cursor is a place in the order, not an offset, so that pages neither skip nor repeat when documents come and go. It
names no user: it is only ever read inside the caller's own rows.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

from app import errors

LONGEST = 1_200
First = TypeVar("First")


def make(created_at: datetime, document_id: UUID) -> str:
    """The cursor behind this document."""
    return _made(created_at.isoformat(), document_id)


def read(cursor: str) -> tuple[datetime, UUID]:
    """The place that a cursor names. Raises BadRequest."""
    return _read(cursor, _moment)


def make_name(name: str, entity_id: UUID) -> str:
    """The cursor behind this entity in the order of names."""
    return _made(name, entity_id)


def read_name(cursor: str) -> tuple[str, UUID]:
    """The place that a cursor names. Raises BadRequest."""
    return _read(cursor, _name)


def make_strength(strength: float, document_id: UUID) -> str:
    """The cursor behind this document in the order of links."""
    return _made(repr(strength), document_id)


def read_strength(cursor: str) -> tuple[float, UUID]:
    """The place that a cursor names. Raises BadRequest."""
    return _read(cursor, _strength)


def _made(first: str, last: UUID) -> str:
    return base64.urlsafe_b64encode(f"{first}|{last}".encode()).decode().rstrip("=")


def _read(cursor: str, first: Callable[[str], First]) -> tuple[First, UUID]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        told, _, last = base64.b64decode(padded, altchars=b"-_", validate=True).decode().rpartition("|")
        return first(told), UUID(last)
    except (ValueError, OverflowError, binascii.Error) as error:
        raise errors.BadRequest("Use the next_cursor of an earlier page, unchanged.", field="cursor") from error


def _moment(told: str) -> datetime:
    when = datetime.fromisoformat(told)
    if when.tzinfo is None:
        raise ValueError("no zone")
    return when.astimezone(UTC)


def _name(told: str) -> str:
    if "\0" in told:
        raise ValueError("no name")
    return told


def _strength(told: str) -> float:
    if not math.isfinite(strength := float(told)):
        raise ValueError("not finite")
    return strength
