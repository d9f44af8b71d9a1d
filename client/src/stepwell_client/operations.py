"""Describes an operation: a request and the type of its response."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID

from stepwell_client import encoding, models, uploading
from stepwell_client.uploading import File

T = TypeVar("T")
API = "/api/rag"


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """A request and the type of its response. `body` is sent as JSON, `content` as it is, `files` and `form` as a form.

    One that is `repeatable` changes nothing more if it is sent twice.
    """

    method: str
    path: str
    response: type[T]
    body: Any = None
    parameters: Mapping[str, Any] | None = None
    files: Sequence[tuple[str, tuple[str, uploading.UploadedFile]]] = ()
    form: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    content: bytes | None = None
    content_type: str = "application/json"

    @property
    def may_be_repeated(self) -> bool:
        """Whether the request may be sent again although it may have been carried out."""
        return self.repeatable or self.method in ("GET", "PUT")


def given(**fields: Any) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def segment(value: UUID | str) -> str:
    """An id or a name as one part of a path: a source may be called `C#`, and `..` would be the part above."""
    return quote(str(value), safe="").replace(".", "%2E")


def add_many(body: bytes) -> Operation[models.DocumentResults]:
    """Store the documents of a JSON array."""
    return Operation("POST", f"{API}/documents", models.DocumentResults, content=body, repeatable=True)


def upload(
    files: Sequence[File], fields: Mapping[str, Any], report: uploading.Progress
) -> Operation[models.DocumentResults]:
    """Store files, which are read while they are sent. Raises OSError."""
    form = {
        name: value if isinstance(value, str) else encoding.encoded(value).decode() for name, value in fields.items()
    }
    parts = uploading.parts(list(files), report)
    return Operation("POST", f"{API}/documents/upload", models.DocumentResults, files=parts, form=form, repeatable=True)


def upsert_entities(entities: Iterable[Mapping[str, Any]]) -> Operation[models.EntityUpserts]:
    """Add or change many entities."""
    lines = b"".join(encoding.encoded(entity) + b"\n" for entity in entities)
    return Operation(
        "POST",
        f"{API}/entities/bulk",
        models.EntityUpserts,
        content=lines,
        content_type="application/x-ndjson",
        repeatable=True,
    )


def set_synonyms(groups: Sequence[Sequence[str] | Mapping[str, Any]]) -> Operation[models.SynonymCounts]:
    """Replace the groups of synonyms."""
    written = [dict(group) if isinstance(group, Mapping) else {"terms": list(group)} for group in groups]
    return Operation("PUT", f"{API}/synonyms", models.SynonymCounts, {"groups": written})
