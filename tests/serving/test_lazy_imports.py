"""`stepwell` imports a command's module only when the command runs."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app import __main__ as root
from app import capability

HEAVY = ("sqlalchemy", "asyncpg", "onnxruntime", "tokenizers", "fastapi", "numpy", "httpx", "pydantic_settings")
REPORT = f"""
import sys
from app import __main__ as root
try:
    root.main()
except SystemExit:
    print("\\nimported:", *(name for name in {HEAVY} if name in sys.modules))
"""


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_the_version_and_the_list_of_commands_need_no_heavy_import(arguments: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", REPORT, *arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ran.stdout.splitlines()[-1].split() == ["imported:"]


@pytest.mark.parametrize("name", [name for name, command in capability.commands().items() if not command.is_hidden])
def test_every_listed_command_has_a_help_page(name: str) -> None:
    listed = CliRunner().invoke(root.app, ["--help"], env={"COLUMNS": "200"})
    assert capability.commands()[name].summary in listed.output
    page = CliRunner().invoke(root.app, [name, "--help"])
    assert page.exit_code == 0
    assert f"stepwell {name}" in page.output


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("stepwell job", {"jobs"}),
        ("stepwell jobs ", {"list", "show", "cancel"}),
        ("stepwell search --mod", {"--mode"}),
        ("stepwell search --mode ", {"auto", "hybrid", "semantic", "lexical"}),
    ],
)
def test_the_shell_completes_commands_options_and_values(words: str, completed: set[str]) -> None:
    asked = {"_STEPWELL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert set(CliRunner().invoke(root.app, [], env=asked, prog_name="stepwell").output.split()) == completed
