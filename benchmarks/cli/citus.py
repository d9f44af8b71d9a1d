"""Implements `citus`: compares the answers of a Citus cluster with those of a single node."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from app.cli import options
from benchmarks import folders
from benchmarks.cluster import comparison
from benchmarks.cluster.comparison import Plan, Report

SHOWN, LONGEST = 10, 1_000


def citus(
    dsn: Annotated[
        str,
        typer.Option(
            envvar="CITUS_DSN", help="Owner's address of a database on the coordinator; loses its schema stepwell."
        ),
    ],
    users: Annotated[int, typer.Option(help="Number of users.", min=1)] = 4,
    documents: Annotated[int, typer.Option(help="Documents of each user.", min=40)] = 60,
    questions: Annotated[int, typer.Option(help="Questions of each user, in each way.", min=1)] = 6,
    shards: Annotated[int | None, typer.Option(help="Number of shards (Citus' default: 32).", min=1)] = None,
) -> None:
    """Send the same requests to an embedded server and to a Citus cluster, and explain the cluster's statements."""
    with folders.temporary() as folder:
        report = options.run(comparison.compare(Plan(users, documents, questions, shards), dsn, folder))
    _show(report)
    if report.tally.different or report.routed.others:
        raise typer.Exit(1)


def _show(report: Report) -> None:
    tally, routed = report.tally, report.routed
    table = Table("request", "answers", "identical", title=f"{report.shards} shards on {report.nodes} nodes")
    for kind, asked in tally.asked.items():
        table.add_row(kind, str(asked), str(tally.identical[kind]))
    table.add_row("all", str(tally.asked.total()), str(tally.identical.total()))
    options.out.print(table)
    options.out.print(f"{routed.one} of {routed.total} statements that read users' data touch one shard.")
    for line in (*tally.different[:SHOWN], *routed.others):
        options.out.print(line[:LONGEST], markup=False, soft_wrap=True)
