"""`stepwell search` prints hits as a table or as JSON, with what matches marked in its sentences."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import pytest

from app.search import commands as search_commands

Stepwell = Callable[..., Any]


def test_search_prints_a_table_or_json(stepwell: Stepwell, tmp_path: Path) -> None:
    user = harness.new_user()
    (tmp_path / "lime.md").write_text("---\ntitle: Mortar\nteam: masonry\n---\nBelow the third landing we use lime.")
    (tmp_path / "dog.txt").write_text("A dog is a loyal companion that likes walks.")
    stepwell("ingest", tmp_path, "--user", user)
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


@pytest.mark.parametrize(
    ("text", "matches", "plain", "marked"),
    [
        ("Lime sets\nslowly, and lime.", [[0, 4], [22, 26]], "Lime sets\nslowly, and lime.", ["Lime", "lime"]),
        ("Setting\n \nLime\nsets.", [[10, 14]], "Setting  \nLime\nsets.", ["Lime"]),
    ],
)
def test_matches_are_marked_in_the_sentences(text: str, matches: Any, plain: str, marked: list[str]) -> None:
    shown = search_commands.sentences_of({"snippet": {"text": text, "matches": matches}})
    assert shown.plain == plain
    assert [plain[span.start : span.end] for span in shown.spans] == marked
