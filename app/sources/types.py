"""Defines the types of sources: folders whose files are kept as documents."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

from typing_extensions import TypeAliasType

from app import errors
from app.enums import Meaning
from app.text import uris

SourceStatus = TypeAliasType(
    "SourceStatus", Annotated[Literal["added", "changed", "unchanged"], Meaning("Whether a source was new or changed.")]
)
EVERYTHING = ("**/*",)
COUNTED = ("added", "replaced", "renamed", "removed", "unchanged", "failed")
"""What becomes of a file, as a job counts it."""
_NONE = "No folder may be added as a source: set STEPWELL_SOURCE_ROOTS to the folders that are allowed."


@dataclass(frozen=True, slots=True)
class SourceDraft:
    """A source to add.

    `path` is absolute and free of symbolic links. A file belongs to it if its relative path matches one of `globs`.
    `text_field` is the field of records that holds their text. `confined`: the folder must stay one of those that
    sources may be added from over HTTP. `watch`: changes are noticed by events of the file system. `name` is unique
    for the user; None for the name of the folder.
    """

    path: str
    globs: tuple[str, ...] = EVERYTHING
    text_field: str | None = None
    watch: bool = False
    confined: bool = True
    name: str | None = None

    @property
    def folder_name(self) -> str:
        """The name of the folder; for the root of a file system, its path."""
        return uris.compose(Path(self.path).name or self.path)

    @property
    def shown_name(self) -> str:
        """The name by which people refer to the source."""
        return self.name or self.folder_name


@dataclass(frozen=True, slots=True)
class FileFailure:
    """A file that could not be stored as it is, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """A stored source with the latest job that synchronises it, and the result of the latest one that is done.

    `files`, `failed` and `documents` count its stored files, the files that could not be stored, and its documents;
    they are 0 if nothing was counted. `failures` has the first files that could not be stored. `error` is the code of
    the latest job's error, if it did not succeed.
    """

    source_id: UUID
    draft: SourceDraft
    created_at: datetime
    synced_at: datetime | None
    job_id: UUID | None
    result: Mapping[str, Any] = field(default_factory=dict)
    files: int = 0
    failed: int = 0
    documents: int = 0
    failures: Sequence[FileFailure] | None = None
    error: str | None = None

    @property
    def name(self) -> str:
        """The name by which people refer to it."""
        return self.draft.shown_name


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file of a source as its latest job has recorded it.

    `size`, `mtime_ns` and `content_hash` belong to the stored version; None if there is none, or if the file is to be
    read again. `documents` is the number of its documents, `stored` the number of those that still exist.
    """

    path: str
    size: int | None
    mtime_ns: int | None
    content_hash: bytes | None
    documents: int
    error: str | None
    job_id: UUID
    stored: int = 0

    @property
    def is_stored(self) -> bool:
        """Whether a version is recorded. A file that is to be read again counts while it has stored documents."""
        return self.content_hash is not None or self.stored > 0

    def has(self, content_hash: bytes | None) -> bool:
        """Whether all that is in a file with this hash is stored."""
        is_complete = self.stored == self.documents and self.error is None
        return is_complete and content_hash is not None and content_hash == self.content_hash


@dataclass(frozen=True, slots=True)
class SourceRoots:
    """Folders that sources may be added from; with `per_user` only from the subfolder with the name of the user.

    Watched sources are compared with their folders every `watch_interval_s`.
    """

    folders: tuple[Path, ...] = ()
    per_user: bool = False
    watch_interval_s: float = 300.0

    def of(self, user_id: str) -> list[Path]:
        """The folders that a user may add sources from. Raises `folder_not_allowed` if there are none."""
        if not self.folders:
            raise errors.Forbidden(_NONE, field="path", code="folder_not_allowed")
        if not self.per_user:
            return list(self.folders)
        if user_id in (".", "..") or {"/", os.sep} & set(user_id):
            raise errors.Forbidden(
                "The name of this user cannot be the name of a folder.", field="path", code="folder_not_allowed"
            )
        return [folder / user_id for folder in self.folders]
