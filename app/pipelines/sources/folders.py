"""Finds the files of a folder that may be ingested.

They are neither hidden, nor in node_modules, nor excluded by .gitignore, nor files of a Postgres server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pathspec import GitIgnoreSpec

EXCLUDED = frozenset({"node_modules"})


@dataclass(frozen=True, slots=True)
class Rules:
    """The patterns of one .gitignore file and the folder that they are relative to."""

    folder: Path
    spec: GitIgnoreSpec

    @classmethod
    def of(cls, folder: Path) -> list[Self]:
        """The rules of a folder's .gitignore; none where the file is missing or unreadable."""
        try:
            if not (folder / ".gitignore").is_file():
                return []
            lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        valid = []
        for line in lines:
            with suppress(ValueError):  # git skips an invalid pattern, too
                GitIgnoreSpec.from_lines([line])
                valid.append(line)
        return [cls(_absolute(folder), GitIgnoreSpec.from_lines(valid))]

    def exclude(self, path: Path, *, is_folder: bool) -> bool | None:
        """Whether the last matching pattern excludes the path; None where no pattern matches."""
        relative = _absolute(path).relative_to(self.folder).as_posix()
        return self.spec.check_file(relative + "/" * is_folder).include


def files(folder: Path, failed: Callable[[Path, OSError], None]) -> Iterator[Path]:
    """Yields the files under a folder in order, and calls `failed` for each subfolder that cannot be read.

    Symbolic links to folders are not followed. The .gitignore files between the root of the Git repository and the
    folder count, unless they exclude the folder itself.
    """
    yield from _files(folder, _inherited(folder), failed)


def is_in_database(path: Path) -> bool:
    """Whether a path is a folder of a Postgres server, such as the embedded one, or lies in one."""
    return any(map(_holds_database, (path, *path.parents)))


def _holds_database(folder: Path) -> bool:
    """Whether a folder is that of a server's data, or of the embedded server with its logs and sockets."""
    # Not by Path: its methods raise an error where a folder cannot be entered.
    if os.path.isfile(os.path.join(folder, "PG_VERSION")):
        return True
    return all(os.path.isfile(os.path.join(folder, *name)) for name in (["data", "PG_VERSION"], ["clients"], ["lock"]))


def _files(folder: Path, inherited: Sequence[Rules], failed: Callable[[Path, OSError], None]) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        failed(folder, error)
        return
    rules = [*inherited, *Rules.of(folder)]
    for entry in entries:
        is_folder = entry.is_dir()
        if entry.name.startswith(".") or entry.name in EXCLUDED or _excluded(entry, rules, is_folder=is_folder):
            continue
        if not is_folder:
            if entry.is_file():
                yield entry
        elif not entry.is_symlink() and not _holds_database(entry):
            yield from _files(entry, rules, failed)


def _inherited(folder: Path) -> list[Rules]:
    """The rules of the folders above, from the root of the Git repository down."""
    above = _absolute(folder).parents
    root = next((place for place, parent in enumerate(above) if (parent / ".git").exists()), None)
    if root is None or (folder / ".git").exists():
        return []
    rules = [one for parent in reversed(above[: root + 1]) for one in Rules.of(parent)]
    return [] if _excluded(folder, rules, is_folder=True) else rules


def _excluded(path: Path, rules: Sequence[Rules], *, is_folder: bool) -> bool:
    """Whether a path is excluded; the .gitignore of the deepest folder that matches decides."""
    decisions = (one.exclude(path, is_folder=is_folder) for one in reversed(rules))
    return next((decision for decision in decisions if decision is not None), False)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))
