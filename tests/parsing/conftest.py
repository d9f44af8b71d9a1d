"""Fixtures for tests of parsers."""

from __future__ import annotations

import pytest
from reading import Read

from app.parsing import formats, worker
from app.parsing.files import ExtractedDocument, InputFile


@pytest.fixture(scope="session")
def read() -> Read:
    """Reads a file as the process does that parses files."""

    def documents(raw: bytes, name: str = "", text_field: str | None = None) -> list[ExtractedDocument]:
        return list(worker.read(InputFile(raw, name, text_field), formats.sniff(raw, name)))

    return documents
