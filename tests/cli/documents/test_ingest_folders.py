"""`stepwell ingest` on folders: which files are read, what is skipped, the progress, and the jobs that complete it."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import harness
import made_files
import pytest
from fake_provider import FakeProvider
from rich.progress import Progress
from watchfiles import Change

from app.cli.documents import ingest
from app.cli.documents.ingest import Chunks
from app.pipelines.sources import folders, source_watch
from app.shapes import IngestResult, Upload

Stepwell = Callable[..., Any]


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def found(folder: Path) -> list[str]:
    summary = ingest.Summary()
    return [path.relative_to(folder).as_posix() for path in ingest.find([folder], summary)]


def test_hidden_files_and_folders_and_node_modules_are_skipped(tmp_path: Path) -> None:
    names = [
        "a.md",
        ".b.md",
        ".git/c.md",
        ".obsidian/d.md",
        "node_modules/p/README.md",
        "x/node_modules/q.md",
        "x/e.txt",
    ]
    write(tmp_path, dict.fromkeys(names, "Lime."))
    assert found(tmp_path) == ["a.md", "x/e.txt"]


def test_the_files_of_a_postgres_server_are_left_out(tmp_path: Path) -> None:
    names = ["a.md", "data/b.md", "data/postgres/data/PG_VERSION", "data/postgres/data/c.md", "data/postgres/log/d.md"]
    names += ["data/postgres/clients", "data/postgres/lock", "compose/data/PG_VERSION", "compose/e.md"]
    write(tmp_path, dict.fromkeys(names, "Lime."))
    assert found(tmp_path) == ["a.md", "compose/e.md", "data/b.md"]
    summary = ingest.Summary()
    inside = [tmp_path / "data" / "postgres" / "log", tmp_path / "data" / "postgres" / "data" / "c.md"]
    assert ingest.find(inside, summary) == []
    assert [reason for _path, reason in summary.failures] == ["It belongs to a Postgres server."] * 2
    for name, relevant in (("data/b.md", True), ("data/postgres/log/d.md", False)):
        assert source_watch.is_relevant(Change.modified, str(tmp_path / name)) is relevant


def test_a_data_folder_inside_the_folder_is_left_out_with_a_note(stepwell: Stepwell, data_dir: Path) -> None:
    (data_dir.parent / "note.md").write_text("Lime mortar sets slowly.")
    for command in (["ingest"], ["sources", "add"]):
        ran = stepwell(*command, data_dir.parent)
        assert (ran.code, f"Left out the database in {data_dir}." in ran.err) == (0, True), ran.err
        assert "failed" not in ran.err
        ran = stepwell(*command, data_dir / "postgres")
        assert ran.code != 0
        assert "Postgres server" in " ".join(ran.err.split())


def test_gitignore_files_exclude_and_deeper_ones_decide(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "# build output\nbuild/\n*.txt\n/top.md\n!\n",
            "build/a.md": "",
            "docs/build/b.md": "",
            "top.md": "",
            "docs/top.md": "",
            "c.txt": "",
            "docs/.gitignore": "!kept.txt\nprivate.md\n",
            "docs/kept.txt": "",
            "docs/other.txt": "",
            "docs/private.md": "",
            "private.md": "",
        },
    )
    assert found(tmp_path) == ["docs/kept.txt", "docs/top.md", "private.md"]


def test_the_repositorys_gitignore_applies_to_a_folder_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {".gitignore": "drafts/\nout/\n", "docs/a.md": "", "docs/drafts/b.md": "", "out/c.md": ""})
    assert found(tmp_path / "docs") == ["a.md", "drafts/b.md"], "no repository"
    (tmp_path / ".git").mkdir()
    assert found(tmp_path / "docs") == ["a.md"]
    assert found(tmp_path / "out") == ["c.md"], "an ignored folder that is named is read"
    monkeypatch.chdir(tmp_path / "docs")
    assert [str(path) for path in folders.files(Path(), _never)] == ["a.md"]


def test_unsupported_files_are_counted_once_for_each_suffix(stepwell: Stepwell, tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "Lime.", "b.png": "", "c.PNG": "", "d.zip": "", "LICENSE": ""})
    user = harness.new_user()
    counted = stepwell("ingest", tmp_path, "--user", user, "--json")
    assert (counted.code, counted.json["unsupported"]) == (0, {"": 1, ".zip": 1, ".png": 2})
    shown = stepwell("ingest", tmp_path, "--user", user).err
    assert "Skipped 2 .png files: the format is not supported." in shown
    assert "Skipped 1 files without a suffix: the format is not supported." in shown
    assert shown.count("Skipped") == 3


def test_progress_is_in_chunks_and_moves_while_a_large_document_is_embedded() -> None:
    with Progress(console=_console(), auto_refresh=False) as bar:
        chunks = Chunks(bar, total_bytes=6_000)
        (task,) = bar.tasks
        assert (task.completed, task.total) == (0, 10)
        chunks.embedded(4)
        assert task.completed == 4
        chunks.stored(_upload(3_000), _stored(chunks=6, embedded=4))
        assert (task.completed, task.total) == (6, 12), "as many chunks in the other half"
        chunks.embedded(1)
        assert task.completed == 7
        chunks.stored(_upload(2_000), _stored(chunks=1, embedded=1))
        chunks.finish()
        assert (task.completed, task.total) == (7, 7)


def _console() -> Any:
    from rich.console import Console

    return Console(file=io.StringIO())


def _upload(size: int) -> Upload:
    return Upload("x" * size)


def _stored(*, chunks: int, embedded: int) -> IngestResult:
    return IngestResult(uuid4(), "added", None, "", chunks, embedded)


def _never(path: Path, error: OSError) -> None:
    raise error


TEXTS = {
    "a.md": "Lime.",
    "b.py": "def stir(): ...",
    "c.html": "<html><p>Clay pipes.</p></html>",
    "d.rst": "Slate\n=====\n\nIt splits.",
    "e.csv": "id,note\n1,Tuff.\n2,Chalk.",
    "f.jsonl": '{"note": "Flint."}',
    "g.eml": "From: ana@example.org\nSubject: Stone\n\nGranite.",
}
BINARY = {
    "h.pdf": made_files.pdf([["Sharp sand."]]),
    "i.docx": made_files.word("Cement."),
    "j.pptx": made_files.slides(("Plaster", ["Gypsum."], "")),
    "k.xlsx": made_files.sheets({"Stone": [["note"], ["Marble."]]}),
    "l.epub": made_files.book({"one.xhtml": "<html><body><p>Basalt.</p></body></html>"}, title="Stone", author="Ana"),
    "m.pdf": made_files.image_only_pdf(),
    "n.docx": b"PK\x03\x04 broken",
}


def test_files_of_every_format_are_ingested_and_each_failure_is_one_line(stepwell: Stepwell, tmp_path: Path) -> None:
    write(tmp_path, TEXTS)
    for name, raw in BINARY.items():
        (tmp_path / name).write_bytes(raw)
    user = harness.new_user()
    ran = stepwell("ingest", tmp_path, "--text-field", "note", "--user", user, "--json")
    assert (ran.code, ran.json["added"], ran.json["failed"]) == (1, 13, 2)
    assert [Path(failure["path"]).name for failure in ran.json["failures"]] == ["m.pdf", "n.docx"]
    again = stepwell("ingest", tmp_path, "--text-field", "note", "--user", user)
    assert again.out.startswith("0 added, 0 replaced, 13 unchanged, 2 failed")
    assert [line.split(" ")[0] for line in again.err.splitlines() if line.strip()].count("failed") == 2
    assert "Traceback" not in again.err
    documents = stepwell("documents", "list", "--user", user, "--json").json
    listed = {document["uri"].rpartition("/")[2]: document["title"] for document in documents}
    assert listed.keys() == {
        *TEXTS,
        *BINARY,
        "e.csv#id=1",
        "e.csv#id=2",
        "f.jsonl#line=1",
        "k.xlsx#row=2&sheet=Stone",
    } - {*("e.csv", "f.jsonl", "k.xlsx", "m.pdf", "n.docx")}
    own_titles = {"d.rst": "Slate", "g.eml": "Stone", "l.epub": "Stone"}
    assert listed == {name: own_titles.get(name, name.partition("#")[0]) for name in listed}


def test_several_refused_rows_of_a_file_are_one_failure() -> None:
    summary = ingest.Summary()
    for row in (2, 3, 4):
        summary.refuse(Upload("x", uri=f"file:///notes.csv#row={row}"), "Too long.")
    summary.refuse(Upload("x", uri="file:///a.md"), "Blank.")
    assert summary.as_json()["failures"] == [
        {"path": "file:///notes.csv", "reason": "Too long. (3 documents of the file)"},
        {"path": "file:///a.md", "reason": "Blank."},
    ]


async def test_entities_are_extracted_before_the_command_ends_or_it_says_how_many_documents_wait(
    stepwell: Stepwell, provider: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"": "openai", "_URL": provider.url, "_MODEL": "tiny", "_ENTITIES": "true"}.items():
        monkeypatch.setenv(f"STEPWELL_LLM{name}", value)
    (tmp_path / "note.txt").write_text("Ana Silva met lundby ab about the landing.", encoding="utf-8")
    (tmp_path / "other.txt").write_text("Below the landing lundby ab uses lime.", encoding="utf-8")
    ingest = ("ingest", tmp_path, "--user", (user := harness.new_user()))
    provider.openai(json.dumps({"entities": [{"type": "vendor", "name": "Lundby AB"}]}))
    ran = await asyncio.to_thread(stepwell, *ingest)
    assert (ran.code, len(provider.requests), "that wait" in ran.err) == (0, 2, False)
    listed = (await asyncio.to_thread(stepwell, "entities", "list", "--user", user, "--json")).json
    assert ("Lundby AB", "vendor") in {(one["name"], one["type"]) for one in listed}

    provider.misbehave("unauthorized")
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"Lundby ab, note {name}.", encoding="utf-8")
    ran = await asyncio.to_thread(stepwell, *ingest, "--json")
    assert (ran.code, ran.json["added"]) == (0, 2)
    assert "Documents that wait for the language model: 2." in ran.err
    assert len(provider.requests) == 3, "a model that refuses is not asked about each document"
