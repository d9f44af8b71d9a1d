"""Fixtures for tests of parsers."""

import itertools
from typing import Any

import pytest
from reading import Read

from app.parsing import completeness, formats, worker
from app.parsing.types import ExtractedDocument, InputFile


@pytest.fixture(scope="session")
def read() -> Read:
    """Reads a file as the process does that parses files. Nothing may be lost without a reason."""

    def documents(raw: bytes, name: str = "", text_field: str | None = None) -> list[ExtractedDocument]:
        found: list[Any] = list(worker.read(InputFile(raw, name, text_field), formats.sniff(raw, name)))
        warnings = itertools.chain.from_iterable(getattr(one, "warnings", ()) for one in found)
        assert not [warning for warning in warnings if warning.startswith((completeness.LOST, completeness.UNKNOWN))]
        return found

    return documents
