"""Writes JSON for the service: ids, times and results of the service may stand in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Any
from uuid import UUID

from pydantic import BaseModel


def encoded(value: Any) -> bytes:
    """JSON in UTF-8. Raises ValueError, TypeError and RecursionError for what JSON cannot express."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode()


def unsendable_field(document: Any) -> str | None:
    """The first field, or key of the metadata, with a value that JSON cannot express; None if there is none."""
    fields = dict(document) if isinstance(document, Mapping) else {}
    metadata = fields.pop("metadata", None)
    if isinstance(metadata, Mapping):
        fields |= {f"metadata.{key}": value for key, value in metadata.items()}
    fields["metadata"] = metadata
    return next((name for name, value in fields.items() if not _is_json(value)), None)


def _is_json(value: Any) -> bool:
    try:
        encoded(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    raise TypeError(f"{type(value).__name__} is not JSON: send a number or a string.")
