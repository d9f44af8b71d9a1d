"""Tables show every value in full in 80 columns."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from rich.console import Console

from app.cli import options
from app.database.calibrations import RelevanceCalibration, StoredCalibration
from app.evaluation.calibrating import Effect, Fitted
from app.evaluation.calibration import Calibration
from app.evaluation.commands import calibrate


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


def test_short_values_leave_room_for_an_id_and_three_other_columns(printed: Console) -> None:
    table = options.table("job", "status", "progress", "created", ids=("job",))
    job_id = str(uuid4())
    table.add_row(options.cell("relink", identity=job_id), "cancelled", "1 of 2 documents", "2026-01-02\n03:04")
    options.print_table(table)
    lines = printed.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert all(any(shown in line for line in lines) for shown in (job_id, "cancelled", "2026-01-02", "1 of 2"))


def test_the_measures_of_a_calibration_have_their_names_in_full(printed: Console) -> None:
    measured = Calibration(12_345, 0.25, 0.0123, 0.1234, 0.1875, 0.9, ())
    stored = StoredCalibration(RelevanceCalibration(), 99, 990, datetime(2026, 1, 2, tzinfo=UTC))
    calibrate._show(Fitted(stored, Effect(measured, measured), Effect(measured, measured)), is_stored=False)
    shown = printed.export_text()
    assert all(f"│ {name}" in shown for name in ("relevance ", "answerable ", "12345 ")), shown
    assert "…" not in shown
