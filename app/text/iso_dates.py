"""Reads dates and times in ISO 8601 in the same way as the database function `stepwell.microseconds`."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ISO_8601 = re.compile(
    r"""
    [ \t-\r]* (?P<day> [0-9]{4}-[0-9]{2}-[0-9]{2})
    ( [Tt ] (?P<hour> [01][0-9] | 2[0-3]) : (?P<minute> [0-5][0-9])
      ( : (?P<second> [0-5][0-9]) ([.,] (?P<fraction> [0-9]{1,9}))? )?
      (?P<offset> [ \t-\r]* ([Zz] | (?P<sign> [+-]) (?P<hours> 0[0-9] | 1[0-5]) (:? (?P<minutes> [0-5][0-9]))?) )?
    )?
    (?(offset) [ ]* | [ \t-\r]*)
    """,
    re.VERBOSE,
)


def microseconds(text: str) -> int | None:
    """Converts a date or time in ISO 8601 to microseconds since 1970; None for other text, such as week dates.

    Without an offset it is in UTC. A date stands for its first moment. A fraction of more than six digits is rounded,
    half to even.
    """
    if not (found := _ISO_8601.fullmatch(text)):
        return None
    try:
        days = date.fromisoformat(found["day"]).toordinal() - _EPOCH.toordinal()
    except ValueError:
        return None
    minutes = days * 1_440 + _number(found["hour"]) * 60 + _number(found["minute"])
    east = _number(found["hours"]) * 60 + _number(found["minutes"])
    seconds = (minutes + (east if found["sign"] == "-" else -east)) * 60 + _number(found["second"])
    # Postgres multiplies the fraction as a float too.
    return seconds * 1_000_000 + round(float(f"0.{found['fraction'] or 0}") * 1_000_000)


def parse_moment(text: str) -> datetime | None:
    """Like `microseconds`, as a time in UTC. Raises OverflowError outside of the years 1 to 9999."""
    since = microseconds(text)
    return None if since is None else at(since)


def at(since: int) -> datetime:
    """Returns the time in UTC that many microseconds after 1970. Raises OverflowError as `parse_moment`."""
    return _EPOCH + timedelta(microseconds=since)


def since_1970(moment: datetime) -> int:
    """Returns the microseconds from 1970 to a time with a zone."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _number(digits: str | None) -> int:
    return int(digits or 0)
