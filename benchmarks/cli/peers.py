"""Implements `peers`: compares Stepwell with other retrieval libraries and engines."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from app import errors, runtime
from app.cli import options, terminal
from app.database.embedded.postgres import EmbeddedPostgres
from app.evaluation import beir
from app.settings import Settings
from benchmarks import folders
from benchmarks.peers import catalogue, comparison, postgres
from benchmarks.peers.comparison import NamedSet, PeerOptions, PeerReport, Workplace
from benchmarks.peers.own import RememberingEmbedder

COLUMNS = {
    "answers_s": "answers/s",
    "embedded_s": "with embedding",
    "p95_ms": "p95 ms",
    "cpu_ms": "CPU ms",
    "mb": "MB",
    "ingest_s": "ingest s",
}


def peers(
    sets: Annotated[
        list[Path] | None, typer.Argument(metavar="FOLDER…", help="Evaluation sets in BEIR layout.")
    ] = None,
    multihop: Annotated[
        list[Path] | None,
        typer.Option(help="A set whose questions need several documents: asked by multi-hop search too."),
    ] = None,
    environments: Annotated[
        Path | None,
        typer.Option(help="Folder for virtual environments with the peers' packages.", show_default="plain SQL only"),
    ] = None,
    only: Annotated[str, typer.Option(help="Peers, separated by commas.", show_default="all")] = "",
    limit: Annotated[int, typer.Option(help="Chunks in an answer.", min=10, max=20)] = 20,
    rounds: Annotated[int, typer.Option(help="Times that each question is asked after the warm-up.", min=1)] = 2,
    turns: Annotated[int, typer.Option(help="Turns of each peer, with all of the above in each.", min=1)] = 1,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", show_default="temporary")] = None,
    markdown: Annotated[Path | None, typer.Option(help="File for the table in Markdown.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Ask Stepwell and its peers the same questions over the same chunks and vectors."""
    folder = environments and environments.absolute()
    chosen = PeerOptions(limit, rounds=rounds, turns=turns, environments=folder, only=_keys(only))
    asked_both = [folder.absolute() for folder in multihop or []]
    every = dict.fromkeys([*(folder.absolute() for folder in sets or []), *asked_both])
    named = [NamedSet(folder.name, beir.load(folder), multihop=folder in asked_both) for folder in every]
    if not named:
        raise errors.BadRequest("Name a folder with an evaluation set.", field="FOLDER")
    with folders.data_dir(data_dir) as data, folders.temporary() as exchanged:
        asked = _run(named, options.settings(data), chosen, exchanged)
        reports, versions, embedding_ms = options.run(asked, loop=uvloop.new_event_loop)
    header, rows = _header(named), list(_rows(reports, named, embedding_ms))
    notes = [*_notes(reports, versions), f"The vector of a question takes {embedding_ms:.1f} ms."]
    if markdown is not None:
        markdown.write_text(_markdown(header, rows, notes), encoding="utf-8")
    if as_json:
        typer.echo(comparison.as_json(reports, embedding_ms))
        return
    table = terminal.table(*header)
    for row in rows:
        table.add_row(*row)
    terminal.print_table(table)
    for line in notes:
        terminal.out.print(line, soft_wrap=True)


def _keys(only: str) -> tuple[str, ...]:
    keys = tuple(key for part in only.split(",") if (key := part.strip()))
    known = [peer.key for peer in catalogue.PEERS]
    if unknown := sorted(set(keys) - set(known)):
        raise errors.BadRequest(f"Unknown: {', '.join(unknown)}. Known peers: {', '.join(known)}.", field="only")
    return keys


async def _run(
    named: Sequence[NamedSet], settings: Settings, chosen: PeerOptions, folder: Path
) -> tuple[list[PeerReport], str, float]:
    server = EmbeddedPostgres(settings.folder)
    async with runtime.open_services(settings) as services, server:
        embedder = RememberingEmbedder.of(services)
        workplace = Workplace(server, services, embedder, folder, chosen)
        reports = await comparison.compare(named, workplace, progress=_show)
        async with postgres.connected(server.dsn(user="postgres", driver="postgresql")) as connection:
            versions = await connection.fetchval(
                "SELECT 'Postgres ' || split_part(current_setting('server_version'), ' ', 1) || ', pgvector ' || "
                "extversion FROM pg_extension WHERE extname = 'vector'"
            )
    return reports, str(versions), statistics.fmean(embedder.took_ms)


def _show(line: str) -> None:
    terminal.err.print(line, soft_wrap=True)


def _header(named: Sequence[NamedSet]) -> list[str]:
    quality = [f"nDCG@10 {each.name}" for each in named]
    return ["", *quality, *(f"R@5 {each.name}" for each in named if each.multihop), *COLUMNS.values()]


def _rows(reports: Sequence[PeerReport], named: Sequence[NamedSet], embedding_ms: float) -> Iterator[list[str]]:
    """Yields a row for each peer that answered."""
    wanted = [(each, "ndcg@10") for each in named] + [(each, "recall@5") for each in named if each.multihop]
    for report in reports:
        if report.failure is None:
            cells = [_cell(report, each, measure) for each, measure in wanted]
            figures = report.figures(embedding_ms)
            yield [report.name, *cells, *(f"{figures[key]:,.1f}" for key in COLUMNS)]


def _cell(report: PeerReport, named: NamedSet, measure: str) -> str:
    measures = report.measures.get(named.name)
    return "–" if measures is None else f"{measures[measure]:.3f}"


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str]) -> str:
    rule = "|" + "---|" + "---:|" * (len(header) - 1)
    lines = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    return "\n".join([lines[0], rule, *lines[1:], "", *(f"- {note}" for note in notes), ""])


def _notes(reports: Sequence[PeerReport], versions: str) -> Iterator[str]:
    yield versions
    for report in reports:
        found = next((result.versions for result in report.results.values()), {})
        named = ", ".join(f"{name} {version}" for name, version in found.items())
        yield f"{report.name}: {report.failure or f'{report.note} ({named})'}"
