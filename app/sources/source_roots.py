"""Decides which folders a user may add as sources, and reads files below a folder without following symbolic links.

Methods of Path such as `exists` raise an error for a name that is too long, and below a folder that cannot be entered.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from app import errors
from app.documents.files.folders import LARGEST_FILE
from app.settings import Settings
from app.sources.types import SourceRoots

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OUTSIDE = "The folder is not in one that is allowed by STEPWELL_SOURCE_ROOTS."


def allowed(path: str, user_id: str, roots: SourceRoots) -> tuple[Path, str | None]:
    """The real folder at a path below the user's roots; for the path of a file, the file's folder and its name.

    A relative path is looked up in each root. Raises `folder_not_allowed`, also if a symbolic link leads out of the
    root, and BadRequest where nothing exists.
    """
    _check_text(path)
    bases = roots.of(user_id)
    given = Path(path)
    for base in bases:
        # A link in the place of the user's own root would lead to the folder of somebody else.
        is_link = roots.per_user and base.name == user_id and os.path.islink(base)
        real = _real(base / given)
        if real.is_relative_to(_real(base)) and os.path.exists(real) and not is_link:
            return _folder(real, base=_real(base))
    is_outside = given.is_absolute() and not any(_real(given).is_relative_to(_real(base)) for base in bases)
    if is_outside or any(os.path.exists(base / given) for base in bases):
        raise errors.Forbidden(_OUTSIDE, field="path", code="folder_not_allowed")
    raise errors.BadRequest("No such folder or file below the allowed folders.", field="path")


def any_folder(path: str) -> tuple[Path, str | None]:
    """Any folder of the machine, as `allowed` returns it. Raises BadRequest where nothing exists."""
    _check_text(path)
    real = _real(Path(os.path.expanduser(path)))
    if not os.path.exists(real):
        raise errors.BadRequest("No such folder or file.", field="path")
    return _folder(real, base=None)


def check(folder: Path, user_id: str, roots: SourceRoots, *, confined: bool, had_files: bool = False) -> None:
    """Raises `source_unavailable` if the folder is gone or became a link, `folder_not_allowed` if it is in no root.

    An empty folder that had files is unavailable too: it is what is left of the folder of a disk that is not mounted.
    """
    is_readable = os.path.realpath(folder) == str(folder) and os.access(folder, os.R_OK | os.X_OK)
    if not is_readable or not os.path.isdir(folder) or (had_files and _is_empty(folder)):
        raise errors.Conflict(
            "The folder of the source is missing or empty, cannot be read, or has been replaced by a symbolic link. "
            "If its files were deleted on purpose, delete the source.",
            code="source_unavailable",
        )
    if confined and not any(folder.is_relative_to(_real(base)) for base in roots.of(user_id)):
        raise errors.Forbidden(_OUTSIDE, code="folder_not_allowed")


def read(folder: Path, path: str) -> tuple[bytes, os.stat_result]:
    """The content of a file below a folder, and its state before it was read.

    Raises OSError, also where any part of the whole path is a symbolic link, and BadRequest for a file that is not
    regular or is too large.
    """
    descriptor = _open(folder, path)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise errors.BadRequest("Not a regular file.")
        if state.st_size > LARGEST_FILE:
            raise errors.BadRequest(f"Larger than {LARGEST_FILE // 1_000_000} MB.")
        with os.fdopen(os.dup(descriptor), "rb") as opened:
            raw = opened.read(LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise errors.BadRequest(f"Larger than {LARGEST_FILE // 1_000_000} MB.")
        return raw, state
    finally:
        os.close(descriptor)


def head(folder: Path, path: str, size: int) -> bytes:
    """The first bytes of a file below a folder. Raises OSError as `read` does."""
    descriptor = _open(folder, path)
    try:
        return os.read(descriptor, size) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)


def _is_empty(folder: Path) -> bool:
    """Whether a folder has no entries. It reads only the first one, because it runs on the event loop."""
    with os.scandir(folder) as entries:
        return next(entries, None) is None


def _open(folder: Path, path: str) -> int:
    """Open each folder of the path in turn, then the file. None of them may be a symbolic link."""
    steps = [*folder.parts[1:], *path.split("/")]
    if not steps or ".." in steps:
        raise OSError(None, "Not a path below the folder")
    current = os.open(folder.anchor, _FOLDER)
    try:
        for step in steps[:-1]:
            inner = os.open(step, _FOLDER, dir_fd=current)
            os.close(current)
            current = inner
        return os.open(steps[-1], _FILE, dir_fd=current)
    finally:
        os.close(current)


def _check_text(path: str) -> None:
    if not path.strip() or "\0" in path or "\n" in path:
        raise errors.BadRequest("Send the path of a folder or a file.", field="path")
    if ".." in Path(path).parts:
        raise errors.BadRequest("Must not contain `..`.", field="path")


def _folder(real: Path, *, base: Path | None) -> tuple[Path, str | None]:
    if os.path.isdir(real):
        return real, None
    if os.path.isfile(real) and real != base:
        return real.parent, real.name
    raise errors.BadRequest("Not a folder or a regular file.", field="path")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def options(settings: Settings) -> SourceRoots:
    """The folders that sources may be added from; with API keys each user has a subfolder of its own."""
    return SourceRoots(
        tuple(Path(root).expanduser() for root in settings.source_roots), per_user=settings.auth == "api_key"
    )
