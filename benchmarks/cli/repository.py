"""Implements `repository`: measures how well the code and the tables of this repository are found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app import runtime
from app.cli import options
from app.settings import Settings
from benchmarks import folders
from benchmarks.repository import measure
from benchmarks.repository.measure import Corpus, KindFigures

HEADER = ("questions about", "number", "files nDCG@10", "files R@5", "passages R@5", "passages MRR@10")


def repository(
    libraries: Annotated[bool, typer.Option("--libraries", help="Ask 50 questions about installed packages.")] = False,
    as_prose: Annotated[bool, typer.Option("--as-prose", help="Cut code as plain text, not at definitions.")] = False,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Store this repository's code and documentation, and ask 60 questions about code and tables."""
    corpus = measure.libraries() if libraries else measure.repository()
    with folders.data_dir(data_dir) as chosen:
        figures = options.run(_measure(corpus, options.settings(chosen), as_prose=as_prose))
    typer.echo(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    for one in figures:
        means = (one.file_ndcg, one.file_recall, one.passage_recall, one.passage_mrr)
        typer.echo(f"| {one.kind} | {one.questions} | {' | '.join(f'{mean:.3f}' for mean in means)} |")


async def _measure(corpus: Corpus, settings: Settings, *, as_prose: bool) -> list[KindFigures]:
    async with runtime.open_services(settings) as services:
        return await measure.run(corpus, services, as_prose=as_prose)
