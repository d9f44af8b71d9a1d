"""Reads MBOX: each message of a mailbox is a document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from urllib.parse import quote

from app.errors import UnreadableFile
from app.parsing.files import ExtractedDocument, InputFile
from app.parsing.mail import mail

MAX_ID = 200
_SEPARATOR = re.compile(rb"^From [^\r\n]*\d\d:\d\d[^\r\n]*\r?\n", re.M)
_QUOTED = re.compile(rb"^>(>*From )", re.M)


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The messages with text or a subject; the last one has a warning if there are others that cannot be read."""
    held: ExtractedDocument | None = None
    seen: set[str] = set()
    unread = 0
    for number, raw in enumerate(_messages(file.raw), 1):
        try:
            message = mail.parse(raw)
            found = mail.document(message)
        except MemoryError:
            raise
        except Exception:  # the library fails on some malformed headers, which the other messages do not have
            unread += 1
            continue
        if found is not None:
            if held is not None:
                yield held
            held = replace(found, fragment=_fragment(message, number, seen))
    if held is None:
        raise UnreadableFile("no_text", "The mailbox contains no message with text or a subject.")
    warnings = (f"messages of the mailbox that cannot be read: {unread} left out",) if unread else ()
    yield replace(held, warnings=(*held.warnings, *warnings))


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The texts of the messages."""
    for number, message in enumerate(_messages(raw), 1):
        yield from ((f"message {number}", text) for _, text in mail.content(message))


def _messages(raw: bytes) -> Iterator[bytes]:
    """The messages; each begins with a line `From address date`, at the beginning or below a blank line."""
    starts = [match for match in _SEPARATOR.finditer(raw) if _is_below_blank(raw, match.start())]
    if not starts or raw[: starts[0].start()].strip():
        raise UnreadableFile("damaged", "The mailbox does not begin with a line `From address date`.")
    ends = [match.start() for match in starts[1:]] + [len(raw)]
    for match, end in zip(starts, ends, strict=True):
        yield _QUOTED.sub(rb"\1", raw[match.end() : end])


def _is_below_blank(raw: bytes, start: int) -> bool:
    return start == 0 or raw[max(0, start - 3) : start].endswith((b"\n\n", b"\n\r\n"))


def _fragment(message: EmailMessage, number: int, seen: set[str]) -> str:
    """The place of a message by its id if it has one that no earlier message has, else by its number."""
    message_id = str(message.get("message-id", "")).strip().strip("<>")
    by_id = f"id={quote(message_id, safe='@')}"
    fragment = by_id if message_id and len(message_id) <= MAX_ID and by_id not in seen else f"message={number}"
    seen.add(fragment)
    return fragment
