"""Reads a JSON file that is, or mainly contains, a list of objects: each is a document, or a message of one chat.

Any other JSON file is one text.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.parsing import formats, types
from app.parsing.rows import chat_messages, json_lines, records
from app.parsing.rows.header_rows import Table
from app.parsing.rows.records import RecordReader
from app.parsing.types import ExtractedDocument, InputFile, LeftOut
from app.text.structure import markups

MOST_BESIDE = 2_000
"""Most characters of a file beside its list: what says how many objects there are, and where the next page is."""
_FIRST = re.compile(formats.RECORDS, re.X)
_NEXT = re.compile(r"\s*+(?:,\s*+(?=\{)|(?P<end>\]))")
_decoder = json.JSONDecoder(parse_float=json_lines.Number)


@dataclass(frozen=True, slots=True)
class _List:
    """A list in a text: the offsets of its objects, and the fields beside it that have a value."""

    text: str
    starts: Sequence[int]
    beside: Mapping[str, Any]

    def objects(self) -> Iterator[Mapping[str, Any]]:
        return (_decoder.raw_decode(self.text, start)[0] for start in self.starts)

    def is_chat(self) -> bool:
        """Whether the objects are messages of a chat."""
        return chat_messages.is_chat(
            self.text[: self.starts[0]], list(itertools.islice(self.objects(), records.SAMPLE))
        )

    def texts(self) -> Mapping[str, Any]:
        """The fields beside the list with a text that has words, which are about all objects."""
        scalars = {name: json_lines.scalars(value) for name, value in self.beside.items()}
        return {name: self.beside[name] for name, found in scalars.items() if any(map(records.is_text, found))}


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The objects of the list, or the text of the file."""
    text = file.raw.decode()
    found = _find(text)
    if found is None:
        yield ExtractedDocument(markups.decode_json(text), markdown=False)
        return
    texts = found.texts()
    above = "\n".join(records.lines(texts, texts))
    if file.text_field is None and found.is_chat():
        title = texts.get(records.named(texts, records.TITLE_FIELDS) or "")
        documents = chat_messages.read(found.objects(), title if isinstance(title, str) else "", above)
    else:
        table = Table([], iter(()), above=above)
        numbered = ((f"item={number}", record) for number, record in enumerate(found.objects(), 1))
        rows = RecordReader(file.text_field).documents(numbered, shared={})
        # Unlike the title of a sheet, such texts are rarely about the objects: they say whether a request succeeded.
        described = (replace(one, metadata={**table.shared, **one.metadata}) for one in rows)
        documents = itertools.chain(table.introduction("list", {}), described)
    left_out = [LeftOut("fields beside the list", where=name) for name in found.beside if name not in texts]
    yield from types.annotate(documents, "No object of the list contains text or a title.", left_out=left_out)


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The values of the objects, or the text of the file."""
    text = raw.decode()
    found = _find(text)
    if found is None:
        yield "", markups.decode_json(text)
        return
    yield "beside the list", "\n".join(json_lines.scalars(found.texts()))
    for number, record in enumerate(found.objects(), 1):
        yield f"item {number}", "\n".join(json_lines.scalars(record))


def _find(text: str) -> _List | None:
    """The list of a file; None if the file is not valid, or has another list of objects or much text beside the list.

    The objects are decoded one by one, because all of them at once would take ten times the memory of their text.
    """
    first = _FIRST.match(text)
    if first is None:
        return None
    starts = [first.end()]
    try:
        while True:
            end = _decoder.raw_decode(text, starts[-1])[1]
            following = _NEXT.match(text, end)
            if following is None:
                return None
            if following["end"]:
                break
            starts.append(following.end())
        around = f"{first[0].rstrip()[:-1]}NaN{text[following.end() :]}"
        beside = _beside(around) if len(around) <= min(MOST_BESIDE, len(text) // 2) else None
    except (ValueError, RecursionError):
        return None
    return _List(text, starts, beside) if beside is not None else None


def _beside(around: str) -> Mapping[str, Any] | None:
    """The fields with a value in a JSON text with NaN for the list; None if another has objects."""
    value = json.loads(around, parse_constant=lambda _name: None)
    others = value if isinstance(value, dict) else {}
    if any(map(_has_objects, others.values())):
        return None
    return {name: other for name, other in others.items() if other is not None}


def _has_objects(value: Any) -> bool:
    """Whether a value, or a member of it, is a list of objects."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            rest.extend(one.values())
        elif isinstance(one, list) and any(isinstance(inner, dict) for inner in one):
            return True
    return False
