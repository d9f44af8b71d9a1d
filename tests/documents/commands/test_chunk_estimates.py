"""The chunks of files are estimated from their rows and texts, and corrected by those of files that have been read."""

from pathlib import Path

import pytest

from app.documents.commands import ingest
from app.documents.commands.ingest_report import Estimate, ListedFile, Summary

TEXT = b"Lime putty rests below the landing for three months. " * 1_000
FILES = {
    "rows.csv": (b"name,use\n" + b"lime,mortar\n" * 500, 500),
    "lines.jsonl": (b'{"text": "Lime."}\n' * 300, 300),
    "notes.txt": (TEXT, 90),
    "broken.xlsx": (b"PK\x03\x04 broken", 1),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_estimated_from_its_beginning(tmp_path: Path, name: str) -> None:
    raw, chunks = FILES[name]
    (tmp_path / name).write_bytes(raw)
    (file,) = ingest.find([tmp_path], Summary())
    assert file.chunks == pytest.approx(chunks, rel=0.2)


def test_the_estimate_follows_what_the_files_of_a_format_have_become() -> None:
    pages, notes = ([ListedFile(Path(f"{n}"), 9_000, name, 10.0) for n in range(100)] for name in ("html", "text"))
    summary, estimate = Summary(), Estimate([*pages, *notes])
    summary.note([*pages, *notes])
    assert estimate.left(summary.formats) == 2_000
    summary.formats["html"].chunks = 300
    estimate.add(pages[:10])
    assert estimate.left(summary.formats) == pytest.approx(900 * 330 / 130 + 1_000)
    estimate.add(pages[10:])
    estimate.add(notes)
    assert estimate.left(summary.formats) == 0
