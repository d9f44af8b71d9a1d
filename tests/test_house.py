"""Does the house still look as its map says?"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import app
from app import config

HOUSE = Path(__file__).parents[1]
ROOMS = HOUSE / "app"
SOURCES = sorted(path for folder in ("app", "benchmarks", "migrations") for path in (HOUSE / folder).rglob("*.py"))
OWN = sorted(
    {*SOURCES, *(HOUSE / "tests").rglob("*.py"), *ROOMS.rglob("*.sql"), *HOUSE.glob("*.md"), *HOUSE.glob("*.toml")}
)
LONGEST_FUNCTION = 60
LONGEST_FILE = 350
MACHINE = re.compile(r"(?<![\w.])/(?:" + "|".join(("work", "root", "Users", "opt/conda")) + r")/[a-z]")


def shown(path: Path) -> str:
    """A path as a test's name."""
    return path.relative_to(HOUSE).as_posix()


def test_the_import_contracts_are_kept() -> None:
    # In a process of its own: it silences every logger that exists already.
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache"]
    ran = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_map_names_every_room_and_file_and_nothing_else() -> None:
    assert app.__doc__ is not None
    drawn = set(re.findall(r"^(?:│   )?[├└]── ([\w.]+/?)", app.__doc__, re.MULTILINE)) - {"sql/"}
    built = {
        path.name + "/" * path.is_dir()
        for path in ROOMS.iterdir()
        if not path.name.startswith(("__pycache__", "__init__")) and (path.suffix == ".py" or any(path.rglob("*.*")))
    }
    assert drawn == built


@pytest.mark.parametrize("path", SOURCES, ids=shown)
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    long = [f"{name}: {lines} lines" for name, lines in _functions(ast.parse(text)) if lines > LONGEST_FUNCTION]
    assert long == []
    if "versions" not in path.parts:
        assert text.count("\n") <= LONGEST_FILE


@pytest.mark.parametrize("path", [path for path in SOURCES if "versions" not in path.parts], ids=shown)
def test_every_file_says_in_its_docstring_what_it_answers(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.name == "__main__.py"


def test_the_configuration_page_has_one_row_for_each_setting() -> None:
    page = (HOUSE / "docs" / "configuration.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    expected = [
        f"| `{variable}` | {f'`{default}`' if default else '–'} | {description} |"
        for variable, default, description in config.Settings().described()
    ]
    assert sorted(rows) == sorted(expected)


def test_every_setting_says_what_it_does() -> None:
    assert all(description.endswith(".") for _variable, _default, description in config.Settings().described())


def test_no_machine_is_named() -> None:
    named = [
        f"{shown(path)}: {match[0]}" for path in OWN for match in MACHINE.finditer(path.read_text(encoding="utf-8"))
    ]
    assert named == []


def test_no_room_is_called_after_nothing() -> None:
    empty = {"utils", "helpers", "common", "core", "services_", "managers", "misc"}
    assert [shown(path) for path in SOURCES if {part.removesuffix(".py") for part in path.parts} & empty] == []


def _functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1
