"""Reads a file of any supported format as uploads: text is decoded here, other formats are parsed in their own process.

A file may contain several documents, such as the rows of a table. Each has the file's uri with a fragment. A file of an
archive is read as if it were sent alone; its path is appended to the uri of the archive.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from app import capability, errors
from app.concurrency import offload
from app.documents.storing import document_drafts
from app.documents.types import Upload
from app.enums import Json, LeftOutReason
from app.errors import UnreadableFile
from app.parsing import encodings, formats, process
from app.parsing.encodings import Decoded
from app.parsing.formats import FileFormat
from app.parsing.process import ParseLimits, Parser, ParseShare, Recognise
from app.parsing.types import ArchiveMember, ExtractedDocument
from app.services import Services
from app.text import uris
from app.text.structure import markups, metadata_json
from app.text.words import cleaning, languages

T = TypeVar("T")
__all__ = ["FileReader", "NamedFile", "ParseLimits", "ParseShare", "Recognise", "UnreadMember", "opened"]
MAX_NAME = 200
"""Largest number of characters that are kept of the name of a file in an archive."""
SUPPORTED = formats.SUPPORTED
HEAD = formats.HEAD
PICTURE = formats.PICTURE.name
_ESCAPES = {formats.JSON.name: markups.decode_json, formats.XML.name: markups.decode_xml}
_ESCAPES |= {"manual": markups.decode_roff, "latex": markups.decode_latex}
_ESCAPES |= {"ics": markups.decode_cards, "vcf": markups.decode_cards}


def is_readable(head: bytes, name: str, *, pictures: bool) -> bool:
    """Whether a file with these first bytes, at most HEAD, is text, or has a supported format or a suffix of one.

    A file whose content does not match its suffix counts as readable, so that its failure is reported. `pictures` says
    whether text in pictures is read.
    """
    if formats.has_suffix(name) and (pictures or not formats.by_suffix(name).needs_ocr):
        return True
    try:
        format = formats.sniff(head, name)
    except UnreadableFile as error:
        return error.code != "unsupported_format" and not formats.by_suffix(name).needs_ocr
    if format.needs_ocr:
        return pictures
    if format == formats.ARCHIVE:
        return formats.is_document_archive(head)
    return format.content == "binary" or encodings.is_text(head)


def format_name(head: bytes, name: str) -> str:
    """The name of the format of a file with these first bytes, at most HEAD; `unsupported` for an unknown format."""
    try:
        format = formats.sniff(head, name)
    except UnreadableFile:
        return "unsupported"
    if format not in (formats.ARCHIVE, formats.OLD_OFFICE):
        return format.name
    named = formats.by_suffix(name)
    return named.name if named.content == "binary" else format.name


def is_blank_picture(head: bytes, name: str, error: UnreadableFile) -> bool:
    """Whether a file with these first bytes was refused because it is a picture without text, such as a photo."""
    return error.code == "no_text" and format_name(head, name) == PICTURE


def title_of_blank(name: str) -> str | None:
    """The title of a blank file with this name, if it is a note; else None.

    A blank Markdown file is a note if its name has several words.
    """
    stem = name.rpartition(".")[0]
    words = re.findall(r"[^\W_]+", stem)
    return stem if len(words) > 1 and formats.by_suffix(name) == formats.MARKDOWN else None


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file to read: its content, its name, and the uri of its document.

    A document without a title takes the name as its title. `text_field` is the field that holds the text of a record
    (None: chosen by name). `titled` is set if the caller gives a title; a text file may then be blank.
    """

    raw: bytes
    name: str
    uri: str | None = None
    text_field: str | None = None
    titled: bool = False


@dataclass(frozen=True, slots=True)
class UnreadMember:
    """A file of an archive that cannot be read, its uri, and the reason; `left_out` is None if the file failed."""

    path: str
    uri: str | None
    error: UnreadableFile
    left_out: LeftOutReason | None


def recogniser(user_id: str, services: Services) -> Recognise | None:
    """The function that reads the text in pictures of a user's files; None without OCR."""
    return next((made for make in capability.declared("recognisers") if (made := make(user_id, services))), None)


@asynccontextmanager
async def opened(
    limits: ParseLimits, share: ParseShare | None = None, recognise: Recognise | None = None
) -> AsyncIterator[FileReader]:
    """A reader of one user's files. They share the time for parsing. Its process ends with the block."""
    async with process.Parser(limits, share, recognise) as parser:
        yield FileReader(parser)


class FileReader:
    """Reads the files of one user."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser

    @property
    def most_documents(self) -> int:
        """Most documents that a file of a request may contain."""
        return self._parser.limits.documents

    async def uploads(self, file: NamedFile) -> AsyncGenerator[Upload | UnreadMember, None]:
        """The documents of a file, and the files of an archive that cannot be read.

        Raises UnreadableFile. The uploads yielded before are complete.
        """
        async with aclosing(_find(file, self._parser)) as found, AsyncExitStack() as stack:
            members: _ArchiveMembers | None = None
            async for one in found:
                if isinstance(one, Upload):
                    yield one
                    continue
                members = members or _ArchiveMembers(file, await self._inner(stack))
                async with aclosing(members.uploads(one)) as uploads:
                    async for upload in uploads:
                        yield upload

    async def _inner(self, stack: AsyncExitStack) -> Parser:
        """A second parser for the files of an archive: they are read while the first one unpacks the next file."""
        outer = self._parser
        share = ParseShare(min(outer.share.left_s, outer.limits.request_s))

        def count() -> None:
            outer.share.used_s += share.used_s

        stack.callback(count)
        return await stack.enter_async_context(process.Parser(outer.limits, share, outer.recognise))


@dataclass(slots=True)
class _ArchiveMembers:
    """Reads the files of one archive. Their texts together have the limit of one file."""

    archive: NamedFile
    parser: Parser
    size: int = 0

    async def uploads(self, member: ArchiveMember) -> AsyncGenerator[Upload | UnreadMember, None]:
        """The documents of a file of the archive, or why it is not read. Raises UnreadableFile beyond the limits."""
        limits = self.parser.limits
        if self.parser.share.left_s <= 0:
            raise UnreadableFile(
                "parse_limit",
                f"Reading the files of the archive took {limits.request_s:.0f} seconds, or what was left of the "
                "request's time: unpack it, and send the remaining files.",
            )
        file = self._named(member)
        try:
            if member.refused:
                raise UnreadableFile("damaged" if member.left_out is None else "unsupported_format", member.refused)
            async with aclosing(_find(file, self.parser)) as found:
                async for one in found:
                    if isinstance(one, ArchiveMember):
                        raise UnreadableFile("unsupported_format", "An archive in an archive is not read: unpack it.")
                    self.size += len(one.content)
                    if self.size > limits.text_bytes:
                        raise UnreadableFile(
                            "parse_limit", "The files of the archive have too much text together: unpack it."
                        )
                    yield one
        except UnreadableFile as error:
            if self.size > limits.text_bytes:
                raise
            yield UnreadMember(member.path, file.uri, error, self._left_out(member, file.name, error))

    def _left_out(self, member: ArchiveMember, name: str, error: UnreadableFile) -> LeftOutReason | None:
        """Why a file is left out, by the rule for files of folders; None if the file failed."""
        if member.left_out is not None:
            return member.left_out
        readable = is_readable(member.raw[:HEAD], name, pictures=self.parser.recognise is not None)
        if error.code == "unsupported_format" and not readable:
            return "binary"
        blank = not member.raw or is_blank_picture(member.raw[:HEAD], name, error)
        return "empty" if error.code == "no_text" and blank else None

    def _named(self, member: ArchiveMember) -> NamedFile:
        """The file with its uri: the archive's uri and the path of the file, which is quoted in a `file:` uri."""
        uri = self.archive.uri
        if uri is not None:
            uri = f"{uri}/{quote(member.path) if uri.startswith('file:') else member.path}"
        name = member.path.rpartition("/")[2][-MAX_NAME:]
        return replace(self.archive, raw=member.raw, name=name, uri=uri)


async def _find(file: NamedFile, parser: Parser) -> AsyncGenerator[Upload | ArchiveMember, None]:
    """The documents of a file, or the files of an archive. Raises UnreadableFile."""
    format = formats.sniff(file.raw, file.name)
    raw, notes = file.raw, tuple[str, ...]()
    if format.content == "plain":
        decoded = await _decode(file)
        if not format.parser:
            yield await _run(len(raw), partial(_text_upload, decoded, file, format))
            return
        raw, notes = decoded.text.encode("utf-8", "replace"), decoded.warnings
    documents = parser.documents(raw, format, name=file.name, text_field=file.text_field)
    async with aclosing(documents):
        async for found in documents:
            yield found if isinstance(found, ArchiveMember) else _upload(found, file, notes)
            notes = ()  # only the first document of a file has the warnings about the whole file


async def _run(size: int, work: Callable[[], T]) -> T:
    """Runs work on a file of this size, inline if the file is small."""
    return await (offload.run(size, work) if size <= offload.INLINE else offload.run_stoppable(size, work))


async def _decode(file: NamedFile) -> Decoded:
    """The text of a file. Raises UnreadableFile."""
    size = len(file.raw)
    try:
        decoded = await _run(size, partial(encodings.decode, file.raw))
    except errors.BadRequest as error:
        raise formats.unsupported() from error
    blank = partial(cleaning.is_blank, decoded.text)
    if not file.titled and title_of_blank(file.name) is None and await _run(size, blank):
        raise UnreadableFile("no_text", "The file contains no text.")
    return decoded


def _text_upload(decoded: Decoded, file: NamedFile, format: FileFormat) -> Upload:
    """A file of text as an upload."""
    text = decoded.text
    suffix = formats.suffix(file.name)
    kind = markups.find(text, suffix) or suffix if format == formats.TEXT else format.name
    if decode := _ESCAPES.get(kind):
        text = decode(text)
    metadata, problems = _metadata({}, file)
    head = cleaning.clean(text[:HEAD]).text if format == formats.TEXT else ""
    return Upload(
        text,
        uri=file.uri,
        markdown=format == formats.MARKDOWN,
        frontmatter=format == formats.MARKDOWN,
        metadata=metadata,
        default_title=markups.title(head, suffix) or document_drafts.title_of_file(file.name),
        warnings=(*decoded.warnings, *problems),
    )


def _upload(document: ExtractedDocument, file: NamedFile, notes: tuple[str, ...]) -> Upload:
    known = document.language is not None and languages.look_up_config(document.language) is not None
    fragment = f"#{document.fragment}" if document.fragment else ""
    metadata, problems = _metadata(document.metadata, file)
    return Upload(
        document.text,
        uri=file.uri + fragment if file.uri is not None else None,
        markdown=document.markdown,
        frontmatter=False,
        page_starts=document.page_starts,
        metadata=metadata,
        language=document.language if known else None,
        created_at=document.created_at,
        default_title=document.title or document_drafts.title_of_file(file.name),
        warnings=(*notes, *document.warnings, *problems),
        table_config=document.table_config,
    )


def _metadata(found: Json, file: NamedFile) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The metadata of a file, with its name as `filename`. If they exceed a limit, only the name, and a warning."""
    named = {"filename": uris.compose(file.name)} if file.name else {}
    try:
        return metadata_json.to_json({**found, **named}), ()
    except metadata_json.TooLargeError as error:
        return {**named}, (f"metadata {error}: left out",)
