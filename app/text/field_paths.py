"""Writes the path of a field of a request, such as `filters.document_ids[3]`."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


def path_of(steps: Sequence[str | int], *, otherwise: str = "body") -> str:
    """`("filters", "document_ids", 3)` as `filters.document_ids[3]`, at most 160 characters.

    It contains only identifiers: any other key of the request is replaced by `(key)`.
    """
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{_safe_name(step)}" for step in steps)
    return path.lstrip(".")[:160] or otherwise


def _safe_name(step: str) -> str:
    return step if _NAME.fullmatch(step) else "(key)"
