"""Implements `noise`: gives the documents of an evaluation set random authors, teams, tags, and others on request."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from app.cli import options
from app.evaluation import beir
from benchmarks import noise as noises


class NoiseLevel(StrEnum):
    """Where the names come from: lists of common ones, or the set's own questions."""

    none = "none"
    plain = "plain"
    harsh = "harsh"


def noise(
    folder: Annotated[Path, typer.Argument(help="An evaluation set in BEIR layout.", show_default=False)],
    save: Annotated[Path, typer.Option(help="The folder to write; existing files of the set are replaced.")],
    level: Annotated[
        NoiseLevel,
        typer.Option(help="plain: common names and frequent words; harsh: names and words of the questions."),
    ] = NoiseLevel.plain,
    lower: Annotated[bool, typer.Option("--lower", help="Write the questions in lower case.")] = False,
    organisations: Annotated[
        bool,
        typer.Option("--organisations", help="Also a vendor, client, customer, organisation, company and product."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random names.")] = 0,
) -> None:
    """Copy an evaluation set with random metadata in every document, for `stepwell eval --compare`."""
    loaded = noises.annotated(beir.load(folder), level.value, seed=seed, with_organisations=organisations)
    beir.save(noises.in_lower_case(loaded) if lower else loaded, save)
    options.err.print(f"Wrote {len(loaded.documents)} documents and {len(loaded.questions)} questions to {save}.")
