"""Reads the messages of a chat in JSON as one document, so that a short answer is found with its question."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from app.parsing import author_and_time
from app.parsing.rows import header_rows, json_lines, records
from app.parsing.types import MAX_PEOPLE, ExtractedDocument, LeftOut
from app.text.structure import frontmatter

PAUSE = timedelta(hours=1)
"""After a pause of this length the next message begins a paragraph with its time."""
MOST_PROSE = 20
"""Most texts of a message besides its own that are read, such as those of attachments."""
_SENDER_FIELDS = ("user_profile", "author", "from", "sender", "sender_name", "creator", "username", "user")
_PERSON_FIELDS = ("real_name", "nickname", "display_name", "displayName", "name")
_TIME_FIELDS = (*frontmatter.DATE_FIELDS, "timestamp", "timestamp_ms", "ts", "time")
_THREAD_FIELD = "thread_ts"
"""The field with the time of the first message of the thread."""
_SINCE_1970 = re.compile(r"\d{9,10}(?:\.\d{1,9})?|\d{12,13}")
_IN_LIST = re.compile(r'"messages"\s*:\s*\[\s*\Z')


@dataclass(frozen=True, slots=True)
class _Message:
    """A message. `time` may be the time of the message before. `thread` is the time of the thread's first message."""

    time: datetime | None
    thread: datetime | None
    sender: str
    text: str

    @property
    def order(self) -> tuple[datetime, datetime]:
        """Sorts messages by time, and the replies of a thread behind its first message."""
        time = self.time or datetime.min.replace(tzinfo=UTC)
        return self.thread or time, time


def is_chat(before: str, sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the objects of a list are messages of a chat, given the text before the list and the first objects.

    The list must be named `messages`, or the objects have the type `message`. Most must have a text, a sender and a
    time, but no title: objects with titles are mails.
    """
    is_listed = _IN_LIST.search(before[-records.LONGEST_NAME :]) is not None
    found = [one for one in sample if is_listed or one.get("type") == "message"]
    chat = [one for one in found if _said(one) and _sender(one) and _time(one)]
    return 2 * sum(records.named(one, records.TITLE_FIELDS) is None for one in chat) > len(sample)


def read(objects: Iterable[Mapping[str, Any]], title: str, above: str) -> Iterator[ExtractedDocument]:
    """The conversation: paragraphs that begin with their time, with a line for each message. Nothing without text.

    `above` is text about all messages, which stands above them.
    """
    messages, others = list[_Message](), defaultdict[str, list[str]](list)
    time: datetime | None = None
    for one in objects:
        time = _time(one) or time
        if said := _said(one):
            messages.append(_Message(time, _moment(header_rows.show(one.get(_THREAD_FIELD))), _sender(one), said))
        for name, value in _rest(one).items():
            others[name] += json_lines.scalars(value)
    if not messages:
        return
    messages.sort(key=attrgetter("order"))
    people = list(dict.fromkeys(message.sender for message in messages if message.sender))
    unnamed = len(people[MAX_PEOPLE:])
    yield ExtractedDocument(
        "\n".join([above, *_lines(messages)]).lstrip(),
        title=title,
        metadata={"participants": people[:MAX_PEOPLE]},
        created_at=min((message.time for message in messages if message.time), default=None),
        markdown=False,
        warnings=(f"participants: {unnamed} left out of the metadata",) if unnamed else (),
        left_out=tuple(LeftOut("fields of messages", "\n".join(values), name) for name, values in others.items()),
    )


def _lines(messages: Sequence[_Message]) -> Iterator[str]:
    last: datetime | None = None
    for message in messages:
        turn = f"{message.sender}: {message.text}" if message.sender else message.text
        if message.time and (last is None or abs(message.time - last) >= PAUSE):
            turn = f"\n[{message.time:%Y-%m-%d %H:%M}] {turn}"
        last = message.time
        yield turn


def _said(record: Mapping[str, Any]) -> str:
    """The text of a message, of formatted texts such as `{"type": "bold", "text": …}` joined, and of attachments."""
    name = records.named(record, records.TEXT_FIELDS)
    parts = record[name] if name and isinstance(record[name], list) else [record[name] if name else None]
    text = "".join(str((part.get("text") if isinstance(part, dict) else part) or "") for part in parts)
    return "\n".join(line for line in "\n".join([text, *_prose(record, text)]).splitlines() if line.strip())


def _rest(record: Mapping[str, Any]) -> dict[str, Any]:
    """A message without its text. Of a formatted text, the formats stay."""
    text = records.named(record, records.TEXT_FIELDS)
    parts = record[text] if text and isinstance(record[text], list) else ()
    formats = [{key: part[key] for key in part if key != "text"} for part in parts if isinstance(part, dict)]
    return {name: formats if name == text else value for name, value in record.items() if name != text or formats}


def _prose(record: Mapping[str, Any], text: str) -> Iterator[str]:
    """The other texts in the lists and objects of a message, such as those of attachments, each once."""
    nested = [
        value for name, value in _rest(record).items() if name not in _SENDER_FIELDS and not isinstance(value, str)
    ]
    every = dict.fromkeys(one.strip() for one in json_lines.scalars(nested) if records.is_prose(one))
    found = list(itertools.islice(every, MOST_PROSE))
    return (one for one in found if one not in text and not any(one in other for other in found if other != one))


def _sender(record: Mapping[str, Any]) -> str:
    given = [record.get(field) for field in _SENDER_FIELDS]
    named = [[one.get(field) for field in _PERSON_FIELDS] if isinstance(one, dict) else [one] for one in given]
    names = (" ".join(name.split()) for name in itertools.chain(*named) if isinstance(name, str))
    return next(filter(None, names), "")


def _time(record: Mapping[str, Any]) -> datetime | None:
    """The time of a message in ISO 8601, or in seconds or milliseconds since 1970; in UTC if it has no zone."""
    shown = (header_rows.show(record.get(field)) for field in _TIME_FIELDS)
    return next((time for text in shown if text and (time := _moment(text))), None)


def _moment(text: str) -> datetime | None:
    if _SINCE_1970.fullmatch(text):
        return datetime.fromtimestamp(float(text) / (1 if len(text.partition(".")[0]) <= 10 else 1_000), UTC)
    return author_and_time.parse_moment(text)
