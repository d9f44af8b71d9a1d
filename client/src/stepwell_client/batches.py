"""Cuts documents into batches that the service takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stepwell_client.models import DocumentFailure

SIZE = 100
MAX_CHARACTERS = 8_000_000
"""Characters of the texts of a batch, unless one document has more."""


def of(documents: Iterable[Mapping[str, Any]], size: int) -> Iterator[list[Mapping[str, Any]]]:
    """The documents in lists of at most `size`."""
    batch: list[Mapping[str, Any]] = []
    characters = 0
    for document in documents:
        length = len(document.get("content", ""))
        if batch and (len(batch) >= size or characters + length > MAX_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(document)
        characters += length
    if batch:
        yield batch


def moved(failures: Iterable[DocumentFailure], by: int) -> list[DocumentFailure]:
    """The failures of a batch with the indexes that its documents have among all."""
    return [failure.model_copy(update={"index": failure.index + by}) for failure in failures]
