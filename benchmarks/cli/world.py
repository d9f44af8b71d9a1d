"""Implements `world`: generates the evaluation set about a fictional company."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from app.cli import options
from app.evaluation import beir
from benchmarks.company import generate


class Half(StrEnum):
    """The two companies; they share no name, topic or sentence."""

    train = "train"
    test = "test"


def world(
    half: Annotated[Half, typer.Option(help="Which company.")],
    save: Annotated[Path, typer.Option(help="The folder to write; existing files of the set are replaced.")],
    documents: Annotated[int, typer.Option(min=40, max=50_000, help="Number of documents.")] = generate.DOCUMENTS,
    questions: Annotated[
        int, typer.Option(min=1, max=500, help="Maximum number of questions of each type.")
    ] = generate.QUESTIONS,
    incidental: Annotated[
        bool, typer.Option("--incidental", help="Add names that questions contain but are not about.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Another seed gives another company from the same words.")] = 0,
) -> None:
    """Generate documents, entities and judged questions about a fictional company, for `stepwell eval`."""
    generated = generate.build(
        half.value, documents=documents, questions=questions, seed=seed, incidental_names=incidental
    )
    beir.save(generated, save)
    options.err.print(f"Wrote {len(generated.documents)} documents and {len(generated.questions)} questions to {save}.")
