"""Opens a folder of synthetic corpora and runs a measurement on the services of one of them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as ProgressBars

from app import runtime
from app.cli import database_as_owner, options, terminal
from app.services import Services
from app.settings import Settings
from benchmarks import folders
from benchmarks.speed import benchmark
from benchmarks.speed.benchmark import Parameters
from benchmarks.speed.corpus import Progress

T = TypeVar("T")
LINE_S = 10.0
"""Time between two lines of progress where the output is redirected."""
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder of the corpora.", show_default="temporary")]
Keep = Annotated[bool, typer.Option("--keep", help="Keep the corpora for another run.")]
Passages = Annotated[
    Path | None,
    typer.Option(help="Source of the vectors: BEIR layout, or .txt and .md files.", show_default="sample notes"),
]


@dataclass(frozen=True, slots=True)
class CorpusServices:
    """The services of the embedded server in a corpus's folder, and the address of its owner."""

    services: Services
    owner_dsn: str
    folder: Path
    progress: Progress


@contextmanager
def opened(data_dir: Path | None, *, keep: bool) -> Iterator[Path]:
    """Yields the folder of the corpora. A temporary one is deleted afterwards, unless `keep`."""
    with ExitStack() as stack:
        if data_dir is None:
            parent = stack.enter_context(folders.temporary(keep=keep))
        else:
            data_dir.mkdir(parents=True, exist_ok=True)
            parent = data_dir.absolute()
        terminal.err.print(f"The corpora are in {parent}.")
        yield parent


def run(
    parameters: Parameters,
    parent: Path,
    measure: Callable[[CorpusServices], Awaitable[T]],
    *,
    keep: bool = False,
) -> T:
    """Returns what `measure` returns. The corpus's folder is deleted afterwards if it is new, unless `keep`.

    A corpus whose building was interrupted lacks indexes, so that no service starts on it: it is built again.
    """
    folder = parent / parameters.name
    existed = (folder / benchmark.RECORD).is_file()
    if folder.exists() and not existed:
        shutil.rmtree(folder)
    if not existed:
        folder.mkdir()
        folders.open_to_server(folder)
    settings = options.settings().model_copy(
        update={"data_dir": folder, "database_url": None, "migration_url": None, "write_timeout_s": 3600.0}
    )
    try:
        return options.run(_run(parameters, settings, folder, measure))
    finally:
        if not (keep or existed):
            shutil.rmtree(folder)


async def _run(
    parameters: Parameters,
    settings: Settings,
    folder: Path,
    measure: Callable[[CorpusServices], Awaitable[T]],
) -> T:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with ProgressBars(*columns, console=terminal.err, transient=True) as bar:
        tasks = {"": bar.add_task(parameters.name, total=None)}
        printed: dict[str, float] = {}

        def show(stage: str, done: int, total: int) -> None:
            if not terminal.err.is_terminal and (done == total or time.monotonic() - printed.get(stage, 0) > LINE_S):
                terminal.err.print(f"{stage}: {done:,} of {total:,}")
                printed[stage] = time.monotonic()
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage)
            bar.update(tasks[stage], completed=done, total=total)

        async with runtime.open_services(settings) as services, database_as_owner.open_dsn(settings) as owner_dsn:
            return await measure(CorpusServices(services, owner_dsn, folder, show))
