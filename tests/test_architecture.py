"""Checks the source tree against its rules: imports, map, sizes, docstrings, names and settings."""

import ast
import dataclasses
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import app
from app import capability
from app import settings as config

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "app"
SOURCES = sorted(path for folder in ("app", "benchmarks", "migrations") for path in (ROOT / folder).rglob("*.py"))
TEXTS = sorted(
    {*SOURCES, *(ROOT / "tests").rglob("*.py"), *PACKAGE.rglob("*.sql"), *ROOT.glob("*.md"), *ROOT.glob("*.toml")}
)
MAX_FUNCTION_LINES = 60
MAX_PUBLIC_FUNCTIONS = 22
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:" + "|".join(("work", "root", "Users", "opt/conda")) + r")/[a-z]")


@pytest.fixture(scope="module", autouse=True)
def trees() -> Iterator[None]:
    """Forgets the parsed modules after the tests of this module."""
    yield
    parsed.cache_clear()


@cache
def parsed(path: Path) -> ast.Module:
    """Returns the tree of a module, which several tests read."""
    return ast.parse(path.read_text(encoding="utf-8"))


def relative(path: Path) -> str:
    """Returns a path relative to the repository."""
    return path.relative_to(ROOT).as_posix()


def test_the_map_lists_every_package_and_file_of_app() -> None:
    assert app.__doc__ is not None
    listed = set(re.findall(r"^(?:│   )?[├└]── ([\w.]+/?)", app.__doc__, re.MULTILINE))
    existing = {
        path.name + "/" * path.is_dir()
        for path in PACKAGE.iterdir()
        if not path.name.startswith(("__pycache__", "__init__")) and (path.suffix == ".py" or any(path.rglob("*.py")))
    }
    assert listed == existing


def test_everything_that_a_capability_declares_exists() -> None:
    names = {"tags", "commands", "exports", "optional_tools"}
    kinds = {one.name for one in dataclasses.fields(capability.Capability)} - names
    assert all(capability.declared(kind) is not None for kind in kinds)
    assert all(capability.load(command.place) for command in capability.commands().values())
    assert {tool.name for tools in capability.declared("tools") for tool in tools} >= set(capability.optional_tools())


def test_functions_are_short_and_a_module_offers_few_of_them_and_begins_with_a_statement() -> None:
    assert [f"{relative(path)}: {fault}" for path in SOURCES for fault in _faults(path)] == []


def _faults(path: Path) -> Iterator[str]:
    tree = parsed(path)
    for name, lines in _functions(tree):
        if lines > MAX_FUNCTION_LINES:
            yield f"{name} has {lines} lines"
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    if sum(not node.name.startswith("_") for node in functions) > MAX_PUBLIC_FUNCTIONS:
        yield "offers many functions"
    opening = (ast.get_docstring(tree) or "").partition("\n")[0]
    if "versions" not in path.parts and not opening.endswith("."):
        yield "its docstring begins with no statement"


def test_the_reference_has_one_row_for_each_setting() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if re.match(r"\| `[A-Z_]+` \|", line)]
    expected = [
        f"| `{variable}` | {f'`{default}`' if default else '–'} | {description} |"
        for variable, default, description in config.Settings().described()
    ]
    assert sorted(rows) == sorted(expected)


def test_the_example_of_the_environment_has_ten_settings_with_their_descriptions_and_defaults() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    entries = [
        "".join(f"# {line}\n" for line in textwrap.wrap(description, 118)) + f"#{variable}={default}\n"
        for variable, default, description in config.Settings().described()
    ]
    assert len([entry for entry in entries if entry in example]) == 10
    listed = re.findall(r"^#?([A-Z_]+)=", example, re.MULTILINE)
    assert {*config.OTHER_VARIABLES} < {*listed}
    assert len(listed) == 10 + len(config.OTHER_VARIABLES)


def test_there_are_at_most_fifty_settings() -> None:
    assert len(config.Settings.model_fields) <= 50


def test_no_file_contains_a_path_of_a_machine() -> None:
    found = [
        f"{relative(path)}: {match[0]}"
        for path in TEXTS
        for match in MACHINE_PATH.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_no_module_has_a_name_without_meaning() -> None:
    banned = {"utils", "helpers", "common", "core", "shared", "running", "managers", "misc"}
    found = [relative(path) for path in SOURCES]
    assert [name for name in found if banned.intersection(name.removesuffix(".py").split("/"))] == []


def test_no_class_name_is_defined_twice_in_app() -> None:
    defined: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name, []).append(relative(path))
    assert {name: paths for name, paths in defined.items() if len(paths) > 1} == {}


def test_private_modules_of_other_packages_are_imported_in_one_module_each() -> None:
    importing: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for name in _imported(parsed(path)):
            package, *inner = name.split(".")
            is_private = any(part.startswith("_") and not part.startswith("__") for part in inner)
            if package != "app" and (is_private or name.startswith("uvicorn.protocols.")):
                importing.setdefault(package, set()).add(relative(path))
    assert importing == {
        "fastapi": {"app/http/bodies.py"},
        "ftfy": {"app/text/words/cleaning.py"},
        "uvicorn": {"app/http/connections.py"},
    }


def test_no_module_imports_a_private_name_of_another() -> None:
    found = [
        f"{relative(path)}: {name}"
        for path in SOURCES
        for name in _imported(parsed(path))
        if name.startswith(("app.", "benchmarks.")) and any(_is_private(part) for part in name.split("."))
    ]
    assert found == []


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1
