"""Lists the files of a source's folder and compares them with those that are recorded.

A file is unchanged if it has the recorded size and time of change and all of its documents are stored. Any other file
is read, and compared by its hash. A new file with the size and hash of a file that is gone counts as renamed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

from pathspec import PathSpec

from app import errors, limits
from app.concurrency import offload
from app.documents.files import file_reading, folders, left_out_rules
from app.documents.files.left_out_rules import LeftOutCounts
from app.enums import LeftOutReason
from app.sources import source_roots
from app.sources.types import FileFailure, KnownFile, SourceDraft
from app.text import uris

NOTHING_KNOWN: Mapping[str, KnownFile] = MappingProxyType({})
RECENT_NS = 2_000_000_000
"""A file that changed less than this before it was read may change again and keep its time of change."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a folder."""

    path: str
    size: int
    mtime_ns: int


@dataclass(slots=True)
class Scan:
    """The files of a folder by path, what could not be listed, and what is left out.

    `composed` has the paths of the files in NFC, except ASCII paths. It finds two files with names that look the same.
    """

    files: dict[str, FoundFile] = field(default_factory=dict)
    failures: list[FileFailure] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    left_out: LeftOutCounts = field(default_factory=LeftOutCounts)
    composed: set[str] = field(default_factory=set)

    def fail(self, path: str, reason: str) -> None:
        """Add a failure. A path is cut after the bytes of the longest one of a document: a row of an index is short."""
        shown = left_out_rules.show(path).encode()[: limits.MAX_URI].decode(errors="ignore")
        self.failures.append(FileFailure(shown, reason))


@dataclass(slots=True)
class Plan:
    """What is to be done with the files of a source.

    `store` has the paths of files to read. `renamed` has pairs of a file that is gone and its new path. `removed` has
    the other files that are gone, including files without stored documents.
    """

    store: list[str] = field(default_factory=list)
    renamed: list[tuple[KnownFile, str]] = field(default_factory=list)
    removed: list[KnownFile] = field(default_factory=list)
    failures: list[FileFailure] = field(default_factory=list)
    unchanged: int = 0
    left_out: LeftOutCounts = field(default_factory=LeftOutCounts)


def check_globs(patterns: Sequence[str]) -> tuple[str, ...]:
    """Checked patterns. Raises BadRequest."""
    for pattern in patterns:
        if not pattern.strip() or "\n" in pattern or "\0" in pattern or ".." in pattern.split("/"):
            raise errors.BadRequest("Send patterns such as **/*.md, relative to the folder.", field="globs")
    with suppress(ValueError, re.error):
        _matcher(patterns)
        return tuple(patterns)
    raise errors.BadRequest("Not a valid pattern: use *, ** and ?, as in **/*.md.", field="globs")


def literal(name: str) -> str:
    """The pattern that matches only the file of this name, directly in the folder."""
    return "".join(f"\\{character}" if character in "\\*?[]! " else character for character in name)


def scan(
    draft: SourceDraft,
    *,
    taken: Mapping[str, str],
    known: Mapping[str, KnownFile] = NOTHING_KNOWN,
    pictures: bool = False,
) -> Scan:
    """List the files of a source's folder that are read.

    Files in `taken` belong to other sources; the values say why they fail. `known` are the recorded files by path: one
    that is stored is read again, whatever it contains now. `pictures`: whether text in pictures is read.
    """
    folder = Path(draft.path)
    found = Scan()

    def failed(unreadable: Path, error: OSError) -> None:
        path = "" if unreadable == folder else _relative(unreadable, folder)
        found.unreadable.append(path)
        found.fail(path or ".", f"Cannot be read: {error.strerror}.")

    matcher = _matcher(draft.globs)
    for file in folders.files(folder, found.left_out, failed):
        offload.check_stopped()
        path = _relative(file, folder)
        if matcher.match_file(path):
            is_read = path in known and known[path].content_hash is not None
            _add(found, file, path, taken, is_read=is_read, pictures=pictures)
    return found


def compare(draft: SourceDraft, found: Scan, known: Mapping[str, KnownFile], job_id: UUID) -> Plan:
    """Compare the files of a folder with the recorded ones. What `job_id` has done already is left out."""
    failed = {path for path, file in known.items() if file.error is not None and file.job_id == job_id}
    plan = Plan(left_out=found.left_out)
    plan.failures = [failure for failure in found.failures if failure.path not in failed]
    new: list[FoundFile] = []
    for path, file in found.files.items():
        recorded = known.get(path)
        if path in failed:
            continue
        if recorded is None or not recorded.is_stored:
            new.append(file)
        elif recorded.has(recorded.content_hash) and (recorded.size, recorded.mtime_ns) == (file.size, file.mtime_ns):
            plan.unchanged += recorded.job_id != job_id
        else:
            plan.store.append(path)
    present = {*found.files, *(failure.path for failure in found.failures)}
    # A file that was not found may exist in a folder that could not be read.
    unread = tuple(f"{folder}/" if folder else "" for folder in found.unreadable)
    gone = [file for path, file in known.items() if path not in present and not path.startswith(unread)]
    _find_renames(plan, Path(draft.path), gone, new)
    return plan


def content_hash(raw: bytes) -> bytes:
    """The hash by which a file is recognised."""
    return hashlib.sha256(raw).digest()


def recorded_mtime(state: os.stat_result) -> int | None:
    """The file's time of change, to record; None if it is so recent that a later change may leave it the same."""
    return None if time.time_ns() - state.st_mtime_ns < RECENT_NS else state.st_mtime_ns


def _add(found: Scan, file: Path, path: str, taken: Mapping[str, str], *, is_read: bool, pictures: bool) -> None:
    """Add a file as found, failed or left out. With `is_read` its content does not matter."""
    try:
        state = file.lstat()
        reason = _left_out(file, state, is_read=is_read, pictures=pictures)
    except OSError as error:
        found.fail(path, f"{error.strerror}.")
        found.unreadable.append(path)
        return
    if reason is not None:
        found.left_out.add(reason, path)
    elif left_out_rules.show(path) != path:
        found.fail(path, left_out_rules.NOT_UTF8)
    elif len(file.as_uri()) > limits.MAX_URI:
        found.fail(path, "The path of the file is too long.")
    elif (other := taken.get(str(file))) is not None:
        found.fail(path, other)
    elif (composed := uris.compose(path)) in found.composed:
        found.fail(path, "Another file has this name with other Unicode characters.")
    else:
        if not path.isascii():
            found.composed.add(composed)
        found.files[path] = FoundFile(path, state.st_size, state.st_mtime_ns)


def _left_out(file: Path, state: os.stat_result, *, is_read: bool, pictures: bool) -> LeftOutReason | None:
    """Why a file is not read. Raises OSError, also where a part of its path has become a symbolic link."""
    if stat.S_ISLNK(state.st_mode):
        return "link"
    if is_read:
        return None
    head = source_roots.head(file.parent, file.name, file_reading.HEAD)
    return folders.unread(head, state.st_size, file.name, pictures=pictures)


def _find_renames(plan: Plan, folder: Path, gone: Sequence[KnownFile], new: Sequence[FoundFile]) -> None:
    """Pair each new file with a file that is gone and had the same content; the others are added or removed."""
    sizes = {file.size for file in gone}
    by_hash: dict[bytes | None, list[KnownFile]] = defaultdict(list)
    for lost in reversed(gone):
        by_hash[lost.content_hash].append(lost)
    for file in new:
        offload.check_stopped()
        content = _hash(folder, file.path) if file.size in sizes else None
        if content is not None and by_hash[content]:
            plan.renamed.append((by_hash[content].pop(), file.path))
        else:
            plan.store.append(file.path)
    plan.removed = [lost for some in by_hash.values() for lost in some]


def _hash(folder: Path, path: str) -> bytes | None:
    """The hash of a file; None if it cannot be read."""
    try:
        raw, _state = source_roots.read(folder, path)
    except (OSError, errors.BadRequest):
        return None
    return content_hash(raw)


def _matcher(patterns: Sequence[str]) -> PathSpec[Any]:
    return PathSpec.from_lines(folders.GlobPattern, [f"/{pattern.removeprefix('/')}" for pattern in patterns])


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()
