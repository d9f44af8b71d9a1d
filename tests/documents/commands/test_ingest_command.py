"""`stepwell ingest`: which files of folders are read or left out, pages, the progress, and the jobs that follow."""

import asyncio
import errno
import io
import json
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import made_files
import pytest
from fake_provider import FakeProvider
from rich.console import Console

from app.cli import progress
from app.cli.progress import Progress
from app.documents.commands import ingest, ingest_report
from app.documents.commands.ingest_report import Summary
from app.documents.files import file_reading, folders
from app.documents.files.file_reading import NamedFile, ParseLimits
from app.documents.files.left_out_rules import LeftOutCounts
from app.documents.storing import document_drafts

Stepwell = Callable[..., Any]


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def found(folder: Path) -> list[str]:
    summary = Summary()
    return [file.path.relative_to(folder).as_posix() for file in ingest.find([folder], summary)]


COMMON = """
README LICENSE NOTICE AUTHORS CHANGELOG TODO Makefile Dockerfile Jenkinsfile Vagrantfile Procfile Gemfile CODEOWNERS
a.json b.yaml c.yml d.toml e.ini f.cfg g.conf h.log i.xml j.tex k.org l.mdx m.vue n.tf o.diff p.patch q.bib r.adoc
s.properties t.env.example u.service v.gradle w.graphql x.css y.scss z.svelte a.astro b.bat c.nix d.lisp e.clj f.r
g.jl h.f90 i.erl j.cmake k.mk l.srt m.ics n.vcf o.opml p.wiki q.textile r.pem s.unknown t.doc notes.2026-11-24
"""


def test_whatever_is_text_is_read_whatever_its_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        dict.fromkeys(COMMON.split(), "Below the third landing we use lime: \u017clobek, \u65e5\u672c\u8a9e.\n" * 200),
    )
    (tmp_path / "utf-16").write_bytes("Lime mortar sets slowly.".encode("utf-16"))
    (tmp_path / "latin-1").write_bytes("Gr\xfc\xdfe aus K\xf6ln, wo der Kalk langsam trocknet.".encode("latin-1"))
    (tmp_path / "report.doc").write_bytes(made_files.word("Cement."))
    assert found(tmp_path) == sorted([*COMMON.split(), "utf-16", "latin-1", "report.doc"])


def test_each_reason_to_leave_something_out_is_counted_with_examples(tmp_path: Path) -> None:
    texts = ["a.md", "x/e.txt", "build/plan.md", "vendor/contract.md", "dist/a.md", "target/market.md", "go.summary"]
    left_out = {
        "hidden": [".b.md", ".git/", ".obsidian/"],
        "ignored": ["private.md"],
        "vendored": ["node_modules/", "php/vendor/", "py/env/"],
        "generated": ["js/app.min.js", "js/desktop.ini", "js/dist/", "py/__pycache__/", "py/uv.lock"],
        "link": ["broken.md", "linked/"],
        "binary": ["a.png", "b.bin", "c.jar", "d.pyc", "pipe.md"],
        "empty": ["py/__init__.py"],
        "too_large": ["dump.sql"],
    }
    inside = [
        *("c.md", ".git/d.md", ".obsidian/d.md", "node_modules/p/README.md", "php/vendor/autoload.php", ".b.md"),
        *("py/env/pyvenv.cfg", "py/__pycache__/a.txt", "py/uv.lock", "js/desktop.ini", "js/app.min.js", "js/dist/a.js"),
        "private.md",
    ]
    write(
        tmp_path,
        dict.fromkeys([*texts, *inside, "js/package.json"], "Lime.")
        | {".gitignore": "private.md\n", "py/__init__.py": ""},
    )
    for name, raw in {"a.png": b"\x89PNG\r\n", "b.bin": bytes(range(256)), "d.pyc": b"\xa7\r\r\n" + bytes(60)}.items():
        (tmp_path / name).write_bytes(raw)
    (tmp_path / "c.jar").write_bytes(made_files.archive({"photo.jpg": b"x"}))
    (tmp_path / "linked").symlink_to(tmp_path / "x")
    (tmp_path / "broken.md").symlink_to(tmp_path / "nothing.md")
    os.mkfifo(tmp_path / "pipe.md")
    with (tmp_path / "dump.sql").open("wb") as sparse:
        sparse.truncate(50_000_001)
    summary = Summary()
    read = [file.path.relative_to(tmp_path).as_posix() for file in ingest.find([tmp_path], summary)]
    assert read == sorted([*texts, "c.md", "js/package.json"])
    left_out["hidden"] = [".b.md", ".git/", ".gitignore"]
    assert {reason: one["examples"] for reason, one in summary.left_out.as_json().items()} == {
        reason: paths[:3] for reason, paths in left_out.items()
    }
    assert summary.left_out.counts == {reason: len(paths) for reason, paths in left_out.items()} | {"hidden": 4}


def test_what_cannot_be_told_to_be_a_file_or_a_folder_fails_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, dict.fromkeys(["a.md", "closed/b.md", "closed/.hidden.md", "gone.md", "z.md"], "Lime."))

    def lstat(path: Path) -> os.stat_result:
        if path.name == "gone.md":
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        if path.parent.name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied")
        return os.lstat(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    monkeypatch.setattr(Path, "stat", lambda path, **_options: lstat(path))
    summary = Summary()
    assert [file.path.name for file in ingest.find([tmp_path], summary)] == ["a.md", "z.md"]
    assert summary.failures == [(str(tmp_path / "closed/b.md"), "Permission denied")]
    assert summary.left_out.counts == {"hidden": 1}


def test_a_file_whose_name_is_not_utf8_fails_and_its_name_is_shown_as_text(tmp_path: Path) -> None:
    for name in (b"caf\xe9.md", b".caf\xe9.md", "café.md".encode()):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("Lime.")
    summary = Summary()
    assert [file.path.name for file in ingest.find([tmp_path], summary)] == ["café.md"]
    assert summary.failures == [(f"{tmp_path}/caf\\xe9.md", "The name of the file is not valid UTF-8.")]
    assert summary.left_out.examples == {"hidden": [".caf\\xe9.md"]}


def test_pictures_are_read_with_ocr_and_those_of_a_folder_without_text_are_left_out(tmp_path: Path) -> None:
    for name in ("a.png", "b.jpg"):
        (tmp_path / name).write_bytes(b"\x89PNG" + bytes(100))
    summary = Summary()
    listed = ingest.find([tmp_path, tmp_path / "b.jpg"], summary, pictures=True)
    assert [(file.path.name, file.format, file.is_found) for file in listed] == [
        ("a.png", "picture", True),
        ("b.jpg", "picture", False),
    ]
    for file in listed:
        ingest._refuse(file, "no_text", "No text.", summary)
    assert summary.left_out.counts == {"empty": 1}
    assert [Path(path).name for path, _reason in summary.failures] == ["b.jpg"]


def test_a_file_is_read_once_whatever_paths_and_links_lead_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write(tmp_path, {"notes/AGENTS.md": "Lime.", "notes/b.md": "Oak."}))
    Path("notes/CLAUDE.md").symlink_to("AGENTS.md")
    summary = Summary()
    found = ingest.find([Path("notes"), tmp_path / "notes", Path("notes/../notes/b.md")], summary)
    assert [(file.path.name, file.is_found) for file in found] == [("AGENTS.md", True), ("b.md", False)]
    assert (summary.failures, summary.left_out.counts) == ([], {})


def test_warnings_name_a_file_as_the_command_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path, {"notes/a.md": "Lime.", "notes/b#1.csv": "text\nLime.\n"}))
    summary = Summary()
    files = ingest.find([Path("notes")], summary)
    uris = [str(tmp_path.resolve() / "notes" / name) for name in ("a.md", "b#1.csv#row=1")]
    stored = [{"uri": uri, "status": "added", "chunk_count": 1, "warnings": ["Odd."]} for uri in uris]
    ingest._count(ingest._Sent(files, {"documents": stored, "failed": []}), summary)
    assert summary.warnings == [("notes/a.md", "Odd."), ("notes/b#1.csv", "Odd.")]


async def test_a_blank_note_whose_name_has_several_words_is_its_title(tmp_path: Path) -> None:
    write(tmp_path, {"Call the roofer.md": "\n", "index.md": "", "Two words.txt": "", "Landing stage.md": "Lime."})
    assert found(tmp_path) == ["Call the roofer.md", "Landing stage.md"]
    async with file_reading.opened(ParseLimits()) as reader:
        (note,) = [upload async for upload in reader.uploads(NamedFile(b"\n", "Call the roofer.md"))]
    assert (document_drafts.clean(note).title, document_drafts.clean(note).content) == ("Call the roofer", "")


def test_the_files_of_a_postgres_server_are_left_out(tmp_path: Path) -> None:
    names = ["a.md", "data/b.md", "data/postgres/data/PG_VERSION", "data/postgres/data/c.md", "data/postgres/log/d.md"]
    names += ["data/postgres/clients", "data/postgres/lock", "compose/data/PG_VERSION", "compose/e.md"]
    write(tmp_path, dict.fromkeys(names, "Lime."))
    assert found(tmp_path) == ["a.md", "compose/e.md", "data/b.md"]
    summary = Summary()
    inside = [tmp_path / "data" / "postgres" / "log", tmp_path / "data" / "postgres" / "data" / "c.md"]
    assert ingest.find(inside, summary) == []
    assert [reason for _path, reason in summary.failures] == ["It belongs to a Postgres server."] * 2


@pytest.mark.usefixtures("on_embedded")
def test_a_data_folder_inside_the_folder_is_left_out_and_said_to_be(stepwell: Stepwell, data_dir: Path) -> None:
    assert stepwell("db", "check").code == 0  # the embedded server has a folder
    (data_dir.parent / "note.md").write_text("Lime mortar sets slowly.")
    ran = stepwell("ingest", data_dir.parent)
    assert (ran.code, "Left out 1 of a Postgres server: data/postgres/" in ran.err) == (0, True), ran.err
    assert "failed" not in ran.err


def test_gitignore_files_exclude_and_deeper_ones_decide(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "# build output\nbuild/\n*.txt\n/top.md\n!\n[z-a].md\n",
            "docs/.gitignore": "!kept.txt\nprivate.md\n",
            **dict.fromkeys(["build/a.md", "docs/build/b.md", "top.md", "docs/top.md", "c.txt"], "Lime."),
            **dict.fromkeys(["docs/kept.txt", "docs/other.txt", "docs/private.md", "private.md"], "Lime."),
        },
    )
    assert found(tmp_path) == ["docs/kept.txt", "docs/top.md", "private.md"]


def test_the_repositorys_gitignore_applies_to_a_folder_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path,
        {".gitignore": "drafts/\nout/\n", "docs/a.md": "Lime.", "docs/drafts/b.md": "Tuff.", "out/c.md": "Sand."},
    )
    assert found(tmp_path / "docs") == ["a.md", "drafts/b.md"], "no repository"
    (tmp_path / ".git").mkdir()
    assert found(tmp_path / "docs") == ["a.md"]
    assert found(tmp_path / "out") == ["c.md"], "an ignored folder that is named is read"
    monkeypatch.chdir(tmp_path / "docs")
    assert [str(path) for path in folders.files(Path(), LeftOutCounts(), _never)] == ["a.md"]


def test_what_is_left_out_is_shown_by_reason(stepwell: Stepwell, tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "Lime.", "b.png": "\x89PNG", "LICENSE": "Free.", "e.txt": ""})
    for name in ("b", "c", "d", "e"):
        (tmp_path / f"{name}.png").write_bytes(b"\x89PNG\r\n")
    notes: dict[str, bytes | str] = {"sand.md": "Sand.", "picture.png": b"\x89PNG", "z.txt": ""}
    (tmp_path / "notes.zip").write_bytes(made_files.archive(notes))
    user = harness.new_user()
    counted = stepwell("ingest", tmp_path, "--user", user, "--json")
    assert (counted.code, counted.json["added"]) == (0, 3)
    binary = {"count": 5, "examples": ["b.png", "c.png", "d.png"]}
    empty = {"count": 2, "examples": ["e.txt", "notes.zip/z.txt"]}
    assert counted.json["left_out"] == {"binary": binary, "empty": empty}
    shown = stepwell("ingest", tmp_path, "--user", user).err
    assert "Left out 5 neither text nor of a supported format: b.png, c.png, d.png, …" in shown
    assert "Left out 2 without text: e.txt, notes.zip/z.txt" in shown
    (tmp_path / "empty").mkdir()
    assert "No file that can be stored was found." in stepwell("ingest", tmp_path / "empty", "--user", user).err


def test_files_are_sent_in_batches_and_each_file_that_cannot_be_read_is_named(stepwell, tmp_path) -> None:
    write(tmp_path, {f"{number:02}.md": f"Note {number} about lime." for number in range(40)})
    for name in ("05.pdf", "35.pdf", "36.pdf"):
        (tmp_path / name).write_bytes(b"%PDF-1.4 cut")
    (only := tmp_path / "only").mkdir()
    for name in ("a.pdf", "b.pdf"):
        (only / name).write_bytes(b"%PDF-1.4 cut")
    ran = stepwell("ingest", tmp_path, "--user", harness.new_user(), "--json")
    assert (ran.code, ran.json["added"], ran.json["chunks"]) == (1, 40, 40)
    failed = [Path(one["path"]).name for one in ran.json["failures"]]
    assert failed == ["05.pdf", "35.pdf", "36.pdf", "a.pdf", "b.pdf"]
    alone = stepwell("ingest", only, "--user", harness.new_user(), "--json").json
    assert [Path(one["path"]).name for one in alone["failures"]] == ["a.pdf", "b.pdf"]


def test_a_table_of_any_length_is_read(stepwell: Stepwell, tmp_path: Path) -> None:
    rows = ParseLimits().documents + 1
    (tmp_path / "rows.csv").write_text("text\n" + "Lime sets.\n" * rows, encoding="utf-8")
    ran = stepwell("ingest", tmp_path, "--user", harness.new_user(), "--json")
    assert (ran.code, ran.json["added"], ran.json["failures"]) == (0, rows, [])


def test_without_a_terminal_progress_is_a_line_at_most_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    console, written = Console(file=io.StringIO()), threading.Event()
    monkeypatch.setattr(console, "print", lambda line, **_: (console.file.write(line), written.set()))
    with Progress(*ingest.COLUMNS, console=console) as bar:
        bar.add_task("ingest", total=9, read=5, files=10, chunks=0)
        assert console.file.getvalue() == ""
    monkeypatch.setattr(progress, "INTERVAL_S", 0.01)
    with Progress(*ingest.COLUMNS, console=console) as bar:
        bar.add_task("ingest", total=9, read=7, files=31, chunks=1_040)
        assert written.wait(10)
    assert console.file.getvalue().startswith("Storing files 7/31 1,040 chunks -:--:--")


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
    "o.zip": made_files.archive({"oak.md": b"Oak.", "b.pdf": b"%PDF-1.4 cut", "c.zip": made_files.archive({})}),
    "#quay.log": "Lime\u200b sets.".encode(),
    "a#b.csv": "note\nClay\u200b waits.\n".encode(),
}


def test_files_of_every_format_are_ingested_each_failure_is_one_line_and_a_second_time_nothing_changes(
    stepwell: Stepwell, tmp_path: Path
) -> None:
    write(tmp_path, TEXTS)
    for name, raw in BINARY.items():
        (tmp_path / name).write_bytes(raw)
    user = harness.new_user()
    ran = stepwell("ingest", tmp_path, "--text-field", "note", "--user", user, "--json")
    assert (ran.code, ran.json["added"], ran.json["failed"]) == (1, 16, 4)
    failed = [Path(failure["path"]).relative_to(tmp_path).as_posix() for failure in ran.json["failures"]]
    assert failed == ["m.pdf", "n.docx", "o.zip/b.pdf", "o.zip/c.zip"]
    assert [Path(one["path"]).name for one in ran.json["warnings"]] == ["#quay.log", "a#b.csv"]
    again = stepwell("ingest", tmp_path, "--text-field", "note", "--user", user)
    assert again.out.startswith("0 added, 0 replaced, 16 unchanged, 4 failed")
    assert [line.split(" ")[0] for line in again.err.splitlines() if line.strip()].count("failed") == 4
    assert "Traceback" not in again.err
    planned = stepwell("ingest", tmp_path, "--dry-run", "--json", "--user", (other := harness.new_user()))
    assert (planned.code, planned.json["files"]) == (0, 17)
    assert planned.json["formats"]["word"]["files"] == 2
    assert stepwell("documents", "list", "--user", other, "--json").json == []
    shown = stepwell("ingest", tmp_path, "--dry-run", "--user", other)
    assert ("17 files would be read" in shown.out, "CSV, TSV" in shown.err) == (True, True)
    documents = stepwell("documents", "list", "--user", user, "--json").json
    listed = {document["uri"].rpartition("/")[2]: document["title"] for document in documents}
    rows = {"e.csv#id=1", "e.csv#id=2", "f.jsonl#line=1", "k.xlsx#row=2&sheet=Stone", "a#b.csv#row=2", "oak.md"}
    unread = {"e.csv", "f.jsonl", "k.xlsx", "m.pdf", "n.docx", "o.zip", "a#b.csv"}
    assert listed.keys() == {*TEXTS, *BINARY} - unread | rows
    own_titles = {
        "a.md": "a",
        "d.rst": "Slate",
        "g.eml": "Stone",
        "j.pptx": "Plaster",
        "l.epub": "Stone",
        "oak.md": "oak",
    }
    assert listed == {name: own_titles.get(name, re.sub("#(id|line|row)=.*", "", name)) for name in listed}
    (tmp_path / "a.md").write_text("We use cement now.")
    changed = stepwell("ingest", tmp_path / "a.md", tmp_path, "--text-field", "note", "--user", user, "--json").json
    assert (changed["added"], changed["replaced"], changed["unchanged"]) == (0, 1, 15), (
        "a file named twice is read once"
    )


def test_an_address_of_this_machine_fails_and_a_dry_run_fetches_nothing(stepwell: Stepwell) -> None:
    address = "http://127.0.0.1:1/lime.md"
    failed = stepwell("ingest", address, "--json")
    assert failed.code == 1
    assert failed.json["failures"][0]["path"] == address
    assert "not public" in failed.json["failures"][0]["reason"]
    planned = stepwell("ingest", address, "--dry-run", "--json")
    assert (planned.code, planned.json["pages"], planned.json["files"]) == (0, 1, 0)
    assert "format" not in stepwell("ingest", address, "--dry-run").err, "no table without files"


def test_several_refused_rows_of_a_file_are_one_failure() -> None:
    summary = Summary()
    for row in (2, 3, 4):
        summary.refuse("/notes.csv", f"Too long: {row}.")
    summary.refuse("/a.md", "Blank.")
    assert summary.as_json()["failures"] == [
        {"path": "/notes.csv", "reason": "Too long: 2. (3 documents of the file)"},
        {"path": "/a.md", "reason": "Blank."},
    ]


def test_a_warning_on_many_files_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    summary = Summary()
    for number in range(40):
        summary.store(f"{number}.html", "added", 1, [f"Left out as navigation: {number + 1} lines."])
    summary.store("scan.pdf", "added", 1, ["Not read, because they are pictures: page 2."])
    ingest_report.show(summary)
    assert capsys.readouterr().err.splitlines() == [
        "warning Left out as navigation: 40 files, such as 0.html",
        "warning scan.pdf: Not read, because they are pictures: page 2.",
        "With --json all warnings of each file are printed.",
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
