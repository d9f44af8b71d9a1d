"""`stepwell synonyms` stores the groups of a file, prints them in its form, and names the line of a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness

Stepwell = Callable[..., Any]


def test_groups_of_a_file_are_stored_listed_and_removed(stepwell: Stepwell, tmp_path: Path) -> None:
    user, file = ("--user", harness.new_user()), tmp_path / "synonyms.txt"
    file.write_text("# notes\nboiler, furnace\nvehicle => car, lorry\n", "utf-8")
    assert stepwell("synonyms", "set", file, *user).out == "2 groups, 5 words and phrases.\n"
    assert stepwell("synonyms", "list", *user).out == "boiler, furnace\nvehicle => car, lorry\n"
    file.write_text("boiler, furnace\n\nalone\n", "utf-8")
    wrong = stepwell("synonyms", "set", file, *user)
    assert (wrong.code, "(line 3)" in wrong.err) == (2, True)
    assert len(stepwell("synonyms", "list", *user, "--json").json["groups"]) == 2, "nothing was replaced"
    assert stepwell("synonyms", "clear", *user, "--json").json == {"groups": 0, "terms": 0}
    assert stepwell("synonyms", "set", tmp_path / "none", *user).code == 2
