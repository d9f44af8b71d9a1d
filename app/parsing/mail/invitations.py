"""Reads the events and tasks of calendars (iCalendar), such as the invitation in a message."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import icalendar

_SHOWN = ("VEVENT", "VTODO", "VJOURNAL")
_TIMES = {"DTSTART": "Begins", "DTEND": "Ends", "DUE": "Due"}
_PEOPLE = {"ORGANIZER": "Organizer", "ATTENDEE": "Attendees"}
_TEXTS = {"LOCATION": "Place", "DESCRIPTION": "Description", "COMMENT": "Comment"}


def text(calendar: str) -> str:
    """What the events of a calendar are about, when and where they are, and who attends. Raises ValueError."""
    components = icalendar.Calendar.from_ical(calendar).walk()
    return "\n\n".join("\n".join(_lines(one)) for one in components if one.name in _SHOWN)


def _lines(event: Any) -> Iterator[str]:
    if summary := _join(event, "SUMMARY"):
        yield summary
    for name, label in _TIMES.items():
        if name in event:
            yield f"{label}: {_time(event[name])}"
    for name, label in _PEOPLE.items():
        if people := ", ".join(map(_person, _values(event, name))):
            yield f"{label}: {people}"
    for name, label in _TEXTS.items():
        if found := _join(event, name):
            yield f"{label}: {found}"


def _values(event: Any, name: str) -> list[Any]:
    found = event.get(name, [])
    return found if isinstance(found, list) else [found]


def _join(event: Any, name: str) -> str:
    return "\n".join(filter(None, (str(value).strip() for value in _values(event, name))))


def _time(value: Any) -> str:
    """A time as it is written, with its zone."""
    moment = getattr(value, "dt", None)
    if not isinstance(moment, datetime):
        return moment.isoformat() if isinstance(moment, date) else value.to_ical().decode()
    zone = value.params.get("TZID") or moment.tzname() or ""
    return f"{moment:%Y-%m-%d %H:%M} {zone}".strip()


def _person(address: Any) -> str:
    email = str(address).removeprefix("mailto:").removeprefix("MAILTO:")
    name = str(getattr(address, "params", {}).get("CN", "")).strip()
    return f"{name} <{email}>" if name and name != email else email
