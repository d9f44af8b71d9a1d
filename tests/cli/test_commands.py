"""The commands do what they document and report it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import pytest

from app.search import commands as search_commands

Stepwell = Callable[..., Any]
MEASURES = ("ndcg@10", "recall@2", "recall@5", "recall@10", "full_recall@5", "mrr@10", "p50_ms", "p95_ms", "skipped")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with notes, and unsupported files."""
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "lime.md").write_text(
        "---\ntitle: Mortar\nteam: masonry\n---\nBelow the third landing we use lime.", encoding="utf-8"
    )
    (folder / "deep" / "dog.txt").write_text("A dog is a loyal companion that likes walks.", encoding="utf-8")
    (folder / "latin.txt").write_bytes("Café au lait.".encode("latin-1"))
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / ".hidden.md").write_text("Hidden.", encoding="utf-8")
    return folder


def test_a_folder_is_ingested_and_a_second_time_changes_nothing(stepwell: Stepwell, notes: Path) -> None:
    user = harness.new_user()
    first = stepwell("ingest", notes, "--user", user, "--json")
    assert first.code == 0, first.err
    counts = {
        "added": 3,
        "replaced": 0,
        "unchanged": 0,
        "failed": 0,
        "chunks": 3,
        "left_out": {
            "binary": {"count": 1, "examples": ["picture.png"]},
            "hidden": {"count": 1, "examples": [".hidden.md"]},
        },
        "failures": [],
        "warnings": [{"path": str(notes / "latin.txt"), "warning": "not UTF-8: read as Windows-1252"}],
    }
    assert first.json == counts
    again = stepwell("ingest", notes, "--user", user)
    assert again.code == 0
    assert "0 added, 0 replaced, 3 unchanged, 0 failed" in again.out
    (notes / "lime.md").write_text("We use cement now.", encoding="utf-8")
    changed = stepwell("ingest", notes / "lime.md", notes, "--user", user, "--json").json
    assert (changed["added"], changed["replaced"], changed["unchanged"]) == (0, 1, 2)


def test_search_prints_a_table_or_json(stepwell: Stepwell, notes: Path) -> None:
    user = harness.new_user()
    stepwell("ingest", notes, "--user", user)
    table = stepwell("search", "puppies as pets", "--user", user, "--limit", 1)
    assert table.code == 0
    assert "loyal companion" in table.out
    assert " ms" in table.out
    answer = stepwell("search", "lime [red]landing[/]", "--user", user, "--json", "--explain", "--mode", "hybrid").json
    assert answer["results"][0]["title"] == "Mortar"
    assert (answer["explain"]["mode"], answer["explain"]["fusion"]) == ("hybrid", "rrf")
    assert answer["results"][0]["content"] == "Below the third landing we use lime."
    assert "[red]landing[/]" in stepwell("search", "lime [red]landing[/]", "--user", user).out
    assert "Nothing found." in stepwell("search", "lime", "--user", harness.new_user()).out
    of_team = stepwell(
        "search", "pets", "--user", user, "--json", "--filters", '{"metadata": {"team": "masonry"}}'
    ).json
    assert [hit["title"] for hit in of_team["results"]] == ["Mortar"]


def test_a_bad_setting_is_named(stepwell: Stepwell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_POOL_SIZE", "many")
    ran = stepwell("search", "lime")
    assert ran.code == 2
    assert "POOL_SIZE" in ran.err
    assert "many" not in ran.err.replace("how many", "")


def test_the_database_is_upgraded_and_checked(stepwell: Stepwell) -> None:
    upgraded, checked = stepwell("db", "upgrade"), stepwell("db", "check")
    assert (upgraded.code, checked.code) == (0, 0)
    assert "revision" in upgraded.out


def test_an_evaluation_measures_and_embeds_nothing_twice(stepwell: Stepwell, tmp_path: Path) -> None:
    documents = [
        {"_id": "d1", "title": "Mortar", "text": "Below the third landing we use lime mortar."},
        {"_id": "d2", "title": "", "text": "The Gannet buoy reports every eleven minutes.", "year": 2024},
        {"_id": "d3", "title": "Dog", "text": "A dog is a loyal companion."},
        {"_id": "d4", "title": "", "text": "  "},
    ]
    questions = [
        {"_id": "q1", "text": "lime mortar landing"},
        {"_id": "q2", "text": "gannet buoy"},
        {"_id": "q3", "text": "unjudged"},
    ]
    _write_lines(tmp_path / "corpus.jsonl", documents)
    _write_lines(tmp_path / "queries.jsonl", questions)
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\nq2\td4\t1\n", encoding="utf-8"
    )
    first, second = (stepwell("eval", tmp_path, "--json") for _ in range(2))
    assert first.code == 0, first.err
    assert first.json.keys() >= set(MEASURES)
    assert (first.json["skipped"], first.json["documents"], first.json["embedded"]) == (1, 3, 3)
    assert (first.json["mrr@10"], first.json["recall@5"], first.json["full_recall@5"]) == (1.0, 0.75, 0.5)
    assert second.json["embedded"] == 0
    assert {name: second.json[name] for name in MEASURES[:6]} == {name: first.json[name] for name in MEASURES[:6]}
    (tmp_path / "other").mkdir()
    _write_lines(tmp_path / "other" / "queries.jsonl", questions[2:])
    assert stepwell("eval", tmp_path, "--wrong", tmp_path / "other", "--json").json["answerable"]["count"] == 3
    refused = stepwell("eval", tmp_path, "--mode", "two_pass", "--ranking", '{"hierarchy": "off"}')
    assert (refused.code, "guidance" in refused.err) == (2, True)
    (tmp_path / "qrels.tsv").write_text("q1\td1\t1\nq1\td2\tmuch\n", encoding="utf-8")
    broken = stepwell("eval", tmp_path)
    assert broken.code == 2
    assert "Line 2" in broken.err


def test_an_evaluation_names_the_questions_that_entities_help_harm_and_lose(stepwell: Stepwell, tmp_path: Path) -> None:
    about = ["copper", "granite", "willow", "barley", "lantern", "anchor", "saddle", "pottery", "glacier", "violin"]
    tagged = [{"_id": f"t{n}", "text": f"Notes on a {word}.", "author": "Ana Silva"} for n, word in enumerate(about)]
    plain = [{"_id": f"p{n}", "text": f"Ana Silva and a {word} on a shelf."} for n, word in enumerate(about)]
    kiln = {"_id": "kiln", "text": "The lime kiln burns for nine days."}
    _write_lines(tmp_path / "corpus.jsonl", [*tagged, *plain, kiln])
    questions = {"tags": "Ana Silva", "kiln": "lime kiln of Ana Silva", "anchor": "anchor notes of Ana Silva"}
    _write_lines(tmp_path / "queries.jsonl", [{"_id": name, "text": text} for name, text in questions.items()])
    (tmp_path / "qrels.tsv").write_text("tags\tt3\t1\nkiln\tkiln\t1\nanchor\tt5\t1\n", encoding="utf-8")

    def changed(**guidance: object) -> dict[str, list[str]]:
        ranking = json.dumps({"guidance": guidance})
        found = stepwell("eval", tmp_path, "--compare", "--json", "--ranking", ranking).json
        return {name: found[name] for name in ("helped", "harmed", "lost")}

    none: dict[str, list[str]] = {"helped": [], "harmed": [], "lost": []}
    guided = {"helped": ["tags", "anchor"], "harmed": ["kiln"], "lost": ["kiln"]}
    assert changed(mode="force", alpha=0) == guided
    assert changed(mode="force", alpha=1, boost=False) == none
    assert changed(mode="off", boost=False) == none
    boosted = changed(mode="force", alpha=1)
    assert (boosted["helped"], boosted["lost"]) == (["anchor"], []), "the author counts three mentions, the text one"
    shown = stepwell("eval", tmp_path, "--compare", "--ranking", '{"hierarchy": "force", "alpha": 0}').out
    assert "lost against flat" in shown
    assert "1: kiln" in shown


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_the_demo_ingests_the_samples_and_answers_its_questions(stepwell: Stepwell) -> None:
    ran = stepwell("demo", "--no-serve")
    assert ran.code == 0, ran.err
    assert "sample notes" in ran.err
    answers = [line for line in ran.out.splitlines() if line.startswith("Answer")]
    assert [" ".join(one.split()[3:6]) for one in answers] == [
        "D-022: Four nights",
        "ERR_TIDE_4012, identical levels,",
        "Sundays belong to",
    ]
    assert "found through Ines Brandauer (title), which passage 1 names" in ran.out


@pytest.mark.parametrize(
    ("text", "matches", "plain", "marked"),
    [
        ("Lime sets\nslowly, and lime.", [[0, 4], [22, 26]], "Lime sets slowly, and lime.", ["Lime", "lime"]),
        ("Setting\n \nLime\nsets.", [[10, 14]], "Setting  \nLime sets.", ["Lime"]),
    ],
)
def test_matches_are_marked_in_the_sentences(text: str, matches: Any, plain: str, marked: list[str]) -> None:
    shown = search_commands.sentences_of({"snippet": {"text": text, "matches": matches}})
    assert shown.plain == plain
    assert [plain[span.start : span.end] for span in shown.spans] == marked
