"""An evaluation set is written and read in BEIR layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import errors
from app.evaluation import beir
from benchmarks.company import generate


def test_a_saved_set_is_read_back_equal(tmp_path: Path) -> None:
    tenant = generate.build("test", documents=80, questions=4)
    assert any(question.filters.created_after for question in tenant.questions)
    beir.save(tenant, tmp_path / "set")
    assert beir.load(tmp_path / "set") == tenant


@pytest.mark.parametrize("given", ["yesterday", "2025-03-01T00:00:00"])
def test_an_invalid_date_time_is_rejected_by_name(tmp_path: Path, given: str) -> None:
    beir.save(generate.build("train", documents=40, questions=1), tmp_path)
    (tmp_path / beir.CORPUS).write_text(f'{{"_id": "1", "text": "Lime.", "created_at": "{given}"}}\n', encoding="utf-8")
    with pytest.raises(errors.BadRequest, match=given):
        beir.load(tmp_path)
