"""Defines the command line `python -m benchmarks`."""

from __future__ import annotations

import typer

from app import __main__ as root
from benchmarks.cli import (
    ablation,
    attacks,
    bench,
    ingest,
    load,
    peers,
    providers,
    relevance,
    repository,
    soak,
)

app = typer.Typer(
    name="python -m benchmarks",
    help="Measure Stepwell.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("bench")(bench.bench)
app.command("ingest")(ingest.ingest)
app.command("attacks")(attacks.attacks)
app.command("soak")(soak.soak)
app.command("load")(load.load)
app.command("peers")(peers.peers)
app.command("providers")(providers.providers)
app.command("relevance")(relevance.relevance)
app.command("ablation")(ablation.ablation)
app.command("repository")(repository.repository)


def main() -> None:
    """Runs the command line with the error handling of `stepwell`."""
    root.run(app)
