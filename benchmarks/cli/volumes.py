"""Implements `volumes`: measures flat and multi-hop search on documents bound into volumes with headings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app import runtime
from app.cli import options
from app.config import Settings
from app.evaluation import beir
from app.evaluation.runner import Tenant
from benchmarks import folders
from benchmarks.volumes import Binding, bind, measure


def volumes(
    sets: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Evaluation sets in BEIR layout.")],
    size: Annotated[int, typer.Option(help="Sections per volume.", min=1)] = 8,
    parts: Annotated[bool, typer.Option("--parts", help="Split each section under two frequent headings.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random order.")] = 0,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
) -> None:
    """Measure how well titles work as headings: each document becomes a section of a volume."""
    with folders.data_dir(data_dir) as chosen:
        options.run(_measure(sets, Binding(size, parts, seed), options.settings(chosen)))


async def _measure(sets: list[Path], binding: Binding, settings: Settings) -> None:
    async with runtime.open_services(settings) as services:
        for folder in sets:
            loaded = beir.load(folder)
            bound = bind(loaded, binding)
            user_id = Tenant.of(f"{folder.name} bound {binding}").user_id
            options.out.print(f"{folder.name}, {binding.size} per volume{', in parts' if binding.parts else ''}")
            for mode, means in (await measure(loaded, bound, user_id, services)).items():
                options.out.print(f"  {mode}: " + ", ".join(f"{name} {value:.3f}" for name, value in means.items()))
