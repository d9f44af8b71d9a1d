"""Checks and opens ZIP archives, recognises documents in them, and reads and replaces parts of Office files."""

from __future__ import annotations

import io
import posixpath
import re
import stat
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from lxml import etree

from app.errors import UnreadableFile, UnreadableReason
from app.parsing import formats
from app.parsing.formats import FileFormat
from app.parsing.types import InputFile

MAX_ENTRIES = 10_000
MAX_BYTES = 300_000_000
"""Unpacked size of all entries."""
MAX_RATIO = 100
RATIO_FROM = 10_000_000
"""The ratio is checked from this unpacked size on. Small repetitive files compress as well and are harmless."""
PROTECTED = "The file is protected by a password: save it without one."
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_SAFE = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False, "collect_ids": False}
"""How XML is read: ids may have any form; entities are not expanded or loaded."""
_NUMBER = re.compile(r"\d+(?=\.(?:xml|bin)$)")
"""The number of a part. In files of some programs the main part has one: `word/document2.xml`."""
_OLD_FORMATS = {"doc": "word", "ppt": "slides", "xlsx": "sheets"}
"""The library has one name for all spreadsheets of Excel."""
_REMEDIES: dict[str, tuple[UnreadableReason, str]] = {
    "EncryptedPackage": ("encrypted", PROTECTED),
    "__properties_version1.0": ("unsupported_format", "A MSG file of Outlook cannot be read: save it as EML."),
}
"""What to do with a file that has a stream of this name."""


def check(file: InputFile) -> FileFormat:
    """The format of the document in an archive; PACKED for an archive of files.

    An archive of files has the suffix of one, or none. Raises UnreadableFile for any other archive, for a damaged one,
    for entries that are outside of the archive or exceed the limits when unpacked, and for links in a document.
    """
    with open_archive(file.raw) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise UnreadableFile("parse_limit", f"The archive of the file has more than {MAX_ENTRIES:,} entries.")
        check_size(sum(entry.file_size for entry in entries), len(file.raw))
        for entry in entries:
            if entry.flag_bits & 1:
                raise UnreadableFile("encrypted", PROTECTED)
            check_name(entry.filename)
        names = {entry.filename for entry in entries}
        main = {_NUMBER.sub("", name) for name in names}
        mimetype = b""
        if "mimetype" in names and archive.getinfo("mimetype").file_size < 100:
            mimetype = archive.read("mimetype").strip()
        for format in formats.FORMATS:
            if format.entries & main or mimetype in format.mimetypes:
                if any(stat.S_ISLNK(entry.external_attr >> 16) for entry in entries):
                    raise UnreadableFile("damaged", "The archive of the file has links.")
                return format
    if formats.suffix(file.name) in ("", *formats.PACKED.suffixes):
        return formats.PACKED
    raise formats.unsupported()  # such as a package of programs


def check_size(unpacked: int, packed: int) -> None:
    """Raises UnreadableFile for an archive that unpacks to more than the limits."""
    if unpacked > MAX_BYTES or (unpacked > RATIO_FROM and unpacked > MAX_RATIO * packed):
        raise UnreadableFile("parse_limit", "The archive of the file unpacks to more than is allowed.")


def check_name(name: str) -> None:
    """Raises UnreadableFile for the name of an entry that lies outside of its archive."""
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or parts[0] == "":
        raise UnreadableFile("damaged", "The archive of the file has entries outside of it.")


def open_archive(raw: bytes) -> zipfile.ZipFile:
    """An archive. Raises UnreadableFile if it is damaged."""
    try:
        return zipfile.ZipFile(io.BytesIO(raw))
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise UnreadableFile("damaged", "The archive of the file is damaged or incomplete.") from error


def xml(raw: bytes) -> Any:
    """The root of an XML file. Raises XMLSyntaxError."""
    return etree.fromstring(raw, etree.XMLParser(**_SAFE))


def read_xml(raw: bytes, *names: str) -> Iterator[tuple[str, Any]]:
    """The elements with these names, each at its start and its end, while the file is read. Raises XMLSyntaxError."""
    yield from etree.iterparse(io.BytesIO(raw), ("start", "end"), tag=names, **_SAFE)


def replace_parts(raw: bytes, parts: Mapping[str, Any]) -> bytes:
    """The package with other parts, each as XML or as its bytes. The new parts follow the ones that they replace."""
    if not parts:
        return raw
    target = io.BytesIO(raw)
    with warnings.catch_warnings(), zipfile.ZipFile(target, "a") as archive:
        warnings.simplefilter("ignore")  # that the names are there already
        for name, root in parts.items():
            archive.writestr(name, root if isinstance(root, bytes) else etree.tostring(root))
    return target.getvalue()


def words_of(root: Any, name: str) -> str:
    """The text of the first element with this name in any namespace, on one line; empty if there is none."""
    return next(iter(texts_of(root, name)), "")


def texts_of(root: Any, name: str) -> list[str]:
    """The texts of the elements with this name in any namespace, each on one line."""
    return [" ".join((found.text or "").split()) for found in root.iter(f"{{*}}{name}")]


def targets(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Where the relations of a part of an Office file lead: by id, the kind of relation and the other part."""
    folder, _, file = part.rpartition("/")
    name = f"{folder}/_rels/{file}.rels"
    relations = xml(archive.read(name)).iterchildren("{*}Relationship") if name in archive.namelist() else ()
    return {
        one.get("Id"): (
            one.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/"),
        )
        for one in relations
    }


def check_old_office(file: InputFile) -> FileFormat:
    """The format of an Office file before 2007. Raises UnreadableFile, with a remedy, if it cannot be read."""
    import anydoc  # the other formats do not need it

    found = anydoc.format_from_bytes(file.raw)
    if found in _OLD_FORMATS:
        return formats.BY_NAME[_OLD_FORMATS[found]]
    for name, (code, message) in _REMEDIES.items():
        if name.encode("utf-16-le") in file.raw:
            raise UnreadableFile(code, message)
    raise UnreadableFile("damaged", f"The file is damaged, or no document. {formats.unsupported().message}")
