"""Tables show every value in full in 80 columns."""

from __future__ import annotations

from uuid import uuid4

import pytest
from rich.console import Console

from app.cli import options


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Console:
    """What commands print on a terminal of 80 columns."""
    recorded = Console(width=80, record=True, highlight=False)
    monkeypatch.setattr(options, "out", recorded)
    return recorded


def test_long_values_wrap_and_ids_stay_whole(printed: Console) -> None:
    table = options.table("document", "chunks", "changed", ids=("document",))
    ids = [str(uuid4()) for _ in range(2)]
    for document_id, title in zip(ids, ("Reset of the Gannet " * 8, "Ω" * 90), strict=True):
        uri = f"file:///srv/notes/{'deep/' * 20}reset.md"
        table.add_row(options.cell(title, uri, identity=document_id), "1,234", options.moment("2026-01-02T03:04:05Z"))
    options.print_table(table)
    lines = printed.export_text().splitlines()
    assert max(map(len, lines)) == 80
    for shown in (*ids, "2026-01-02", "03:04", "1,234"):
        assert any(shown in line for line in lines), shown
    letters = "".join(line.strip("│").partition("│")[0].strip() for line in lines)
    assert (letters.count("Gannet"), letters.count("deep/"), letters.count("Ω")) == (8, 40, 90)
