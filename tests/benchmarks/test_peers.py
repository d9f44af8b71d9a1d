"""The comparison asks all peers about the same chunks; one that is not installed is named and not measured."""

import json

import pytest
from harness import services as opened_services

from app.evaluation import beir
from benchmarks.peers import comparison
from benchmarks.peers.comparison import NamedSet, PeerOptions, PeerReport, Workplace
from benchmarks.peers.exchange import Material
from benchmarks.peers.own import RememberingEmbedder
from benchmarks.peers.runners import postgres_sql

TEXTS = ["Lime mortar below the landing.", "The harbour opens at noon.", "Gannets nest on the stack.", "Tide tables."]
NAMED = ("r2r", "ts_rank", "chroma")


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> NamedSet:
    folder = tmp_path_factory.mktemp("set")
    rows = [{"_id": f"d{n}", "title": f"Note {n}", "text": text} for n, text in enumerate(TEXTS)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = [{"_id": "q0", "text": "lime mortar"}, {"_id": "q1", "text": "When does the harbour open?"}]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked), encoding="utf-8")
    (folder / "qrels.tsv").write_text("q0\td0\t1\nq1\td1\t1\n", encoding="utf-8")
    return NamedSet("notes", beir.load(folder), multihop=True)


@pytest.fixture(scope="module")
async def reports(named, server, database, tmp_path_factory) -> dict[str, PeerReport]:
    opened = await opened_services(database)
    folder = tmp_path_factory.mktemp("peers")
    workplace = Workplace(
        server, opened, RememberingEmbedder.of(opened), folder, PeerOptions(limit=10, rounds=1, turns=2, only=NAMED)
    )
    lines: list[str] = []
    found = await comparison.compare([named], workplace, progress=lines.append)
    assert lines[0] == "notes: 4 chunks, 2 questions"
    assert all(line.startswith(f"notes: {report.name}: ") for line, report in zip(lines[1:], found * 2, strict=True))
    assert len(workplace.embedder.took_ms) == 4
    material = Material.load(folder / "0" / "material")
    assert material.documents == ["d0", "d1", "d2", "d3"]
    assert material.chunks[0] == f"Note 0\n{TEXTS[0]}"
    return {report.name: report for report in found}


def test_every_peer_that_runs_finds_the_documents(reports: dict[str, PeerReport]) -> None:
    measured = {name: report.measures["notes"]["recall@5"] for name, report in reports.items() if not report.failure}
    assert set(measured) >= {"Stepwell", "Stepwell, multi-hop", "R2R's hybrid query", "Postgres: ts_rank and pgvector"}
    assert set(measured.values()) == {1.0}


def test_r2r_gives_a_chunk_that_a_leg_lacks_the_last_rank_of_that_leg() -> None:
    # 5 / (50 + rank in the vector leg) + 1 / (50 + rank in the text leg); absent: 2 and 200.
    # Chunk 7: 5/51 + 1/250 = 0.102; chunk 8: 5/52 + 1/250 = 0.100; chunk 9, of the text leg only: 5/52 + 1/51 = 0.116.
    assert postgres_sql.fuse_r2r([{"id": 7}, {"id": 8}], [{"id": 9}], 2) == [9, 7]
