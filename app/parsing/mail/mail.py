"""Reads EML and MBOX: the texts of each message with its subject, participants and date."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage, Message
from email.policy import EmailPolicy
from email.utils import getaddresses
from functools import lru_cache
from typing import Any

from app.errors import UnreadableFile
from app.parsing import author_and_time, types
from app.parsing.html import html_text
from app.parsing.mail import mail_parts
from app.parsing.types import ExtractedDocument, InputFile

_PEOPLE = ("from", "to", "cc")
MAX_HEADER, MAX_CONTENT_HEADER = 4_000, 1_000
"""Characters of a header that are parsed, and of one on the content: the time grows with their square."""
MAX_PARAMETERS = 20
"""Parameters of a header on the content that are read."""
KEPT_HEADERS = 8
"""Most parsed headers that are cached, because the library asks for the content type of a message a dozen times."""
_BEFORE_HEADERS = b"\xef\xbb\xbf\r\n\t "
"""A byte order mark and blank lines, after which the library takes headers for text."""
_SEPARATOR = re.compile(
    rb"^From (?:(?=[^\r\n]*\d{4})(?=[^\r\n]*\d\d:\d\d)[^\r\n]*+|[^\s@]+@[^\s@]+(?=\r?\n[!-9;-~]+:))\r?\n", re.M
)
_QUOTED = re.compile(rb"^>(>*From )", re.M)


class _BoundedHeaders(EmailPolicy):
    """Cuts long headers, those of people when they are parsed, and parses equal headers once."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """The name and the value of a header."""
        name, value = super().header_source_parse(sourcelines)
        if not value.isascii():  # bytes in an encoding that the message does not name
            value = mail_parts.decode_bytes(value.encode("utf-8", "surrogateescape")).text
        lowered = name.lower()
        if lowered.startswith("content-"):
            return name, ";".join(value[:MAX_CONTENT_HEADER].split(";", MAX_PARAMETERS + 1)[: MAX_PARAMETERS + 1])
        return name, value if lowered in _PEOPLE else value[:MAX_HEADER]

    def header_fetch_parse(self, name: str, value: str) -> Any:
        """The parsed header, an empty one if it is malformed."""
        return _parsed_header(name, value[:MAX_HEADER])


_POLICY = _BoundedHeaders()


@lru_cache(KEPT_HEADERS)
def _parsed_header(name: str, value: str) -> Any:
    try:
        return EmailPolicy.header_fetch_parse(_POLICY, name, value)
    except MemoryError:
        raise
    except Exception:  # such as IndexError and, for parentheses in hundreds of others, RecursionError
        return EmailPolicy.header_fetch_parse(_POLICY, name, "")


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The message, or the messages of a mailbox. Raises UnreadableFile if none has text or a subject."""
    if _SEPARATOR.match(file.raw):
        warnings: list[str] = []
        nothing = "The mailbox contains no message with text or a subject."
        yield from types.annotate(_read_mailbox(file, warnings), nothing, warnings=warnings)
        return
    found = document(parse(file.raw.lstrip(_BEFORE_HEADERS)))
    if found is None:
        raise UnreadableFile("no_text", "The message contains no text and has no subject.")
    yield found


def parse(raw: bytes) -> EmailMessage:
    """Parses a message. Its headers are parsed on use."""
    message = email.message_from_bytes(raw, policy=_POLICY)
    assert isinstance(message, EmailMessage)
    return message


def document(message: EmailMessage) -> ExtractedDocument | None:
    """The sender and the texts of a message, including forwarded messages. The metadata names the attachments.

    None if it has neither text nor a subject.
    """
    body, title = mail_parts.body(message), mail_parts.header(message, "subject")
    if not (body.text.strip() or title):
        return None

    people = {name: _addresses(message, name) for name in _PEOPLE}
    if unnamed := sum(len(found[types.MAX_PEOPLE :]) for found in people.values()):
        body.warnings.append(f"people of the message: {unnamed} left out of the metadata")
        people = {name: found[: types.MAX_PEOPLE] for name, found in people.items()}
    names = [name or address for found in people.values() for name, address in found]
    metadata: dict[str, Any] = {
        name: [address for _name, address in found if address] for name, found in people.items() if found
    }
    author = next((name or address for name, address in people["from"]), "")
    metadata |= {"participants": list(dict.fromkeys(names)), "attachments": body.attachments, "author": author}
    if author and body.text.strip():  # else only the messages that quote it would have the name of who wrote it
        body.parts.insert(0, (f"From: {author}", False))
    return ExtractedDocument(
        body.text,
        title=title,
        metadata={name: value for name, value in metadata.items() if value},
        created_at=author_and_time.parse_moment(str(getattr(message.get("date"), "datetime", ""))),
        markdown=body.has_markdown,
        left_out=tuple(body.left_out),
        warnings=tuple(dict.fromkeys(body.warnings)),
    )


def _addresses(message: EmailMessage, header: str) -> list[tuple[str, str]]:
    """The names and addresses of a header. The parser of the other headers takes time that grows with their square."""
    try:
        values = [str(value) for name, value in message.raw_items() if name.lower() == header]
        found = getaddresses(["".join(value.splitlines()) for value in values])  # the library ends a quoted name at \r
        return [one for name, address in found for one in _decode(name, address) if any(one)]
    except RecursionError:  # parentheses in hundreds of others
        return []


def _decode(name: str, address: str) -> list[tuple[str, str]]:
    """The name and the address; several in a header that is encoded as a whole instead of name by name."""
    if "=?" in address:
        return getaddresses([_decode_words(address)])
    return [(_decode_words(name) if "=?" in name else name, address)]


def _decode_words(text: str) -> str:
    return str(_parsed_header("subject", text[:MAX_HEADER]))


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The texts of all parts of a message, or of each message of a mailbox."""
    is_mailbox = _SEPARATOR.match(raw)
    for number, message in enumerate(_messages(raw) if is_mailbox else [raw.lstrip(_BEFORE_HEADERS)], 1):
        texts = "\n".join(dict.fromkeys(_texts(email.message_from_bytes(message))))
        yield f"message {number}" if is_mailbox else "", texts


def _texts(message: Message) -> Iterator[str]:
    for part in message.walk():
        if part.get_content_disposition() == "attachment" or part.is_multipart():
            continue
        if part.get_content_maintype() not in ("text", "multipart"):
            continue
        text = mail_parts.decode(part).text
        if part.get_content_type() == "text/calendar":
            unfolded = re.sub(r"\r?\n[ \t]", "", text)
            text = "\n".join(re.findall(r"^(?:SUMMARY|LOCATION)[^:\n]*:([^\\\n]*)$", unfolded, re.M))
        yield html_text.show(text) if part.get_content_type().endswith("html") else text


def _read_mailbox(file: InputFile, warnings: list[str]) -> Iterator[ExtractedDocument]:
    """The messages of a mailbox with text or a subject; `warnings` says how many cannot be read."""
    seen: set[str] = set()
    unread = 0
    for number, raw in enumerate(_messages(file.raw), 1):
        try:
            message = parse(raw)
            found = document(message)
        except MemoryError:
            raise
        except Exception:  # the library fails on some malformed headers, which the other messages do not have
            unread += 1
            continue
        if found is not None:
            message_id = str(message.get("message-id", "")).strip().strip("<>")
            yield replace(found, fragment=types.identify(f"message={number}", message_id, seen, safe="@"))
    if unread:
        warnings.append(f"messages of the mailbox that cannot be read: {unread} left out")


def _messages(raw: bytes) -> Iterator[bytes]:
    """The messages. Each begins with a line `From address [date]`, at the beginning or after a blank line."""
    blank = (b"\n\n", b"\n\r\n")
    found = _SEPARATOR.finditer(raw)
    starts = [match for match in found if match.start() == 0 or raw.endswith(blank, 0, match.start())]
    ends = [match.start() for match in starts[1:]] + [len(raw)]
    for match, end in zip(starts, ends, strict=True):
        yield _QUOTED.sub(rb"\1", raw[match.end() : end])
