"""Finds the files of a folder to read, by the same rules for every way to store a folder.

Names decide first: hidden, vendored and generated files, files that .gitignore excludes, and files of a Postgres server
are left out. Then the content decides, as in an upload: text and documents of a supported format are read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.basic import GitIgnoreBasicPattern
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from app.documents.files import file_reading, left_out_rules
from app.documents.files.left_out_rules import LeftOutCounts
from app.enums import LeftOutReason

Failed = Callable[[Path, OSError], None]
LARGEST_FILE = 50_000_000
"""Bytes of the largest file that is read."""
_STARS = re.compile(r"(?:\[\^/\]\*)+")
_STAR = re.compile(r"\[\^/\]\*((?:\\.|\[\^?\]?[^\]]*\]|[^\\\[\]()*+?|/^$])+?)(?=\[\^/\]\*)", re.DOTALL)
"""A star of a pattern, as pathspec translates it, with what stands between it and the next one in the same name."""
_LEADING, _FOLDERS = "^(?:.+/)?", "(?:/.+)?"
"""The translation of two stars in the place of folders, at the beginning and elsewhere."""


class _Linear:
    """Lets the pattern of a file match in linear time: all but its last star end where what follows is found first.

    A later end would find nothing else. A regular expression that tries all ends takes years for a pattern with
    fifteen stars and a name of eighty characters.
    """

    __slots__ = ()

    @classmethod
    def pattern_to_regex(cls, pattern: Any) -> tuple[Any, bool | None]:
        """The regular expression of a pattern; None for a comment."""
        regex, include = super().pattern_to_regex(pattern)  # type: ignore[misc]
        return (None if regex is None else _make_linear(regex)), include


class GlobPattern(_Linear, GitIgnoreBasicPattern):
    """A pattern of paths."""

    __slots__ = ()


class _RulePattern(_Linear, GitIgnoreSpecPattern):
    """A pattern of a .gitignore file."""

    __slots__ = ()


def _make_linear(regex: str) -> str:
    first, *inner = _STAR.sub(r"(?>[^/]*?\1)", _STARS.sub("[^/]*", regex)).split(_FOLDERS)
    if not inner:
        return first
    if first.startswith(_LEADING):
        first = f"^(?>(?:[^/]+/)*?{first.removeprefix(_LEADING)}(?=/))"
    *between, last = inner
    return first + "".join(f"(?>(?:/[^/]+)*?{part}(?=/))" for part in between) + _FOLDERS + last


@dataclass(frozen=True, slots=True)
class Rules:
    """The patterns of one .gitignore file and the folder that they are relative to."""

    folder: Path
    spec: GitIgnoreSpec

    @classmethod
    def of(cls, folder: Path) -> list[Self]:
        """The rules of a folder's .gitignore; empty if the file is missing or unreadable."""
        try:
            if not (folder / ".gitignore").is_file():
                return []
            lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        valid = []
        for line in lines:
            with suppress(ValueError, re.error):  # git skips an invalid pattern too
                GitIgnoreSpec.from_lines([line], _RulePattern)
                valid.append(line)
        return [cls(_absolute(folder), GitIgnoreSpec.from_lines(valid, _RulePattern))]

    def exclude(self, path: Path, *, is_folder: bool) -> bool | None:
        """Whether the last matching pattern excludes the path; None if no pattern matches."""
        relative = _absolute(path).relative_to(self.folder).as_posix()
        return self.spec.check_file(relative + "/" * is_folder).include


def files(folder: Path, counts: LeftOutCounts, failed: Failed) -> Iterator[Path]:
    """Yields the files under a folder that no rule for names excludes, in order, and counts the others in `counts`.

    `failed` is called for each subfolder that cannot be read, and for what cannot be told to be a file or a folder.
    Symbolic links to folders are not followed. The .gitignore files between the root of the Git repository and the
    folder count, unless they exclude the folder itself.
    """

    waiting = _list(folder, _inherited(folder), failed)
    while waiting:
        entry, rules = waiting.pop()
        mode, failure = _mode(entry)
        is_folder = stat.S_ISDIR(mode)
        if (reason := _excluded_by_name(entry, rules, is_folder=is_folder)) is not None:
            counts.add(reason, entry.relative_to(folder).as_posix() + "/" * is_folder)
        elif failure is not None:
            failed(entry, failure)
        elif is_folder:
            waiting += _list(entry, rules, failed)
        elif stat.S_ISREG(mode):
            yield entry
        elif mode:  # a link to nothing; a pipe, a socket or a device
            counts.add("link" if stat.S_ISLNK(mode) else "binary", entry.relative_to(folder).as_posix())


def _list(inside: Path, inherited: Sequence[Rules], failed: Failed) -> list[tuple[Path, Sequence[Rules]]]:
    """What is in a folder, the last name first, with the rules that apply to it."""
    try:
        entries = sorted(inside.iterdir(), reverse=True)
    except OSError as error:
        failed(inside, error)
        return []
    rules = [*inherited, *Rules.of(inside)]
    return [(entry, rules) for entry in entries]


def _mode(path: Path) -> tuple[int, OSError | None]:
    """The mode of a file, or of what a link leads to, else of the link itself; or 0 and the error, if it is not gone.

    Depending on the version of Python, `is_dir` raises an error or says false.
    """
    try:
        return path.stat().st_mode, None
    except OSError as error:
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return 0, None
        except OSError:
            return 0, error
        return (mode, None) if stat.S_ISLNK(mode) else (0, error)


def unread(head: bytes, size: int, name: str, *, pictures: bool) -> LeftOutReason | None:
    """Why a file of a folder with these first bytes, this size and this name is not read; None if it is read.

    A damaged or protected file is read, so that its failure is reported. `pictures` says whether text in pictures is
    read.
    """
    if size > LARGEST_FILE:
        return "too_large"
    if not size and not file_reading.title_of_blank(name):
        return "empty"
    return None if file_reading.is_readable(head, name, pictures=pictures) else "binary"


def is_in_database(path: Path) -> bool:
    """Whether a path is in, or is, a folder of a Postgres server such as the embedded one."""
    return any(map(_holds_database, (path, *path.parents)))


def _holds_database(folder: Path) -> bool:
    """Whether a folder has a server's data, or is the folder of the embedded server with its logs and sockets."""
    # Methods of Path raise an error if a folder cannot be entered.
    if os.path.isfile(os.path.join(folder, "PG_VERSION")):
        return True
    return all(os.path.isfile(os.path.join(folder, *name)) for name in (["data", "PG_VERSION"], ["clients"], ["lock"]))


def _excluded_by_name(path: Path, rules: Sequence[Rules], *, is_folder: bool) -> LeftOutReason | None:
    """Why a file or folder is left out because of its name; None if it is not."""
    if path.name.startswith("."):
        return "hidden"
    if _exclude(path, rules, is_folder=is_folder):
        return "ignored"
    if not is_folder:
        return left_out_rules.of_file(path.name)
    if path.is_symlink():
        return "link"
    return "database" if _holds_database(path) else left_out_rules.of_folder(path)


def _inherited(folder: Path) -> list[Rules]:
    """The rules of the folders above, from the root of the Git repository down."""
    above = _absolute(folder).parents
    root = next((place for place, parent in enumerate(above) if (parent / ".git").exists()), None)
    if root is None or (folder / ".git").exists():
        return []
    rules = [one for parent in reversed(above[: root + 1]) for one in Rules.of(parent)]
    return [] if _exclude(folder, rules, is_folder=True) else rules


def _exclude(path: Path, rules: Sequence[Rules], *, is_folder: bool) -> bool:
    """Whether a path is excluded. The .gitignore of the deepest folder with a match decides."""
    decisions = (one.exclude(path, is_folder=is_folder) for one in reversed(rules))
    return next((decision for decision in decisions if decision is not None), False)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))
