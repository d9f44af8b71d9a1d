"""The files of the benchmark of ingest hold little text, and its figures are computed from the rounds and samples."""

from __future__ import annotations

from pathlib import Path

from app.parsing import formats, worker
from app.parsing.files import InputFile
from benchmarks import pairs
from benchmarks.ingest import memory
from benchmarks.ingest.memory import MemoryCurve
from benchmarks.ingest.speed import Rate, SpeedComparison


def test_a_file_of_the_folder_is_a_document_with_a_fiftieth_of_text(tmp_path: Path) -> None:
    memory._fill(tmp_path, 2)
    raw = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert all(abs(len(each) - memory.FILE_BYTES) < 0.1 * memory.FILE_BYTES for each in raw)
    texts = [
        document.text
        for each in raw
        for document in worker.read(InputFile(each, "a.docx"), formats.sniff(each, "a.docx"))
    ]
    assert len(set(texts)) == 2
    assert all(0.8 < len(text) * memory.TEXT_SHARE / memory.FILE_BYTES < 1.2 for text in texts)


def test_a_curve_shows_the_largest_sample_of_each_part_of_the_time() -> None:
    curve = MemoryCurve(10, [11, 15, 12, 13, 30, 14])
    assert curve.at(3) == [15, 13, 30]
    assert curve.at(10) == curve.sampled
    assert curve.grown == 20


def test_the_share_of_the_models_speed_is_the_median_of_the_rounds() -> None:
    model = [Rate(1, 1, seconds, 1) for seconds in (9.0, 9.0, 9.0)]
    stored = [Rate(1, 1, seconds, 2) for seconds in (10.0, 18.0, 9.0)]
    compared = SpeedComparison(model, stored)
    assert (compared.of_model, compared.of_model_by_cpu) == (0.9, 0.5)


def test_the_interval_of_a_ratio_leaves_out_as_many_pairs_as_a_binomial_distribution_allows() -> None:
    first, later = [10.0] * 10, [float(number) for number in range(11, 21)]
    assert str(pairs.ratio(later, first)) == "1.55 [1.20, 1.90]"
    assert str(pairs.ratio(later[:3], first[:3])) == "1.20"
    turns = [(number, path.name) for number, path in pairs.alternating([Path("a"), Path("b")], 2)]
    assert turns == [(0, "a"), (0, "b"), (1, "b"), (1, "a")]
