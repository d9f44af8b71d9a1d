"""Reads the parts of a message: texts in order, forwarded messages, invitations, and what is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from email.message import EmailMessage, Message
from typing import Any

import icalendar

from app.errors import BadRequest
from app.parsing import encodings, markdown_writer
from app.parsing.encodings import Decoded
from app.parsing.html import html_text
from app.parsing.types import LeftOut

COVERED = 0.8
"""A form of a text counts as complete if it has at least this share of the words of another form."""
MAX_DEPTH = 50
"""Deepest nesting of parts that is read."""
_CALENDARS = ("text/calendar", "application/ics")
_FORWARDED = ("from", "to", "cc", "date", "subject")
_WORD = re.compile(r"(?:https?://|www\.)\S+|(\d[\d.,:]*\d|\w+)")
_EVENTS = ("VEVENT", "VTODO", "VJOURNAL")


@dataclass(slots=True)
class MailBody:
    """The texts of a message, whether each is Markdown, and the parts that do not belong to its text."""

    parts: list[tuple[str, bool]] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def has_markdown(self) -> bool:
        """Whether one of the texts is Markdown; the others are then escaped."""
        return any(is_markdown for _, is_markdown in self.parts)

    @property
    def text(self) -> str:
        """All texts in their order."""
        if not self.has_markdown:
            return "\n\n".join(text for text, _ in self.parts)
        return "\n\n".join(
            text if is_markdown else "\n".join(map(markdown_writer.escape, text.splitlines()))
            for text, is_markdown in self.parts
        )

    def add(self, text: str, *, is_markdown: bool = False) -> None:
        """Add a text unless it is blank."""
        if text.strip():
            self.parts.append((text.strip("\r\n"), is_markdown))


def body(message: EmailMessage) -> MailBody:
    """The body of a message."""
    found = MailBody()
    _read(message, found, 0)
    return found


def header(message: Message, name: str) -> str:
    """A header on one line; empty if there is none."""
    return " ".join(str(message.get(name, "")).split())


def decode(part: Message) -> Decoded:
    """The text of a part, in the encoding that it declares if it fits."""
    raw = part.get_payload(decode=True)
    declared = None
    with suppress(LookupError, ValueError):
        declared = part.get_content_charset()
    return decode_bytes(raw if isinstance(raw, bytes) else b"", declared)


def decode_bytes(raw: bytes, declared: str | None = None) -> Decoded:
    """Decodes bytes in the declared encoding if it fits; as Latin-1 if they are not text."""
    try:
        return encodings.decode(raw, declared)
    except BadRequest:
        return Decoded(raw.decode("latin-1"))


def _read(part: Message, found: MailBody, depth: int) -> None:
    kind, is_whole = part.get_content_type(), depth == 0
    if depth > MAX_DEPTH:
        found.left_out.append(LeftOut("parts within too many others"))
    elif kind == "message/rfc822" and part.is_multipart():
        _read_forwarded(part, found, depth)
    elif kind in _CALENDARS and not part.is_multipart():
        _read_invitation(part, found)
    elif part.get_content_disposition() == "attachment" and not is_whole:
        _leave(part, found)
    elif kind == "multipart/alternative" and part.is_multipart():
        _read_alternatives(part, found, depth)
    elif kind == "message/delivery-status":
        found.add("\n\n".join(_headers(one, list(one)) for one in _inner(part)))
    elif part.is_multipart():
        for one in _inner(part):
            _read(one, found, depth + 1)
    elif part.get_content_maintype() in ("text", "multipart"):  # of the latter, one without its boundary
        _read_text(part, kind, found)
    else:
        _leave(part, found)


def _read_text(part: Message, kind: str, found: MailBody) -> None:
    decoded = decode(part)
    found.warnings += decoded.warnings
    if kind.endswith("html"):
        text, left_out = html_text.chapter(decoded.text)
        found.left_out += left_out
        found.add(text, is_markdown=True)
    else:
        found.add(decoded.text)


def _read_invitation(part: Message, found: MailBody) -> None:
    """Reads an invitation. A message may have it both as a part and as an attachment."""
    if name := part.get_filename():
        found.attachments.append(name)
    calendar = decode(part).text
    try:
        components = icalendar.Calendar.from_ical(calendar).walk()
        text = "\n\n".join("\n".join(_event(one)) for one in components if one.name in _EVENTS)
    except Exception:  # the library raises any kind on a broken calendar, which is then shown as it is
        text = calendar
    if (text, False) not in found.parts:
        found.add(text)


def _read_forwarded(part: Message, found: MailBody, depth: int) -> None:
    """Reads a forwarded message, below its headers."""
    for message in _inner(part):
        found.add(_headers(message, [name for name in _FORWARDED if name in message]))
        _read(message, found, depth + 1)


def _read_alternatives(part: Message, found: MailBody, depth: int) -> None:
    """Reads the first form of a text, which is plain text, unless another form has much that it lacks."""
    forms, invitation = [], MailBody()
    for one in _inner(part):
        form = invitation if one.get_content_type() in _CALENDARS else MailBody()
        _read(one, form, depth + 1)
        if form.parts and form is not invitation:
            forms.append(form)
        found.attachments += form.attachments
        found.left_out += form.left_out
        found.warnings += form.warnings
    chosen = forms[0] if forms else MailBody()
    for form in forms[1:]:
        missing = _words(form) - _words(chosen)
        has_numbers = any(word[0].isdecimal() for word in missing)
        if has_numbers or len(missing) > (1 - COVERED) * len(_words(form)):
            chosen = max(chosen, form, key=lambda one: len(_words(one)))
    found.parts += chosen.parts + invitation.parts
    found.left_out += [LeftOut("other forms of the same text", form.text) for form in forms if form is not chosen]


def _words(form: MailBody) -> set[str]:
    return {word.casefold() for text, _ in form.parts for word in _WORD.findall(text) if word}


def _leave(part: Message, found: MailBody) -> None:
    """Leave a part out, and name it."""
    name = part.get_filename()
    if name:
        found.attachments.append(name)
    kind = part.get_content_maintype()
    reason = "pictures" if kind == "image" else "attachments" if name else "parts that are no text"
    found.left_out.append(LeftOut(reason, where=name or part.get_content_type()))


def _headers(message: Message, names: Sequence[str]) -> str:
    return "\n".join(f"{name.title()}: {header(message, name)}" for name in names)


def _inner(part: Message) -> list[Any]:
    payload = part.get_payload()
    return payload if isinstance(payload, list) else []


def _event(event: Any) -> Iterator[str]:
    """The subject, time, place and attendees of an event of a calendar."""
    for name, (label, separator, show) in _EVENT_LINES.items():
        values = event.get(name, [])
        values = values if isinstance(values, list) else [values]
        if found := separator.join(filter(None, map(show, values))):
            yield f"{label}{found}"


def _words_of(value: Any) -> str:
    return str(value).strip()


def _time(value: Any) -> str:
    """A time as it is written, with its zone."""
    moment = getattr(value, "dt", None)
    if not isinstance(moment, datetime):
        written = moment.isoformat() if isinstance(moment, date) else value.to_ical()
        return written if isinstance(written, str) else written.decode()  # text if it is no time
    zone = value.params.get("TZID") or moment.tzname() or ""
    return f"{moment:%Y-%m-%d %H:%M} {zone}".strip()


def _person(address: Any) -> str:
    email = str(address).removeprefix("mailto:").removeprefix("MAILTO:")
    name = str(getattr(address, "params", {}).get("CN", "")).strip()
    return f"{name} <{email}>" if name and name != email else email


_EVENT_LINES: dict[str, tuple[str, str, Callable[[Any], str]]] = {
    "SUMMARY": ("", "\n", _words_of),
    "DTSTART": ("Begins: ", "\n", _time),
    "DTEND": ("Ends: ", "\n", _time),
    "DUE": ("Due: ", "\n", _time),
    "ORGANIZER": ("Organizer: ", ", ", _person),
    "ATTENDEE": ("Attendees: ", ", ", _person),
    "LOCATION": ("Place: ", "\n", _words_of),
    "DESCRIPTION": ("Description: ", "\n", _words_of),
    "COMMENT": ("Comment: ", "\n", _words_of),
}
"""By property of an event: its label, the separator of several values, and the function that formats a value."""
