"""Reads RTF: headings, paragraphs, lists, tables and notes, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

import anydoc

from app.errors import UnreadableFile
from app.parsing import author_and_time, markdown_writer
from app.parsing.office import office_markdown
from app.parsing.office.office_markdown import Writer
from app.parsing.pages import pictures
from app.parsing.pages.pictures import Embedded
from app.parsing.types import DELETED, ExtractedDocument, InputFile, LeftOut

_HEAD = 1_000_000
"""Number of bytes at the beginning of a file that contain its properties."""
_CODE_PAGE = re.compile(rb"\\ansicpg\d{1,5}")
_CREATED = re.compile(rb"\\creatim\s*\\yr(\d{1,4})\\mo(\d{1,2})\\dy(\d{1,2})(?:\\hr(\d{1,2}))?(?:\\min(\d{1,2}))?")
_PROPERTY = rb"\{\\%s\b((?:[^{}\\]|\\.|\{[^{}]{0,1000}\}){0,4000})\}"
_GROUP = re.compile(
    rb"(?P<hidden>\{\\(?:\*(?!\\(?:shpinst|annotation))|(?:fonttbl|colortbl|stylesheet|info|pict|pntext|listtext|objdata"
    rb"|nonshppict|title|author|operator|creatim|revtim|printim|atnid|atnauthor|sp|sn|sv|tc|xe)(?![a-z])))|[{}]"
)
"""The beginning of a group without text of the document, or of another group, or the end of a group."""
_COMMENT = re.compile(rb"\{\\\*\\annotation(?![a-z])")
"""The beginning of a comment, which the library leaves out."""
_BINARY = re.compile(rb"\\bin(\d{1,9}) ?")
"""The beginning of data that may have braces, and the number of its bytes."""
_HEADER = re.compile(rb"\{\\(?:header|footer)[lrf]?(?![a-z])")
"""The beginning of a group that the library leaves out, apart from its first control word."""
_DELETED = re.compile(
    rb"(?<!\\)\{(?:\\(?!deleted(?![a-z\d]))[a-z]{1,32}+-?\d{0,10}+[ \r\n]?+){0,40}+\\deleted(?![a-z\d])"
)
"""The beginning of a group whose text a tracked change has removed."""
_BREAK = re.compile(
    rb"\\(?:(?:par|line|tab|cell|nestcell|row|nestrow|sect|page|column|footnote|annotation|shptxt|e[mn]dash|[lr](?:dbl)?quote|bullet|e[mn]space)(?![a-z])"
    rb"-?\d{0,10} ?|[~_])"
)
_CODE = re.compile(rb"\\'[0-9a-fA-F]{2}|\\u-?\d{1,5} ?\??")
_FORMAT = rb"(?:[{}\r\n]|\\(?!super|par|tab|line|cell|row|sect|page|u-?\d)[a-z]{1,32}+-?\d{0,10}+ ?)*+"
_RAISED = re.compile(
    rb"(?<=[\s{}?])([^\s\\{}]{1,40}+)(%s\\super(?![a-z0]) ?%s)([-+]?\d{1,9})(?=%s(/[^\\{}]?|))" % ((_FORMAT,) * 3)
)
"""A word or number, and a raised number after it."""
_ESCAPED = re.compile(rb"\\[{}\\]")
_CONTROL = re.compile(rb"\\[a-zA-Z]{1,32}-?\d{0,10} ?|[\r\n{}]|\\.")


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author and creation time. Raises UnreadableFile if its end is missing."""
    if not file.raw.rstrip(b"\r\n\t \x00").endswith(b"}"):
        raise UnreadableFile("damaged", "The document is incomplete: its end is missing. Transfer it again.")
    try:
        kept, deleted = _DELETED.subn(rb"{\\*\\deleted", file.raw)
        shown = _COMMENT.sub(rb"{\\footnote Comment: ", _HEADER.sub(rb"{\\par", _separate_raised(kept)))
        document = anydoc.to_document(shown)
    except anydoc.ConvertError as error:
        raise UnreadableFile("damaged", "The document is damaged: save it again.") from error
    embedded = Embedded(file.recognise)
    writer = Writer(document, embedded)
    text, contents = office_markdown.remove_contents_tables("\n\n".join(writer.pages()))
    if not text:
        raise pictures.blank("The document contains no text.", file.recognise)
    author = _property(file.raw, b"author")
    created = _CREATED.search(file.raw[:_HEAD])  # as the clock of the author showed it
    time = "{:04}-{:02}-{:02}T{:02}:{:02}".format(*(int(part or 0) for part in created.groups())) if created else ""
    yield ExtractedDocument(
        text,
        title=_property(file.raw, b"title"),
        metadata=author_and_time.author(author),
        created_at=author_and_time.parse_moment(time),
        warnings=tuple(embedded.warnings),
        left_out=(*contents, *writer.left_out, *embedded.left_out, *[LeftOut(DELETED)] * deleted),
    )


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The words of the document, except words with characters that are written as codes."""
    kept = _DELETED.sub(rb"{\\*\\deleted", _without_binary(raw))
    raw = _without_hidden(_ESCAPED.sub(b" ", _separate_raised(kept)))
    for pattern, written in ((_CODE, b"\xff"), (_BREAK, b" \x00 "), (_CONTROL, b"")):
        raw = pattern.sub(written, raw)
    yield "", " ".join(word for word in raw.decode("ascii", "replace").split() if "\ufffd" not in word)


def _without_binary(raw: bytes) -> bytes:
    shown: list[bytes] = []
    start = 0
    while (data := _BINARY.search(raw, start)) is not None:
        shown.append(raw[start : data.start()])
        start = data.end() + int(data[1])
    return b"".join((*shown, raw[start:]))


def _without_hidden(raw: bytes) -> bytes:
    """The file without the groups that have no text of the document. It has no escaped braces."""
    shown: list[bytes] = []
    start = depth = hidden = 0
    for brace in _GROUP.finditer(raw):
        if brace[0] == b"}":
            if hidden and depth == hidden:
                hidden, start = 0, brace.end()
            depth -= 1
            continue
        depth += 1
        if brace["hidden"] and not hidden:
            hidden = depth
            shown.append(raw[start : brace.start()])
    return b"".join((*shown, b"" if hidden else raw[start:]))


def _separate_raised(raw: bytes) -> bytes:
    """The file with raised numbers apart from the numbers before them, such as exponents."""

    def separate(found: re.Match[bytes]) -> bytes:
        before, shown, raised, after = (part.decode("latin-1") for part in found.groups())
        return f"{before}{shown}{markdown_writer.separate_raised(before, raised, after)}".encode("latin-1")

    return _RAISED.sub(separate, raw)


def _property(raw: bytes, name: bytes) -> str:
    """A property in the description of the document; empty if there is none."""
    found = re.search(_PROPERTY % name, raw[:_HEAD], re.S)
    if found is None:
        return ""
    code_page = _CODE_PAGE.search(raw[:_HEAD])
    whole = rb"{\rtf1\ansi%s %s}" % (code_page[0] if code_page else b"", found[1])
    with suppress(anydoc.ConvertError):
        return " ".join("".join(Writer(anydoc.to_document(whole), Embedded(None)).pages()).split())
    return ""
