"""Writes JSON for the service: ids, times and results of the service may stand in it."""

from __future__ import annotations

import json
from datetime import date
from typing import Any
from uuid import UUID

from pydantic import BaseModel


def encoded(value: Any) -> bytes:
    """JSON in UTF-8. Raises ValueError, TypeError and RecursionError for what JSON cannot express."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    raise TypeError(f"{type(value).__name__} is not JSON.")
