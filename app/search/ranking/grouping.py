"""Groups hits by document: the best hit of each document represents it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from app.query.types import Hit


def by_document(hits: Iterable[Hit], *, size: int) -> list[Hit]:
    """Returns the first hit of each document, in order; its `more` has up to `size` further hits of the document."""
    groups: dict[UUID, list[Hit]] = {}
    for hit in hits:
        group = groups.setdefault(hit.candidate.document_id, [])
        if len(group) <= size:
            group.append(hit)
    return [replace(best, more=tuple(others)) for best, *others in groups.values()]
