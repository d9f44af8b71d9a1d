"""Runs commands in the test process on one data folder per module, whose server stays up between commands."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import server_folders

from app.cli import options, root
from app.store.embedded import postgres


@dataclass(frozen=True, slots=True)
class Ran:
    """The exit status and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output as JSON."""
        return json.loads(self.out)


@pytest.fixture(scope="module")
async def data_dir() -> AsyncIterator[Path]:
    with server_folders.temporary() as folder:
        async with postgres.EmbeddedPostgres(folder / "data", tuning=postgres.SMALL):
            yield folder / "data"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)


@pytest.fixture
def stepwell(data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command as `stepwell …` would."""
    for name in ("DATABASE_URL", "STEPWELL_DATABASE_URL", "AUTH", "STEPWELL_AUTH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STEPWELL_DATA_DIR", str(data_dir))
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["stepwell", *map(str, arguments)])
        capsys.readouterr()
        monkeypatch.setattr(options.err, "quiet", False)
        with pytest.raises(SystemExit) as left:
            root.main()
        said = capsys.readouterr()
        return Ran(int(left.value.code or 0), said.out, said.err)

    return run
