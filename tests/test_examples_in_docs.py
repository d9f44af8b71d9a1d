"""Tests that the shell and Python examples of the README and the docs run on the sample notes and print what is shown.

The blocks of a page run in their order. A `text` block after one is its output, in which `…` is any text.
"""

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import harness
import pytest

from app.database import transactions
from app.settings import Settings

ROOT = Path(__file__).parents[1]
PAGES = (
    *("README.md", "client/README.md", "docs/agents.md", "docs/documents.md", "docs/entities.md"),
    *("docs/evaluation.md", "docs/filters.md", "docs/multihop.md", "docs/search.md"),
)
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
PROGRAMS = re.compile(
    r"^(?:curl|\.venv/bin/stepwell|import httpx|from stepwell_client import (?:Async)?Client)\b", re.MULTILINE
)
FRAMEWORKS = re.compile(
    r"^from stepwell_client import .*(?:langchain|llamaindex|pydantic_ai|adk|openai_agents)", re.MULTILINE
)
"""Blocks that need a framework, which `make test-adapters` runs."""
FILES = {
    "notes/lime.md": "# Lime mortar\n\nBelow the third landing we use lime mortar, never cement.\n",
    "notes/clay.md": "# Clay\n\nThe sync interval of the clay probes is an hour.\n",
    "people.jsonl": '{"type": "person", "name": "Ana Silva", "role": "architect"}\n',
}


@dataclass(frozen=True, slots=True)
class Example:
    """A block of a page, and the output that the page shows (None: none)."""

    language: str
    text: str
    shown: str | None


@dataclass(frozen=True, slots=True)
class Shell:
    """A folder with the files that the pages mention, as the home and the current folder of every command.

    Commands use the service: what they print is the same, and each starts sooner than with a database.
    """

    folder: Path
    port: int

    async def run(self, example: Example) -> str:
        """The standard output of a block, which must succeed."""
        programs = Path(sys.executable).parent
        text = example.text.replace(":8000", f":{self.port}").replace(".venv/bin/stepwell", "stepwell")
        command = [sys.executable, "-c", text] if example.language == "python" else ["bash", "-euc", text]
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.folder,
            env={
                "PATH": f"{programs}:{os.environ['PATH']}",
                "HOME": str(self.folder),
                "PYTHONPATH": str(ROOT / "client" / "src"),
                "COLUMNS": "120",
                "STEPWELL_URL": f"http://127.0.0.1:{self.port}",
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, out.decode() + err.decode()
        return out.decode()


def examples(page: str) -> list[Example]:
    """The blocks of a page that use the service, and those of the README that use the command line."""
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    found = [Example(language, text, shown or None) for language, text, shown in blocks]
    return [one for one in found if PROGRAMS.search(one.text) and not FRAMEWORKS.search(one.text)]


@pytest.fixture(scope="session")
def template(demo_template: str) -> str:
    """Databases here hold what `stepwell demo` stores."""
    return demo_template


@pytest.fixture
async def shell(new_database, template, offline_embedder, tmp_path) -> AsyncIterator[Shell]:
    """A shell beside a running service with the sample notes."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    shutil.copy(tmp_path / "notes/lime.md", tmp_path / "lime.md")
    address = await new_database(template)
    opened = transactions.connect(address.service_dsn, pool_size=4, pool_wait_s=30.0)
    services = await harness.services(opened, offline_embedder)
    async with harness.running(Settings(auth="none"), services) as app, harness.listening(app) as port:
        yield Shell(tmp_path, port)
    await opened.close()


def matches(shown: str, printed: str) -> bool:
    """Whether output is as it is shown: any text for `…`, any white space for a space, and nothing for a line break."""
    lines = [r"\s+".join(map(re.escape, line.split(" "))) for line in shown.strip().splitlines()]
    place = 0
    for part in r"\s*".join(lines).split("…"):
        found = re.compile(part).search(printed, place)
        if found is None:
            return False
        place = found.end()
    return True


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("page", PAGES)
async def test_the_examples_of_a_page_run_in_order_and_print_what_is_shown(shell: Shell, page: str) -> None:
    found = examples(page)
    assert found
    for example in found:
        printed = await shell.run(example)
        print(example.text, printed, sep="\n")
        assert "urn:stepwell:problem" not in printed, printed
        assert "Nothing found" not in printed, printed
        if example.shown is not None:
            assert matches(example.shown, printed), printed
