"""Implements `vector-types`: compares the size, recall and speed of `vector` and `halfvec`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import asyncpg
import typer
from rich.table import Table

from app.cli import options
from app.providers.local import minilm
from app.store.embedded.postgres import EmbeddedPostgres
from benchmarks import folders
from benchmarks import vector_types as comparison
from benchmarks.speed import passages as real_passages
from benchmarks.speed import vectors
from benchmarks.vector_types import LayoutFigures

COLUMNS = ("stored as", "table MB", "index MB", "index s", "recall@20", "exact recall@20", "index ms", "exact ms")


def vector_types(
    count: Annotated[int, typer.Option(help="Stored vectors.", min=1_000)] = 20_000,
    passages: Annotated[
        Path | None,
        typer.Option(help="Source of the vectors: BEIR layout, or .txt and .md files.", show_default="sample notes"),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Compare vectors of 32 and of 16 bits a number: size, recall@20 against the exact order, and speed."""
    texts = real_passages.load(passages)
    with folders.data_dir(data_dir) as chosen:
        chosen.mkdir(parents=True, exist_ok=True)
        folders.open_to_server(chosen)
        measured = options.run(_measured(texts, count, chosen))
    table = Table(*COLUMNS)
    for figures in measured:
        table.add_row(*_row(figures))
    options.out.print(table)


async def _measured(texts: list[str], count: int, data_dir: Path) -> list[LayoutFigures]:
    model = await minilm.load()
    try:
        real = vectors.unit(await model.embed_documents(real_passages.mixed(texts)))
        questions = vectors.unit(await model.embed_documents(real_passages.held_out(texts)))
    finally:
        await model.aclose()
    async with EmbeddedPostgres(data_dir) as server:
        connection = await asyncpg.connect(server.owner_dsn.replace("postgresql+asyncpg", "postgresql"))
        try:
            await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            return await comparison.compare(connection, vectors.mixer(real), questions, count=count)
        finally:
            await connection.close()


def _row(figures: LayoutFigures) -> list[str]:
    return [
        figures.layout,
        *(f"{number:.1f}" for number in (figures.table_mb, figures.index_mb, figures.built_s)),
        f"{figures.recall:.4f}",
        f"{figures.exact_recall:.4f}",
        *(f"{timing.p50:.1f} / {timing.p95:.1f}" for timing in (figures.indexed, figures.exact)),
    ]
