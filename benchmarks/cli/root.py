"""Defines the command line `python -m benchmarks`."""

from __future__ import annotations

import typer

from app.cli import root
from benchmarks.cli import (
    answers,
    attacks,
    audiences,
    bench,
    bm25,
    chains,
    chunk_sizes,
    citus,
    guided,
    ingest,
    load,
    noise,
    ocr,
    peers,
    providers,
    relevance,
    repository,
    soak,
    standby,
    synonyms,
    tenants,
    vector_types,
    volumes,
    why,
    world,
)

app = typer.Typer(
    name="python -m benchmarks",
    help="Measure Stepwell and generate evaluation data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("bench")(bench.bench)
app.command("world")(world.world)
app.command("noise")(noise.noise)
app.command("chains")(chains.chains)
app.command("bm25")(bm25.bm25)
app.command("ocr")(ocr.ocr)
app.command("ingest")(ingest.ingest)
app.command("chunk-sizes")(chunk_sizes.chunk_sizes)
app.command("volumes")(volumes.volumes)
app.command("citus")(citus.citus)
app.command("attacks")(attacks.attacks)
app.command("soak")(soak.soak)
app.command("load")(load.load)
app.command("answers")(answers.answers)
app.command("audiences")(audiences.audiences)
app.command("peers")(peers.peers)
app.command("providers")(providers.providers)
app.command("outage")(providers.outage)
app.command("why")(why.why)
app.command("guided")(guided.guided)
app.command("synonyms")(synonyms.synonyms)
app.command("relevance")(relevance.relevance)
app.command("repository")(repository.repository)
app.command("vector-types")(vector_types.vector_types)
app.command("standby")(standby.standby)
app.command("tenants")(tenants.tenants)


def main() -> None:
    """Runs the command line with the error handling of `stepwell`."""
    root.run(app)
