"""Lists the files of a source's folder and compares them with those that are recorded.

A file with the recorded size and time of change is unchanged. One whose time differs is compared by its hash, and so
is a new file of the size of one that is gone: with the same hash it has been renamed.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

from pathspec import PathSpec

from app import errors
from app.pipelines.documents import file_reading
from app.pipelines.sources import folders, source_roots
from app.shapes import FileFailure, KnownFile, LeftOut, LeftOutReason, SourceDraft, limits
from app.text import interruption

NOTHING_KNOWN: Mapping[str, KnownFile] = MappingProxyType({})
RECENT_NS = 2_000_000_000
"""A file that changed less than this before it was read may change again without another time of change."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a folder."""

    path: str
    size: int
    mtime_ns: int


@dataclass(slots=True)
class Scan:
    """The files of a folder by path, what could not be listed, and what is left out.

    `pictures`: whether text in pictures is read.
    """

    files: dict[str, FoundFile] = field(default_factory=dict)
    failures: list[FileFailure] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)
    pictures: bool = False

    def may_have(self, path: str) -> bool:
        """Whether a file that was not found may exist in a folder that could not be read."""
        return any(not folder or path.startswith(f"{folder}/") for folder in self.unreadable)


@dataclass(slots=True)
class Plan:
    """What is to be done with the files of a source, each list by path.

    `touched` are unchanged files with another time of change, `renamed` pairs of the old path and the new file, and
    `forgotten` paths that are recorded without documents and exist no more.
    """

    store: list[FoundFile] = field(default_factory=list)
    renamed: list[tuple[KnownFile, FoundFile]] = field(default_factory=list)
    removed: list[KnownFile] = field(default_factory=list)
    touched: list[KnownFile] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    failures: list[FileFailure] = field(default_factory=list)
    unchanged: int = 0
    left_out: LeftOut = field(default_factory=LeftOut)

    @property
    def total(self) -> int:
        """How many files are to be stored, renamed, removed or recorded as failed."""
        return len(self.store) + len(self.renamed) + len(self.removed) + len(self.failures)


def globs(patterns: Sequence[str]) -> tuple[str, ...]:
    """Checked patterns. Raises BadRequest."""
    for pattern in patterns:
        if not pattern.strip() or "\n" in pattern or "\0" in pattern or ".." in pattern.split("/"):
            raise errors.BadRequest("Send patterns such as **/*.md, relative to the folder.", field="globs")
    with suppress(ValueError):
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
    found = Scan(pictures=pictures)

    def failed(unreadable: Path, error: OSError) -> None:
        path = "" if unreadable == folder else _relative(unreadable, folder)
        found.unreadable.append(path)
        found.failures.append(FileFailure(path or ".", f"The folder cannot be read: {error.strerror}."))

    matcher = _matcher(draft.globs)
    for file in folders.files(folder, found.left_out, failed):
        interruption.point()
        path = _relative(file, folder)
        if not matcher.match_file(path):
            continue
        if file.is_symlink():
            found.left_out.add("link", path)
        else:
            _add(found, file, path, taken, known.get(path))
    return found


def compare(draft: SourceDraft, found: Scan, known: Iterable[KnownFile], job_id: UUID) -> Plan:
    """Compare the files of a folder with the recorded ones. What `job_id` has done already is left out."""
    by_path = {file.path: file for file in known}
    failed = {failure.path for failure in found.failures}
    plan = Plan(left_out=found.left_out)
    plan.failures = [f for f in found.failures if not _has_failed(by_path.get(f.path), job_id)]
    new: list[FoundFile] = []
    for file in found.files.values():
        interruption.point()
        recorded = by_path.get(file.path)
        if recorded is None or recorded.content_hash is None:
            new += [] if _has_failed(recorded, job_id) else [file]
        else:
            _compare_file(plan, Path(draft.path), file, recorded, job_id)
    gone = [f for f in by_path.values() if f.path not in found.files and not found.may_have(f.path)]
    stored = [f for f in gone if f.path not in failed and (f.content_hash is not None or f.stored)]
    plan.forgotten = [f.path for f in gone if f not in stored and f.path not in failed]
    _find_renames(plan, Path(draft.path), stored, new)
    plan.store.sort(key=lambda file: file.path)
    return plan


def content_hash(raw: bytes) -> bytes:
    """The hash by which a file is recognised."""
    return hashlib.sha256(raw).digest()


def recorded_mtime(state: os.stat_result) -> int | None:
    """The time of change to record of a file that was read; None if it is too recent to prove anything later."""
    return None if time.time_ns() - state.st_mtime_ns < RECENT_NS else state.st_mtime_ns


def _add(found: Scan, file: Path, path: str, taken: Mapping[str, str], recorded: KnownFile | None) -> None:
    try:
        state = file.lstat()
        reason = None if _is_stored(recorded) else _unread(file, state.st_size, pictures=found.pictures)
    except OSError as error:
        found.failures.append(FileFailure(path, f"{error.strerror}."))
        found.unreadable.append(path)
        return
    if reason is not None:
        found.left_out.add(reason, path)
    elif not _is_text(path):
        shown = path.encode(errors="surrogateescape").decode(errors="backslashreplace")
        found.failures.append(FileFailure(shown, "The name of the file is not valid UTF-8."))
    elif len(file.as_uri()) > limits.MAX_URI:
        found.failures.append(FileFailure(path[: limits.MAX_URI], "The path of the file is too long."))
    elif (other := taken.get(str(file))) is not None:
        found.failures.append(FileFailure(path, other))
    else:
        found.files[path] = FoundFile(path, state.st_size, state.st_mtime_ns)


def _is_stored(recorded: KnownFile | None) -> bool:
    """Whether a version of a file is stored, which stays if the file cannot be read any more."""
    return recorded is not None and recorded.content_hash is not None


def _unread(file: Path, size: int, *, pictures: bool) -> LeftOutReason | None:
    """Why a file is not read. Raises OSError, also where a part of its path has become a symbolic link."""
    head = source_roots.head(file.parent, file.name, file_reading.HEAD)
    return folders.unread(head, size, file.name, pictures=pictures)


def _compare_file(plan: Plan, folder: Path, file: FoundFile, recorded: KnownFile, job_id: UUID) -> None:
    """Add a stored file to what is to be stored again, or to the unchanged ones."""
    if _has_failed(recorded, job_id):
        return
    done = recorded.job_id == job_id
    complete = recorded.stored == recorded.documents and recorded.error is None
    same = (recorded.size, recorded.mtime_ns) == (file.size, file.mtime_ns)
    if complete and not same and recorded.size == file.size and _hash(folder, file.path) == recorded.content_hash:
        plan.touched.append(replace(recorded, mtime_ns=_settled(file)))
        same = True
    if complete and same:
        plan.unchanged += not done
    else:
        plan.store.append(file)


def _find_renames(plan: Plan, folder: Path, gone: Sequence[KnownFile], new: Sequence[FoundFile]) -> None:
    """Pair each new file with a file that is gone and had the same content; the others are added or removed."""
    sizes = {file.size for file in gone}
    by_hash: dict[bytes, list[KnownFile]] = defaultdict(list)
    for lost in sorted(gone, key=lambda file: file.path, reverse=True):
        if lost.content_hash is not None:
            by_hash[lost.content_hash].append(lost)
    renamed: set[str] = set()
    for file in sorted(new, key=lambda file: file.path):
        interruption.point()
        same = by_hash.get(_hash(folder, file.path) or b"") if file.size in sizes else None
        if same:
            old = same.pop()
            renamed.add(old.path)
            plan.renamed.append((old, file))
        else:
            plan.store.append(file)
    plan.removed = [lost for lost in gone if lost.path not in renamed]


def _hash(folder: Path, path: str) -> bytes | None:
    """The hash of a file; None if it cannot be read."""
    try:
        raw, _state = source_roots.read(folder, path)
    except (OSError, errors.BadRequest):
        return None
    return content_hash(raw)


def _has_failed(recorded: KnownFile | None, job_id: UUID) -> bool:
    return recorded is not None and recorded.error is not None and recorded.job_id == job_id


def _settled(file: FoundFile) -> int | None:
    return None if time.time_ns() - file.mtime_ns < RECENT_NS else file.mtime_ns


def _matcher(patterns: Sequence[str]) -> PathSpec[Any]:
    return PathSpec.from_lines("gitignore", [f"/{pattern.removeprefix('/')}" for pattern in patterns])


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
