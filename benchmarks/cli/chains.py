"""Implements `chains`: generates the evaluation set of questions whose answers only an identifier links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli import options
from app.evaluation import beir
from benchmarks.chains import generate
from benchmarks.cli.world import Half


def chains(
    half: Annotated[Half, typer.Option(help="Which sentences.")],
    save: Annotated[Path, typer.Option(help="The folder to write; existing files of the set are replaced.")],
    count: Annotated[int, typer.Option("--chains", min=1, max=5_000, help="Number of incidents.")] = generate.CHAINS,
    seed: Annotated[int, typer.Option(help="Another seed gives other names and identifiers.")] = 0,
) -> None:
    """Generate reports, suppliers' pages, runbooks and tickets that share identifiers, for `stepwell eval`."""
    generated = generate.build(half.value, chains=count, seed=seed)
    beir.save(generated, save)
    options.err.print(f"Wrote {len(generated.documents)} documents and {len(generated.questions)} questions to {save}.")
