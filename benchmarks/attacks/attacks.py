"""Runs the attacks against one revision, each with a time limit, and formats the results of two revisions."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from app import errors
from benchmarks import folders
from benchmarks.attacks import audiences, database, load, network, pictures, texts
from benchmarks.attacks.target import Target
from benchmarks.service import ROOT

Attack = Callable[[Target], Awaitable[str]]
LIMIT_S = 120.0
"""Time limit of an attack with the start and stop of the service."""
ATTACKS: dict[str, tuple[str, Attack]] = {
    "half-sent": ("half-sent search bodies without a key, one per core", network.half_sent_bodies),
    "rerank": ("`POST /rerank` with `mmr`, 200 hits of 48 KB", load.rerank_large_hits),
    "rerank-9k": ("`POST /rerank` with `mmr`, 200 hits of 9 KB", load.rerank_medium_hits),
    "cross-site": ("form posted by another site, AUTH=none", network.cross_site_write),
    "host": ("`Host: evil.example`, AUTH=none", network.foreign_host),
    "entities": ("8,000 lines of bulk entities, each naming the next", load.bulk_entities),
    "uploads": ("14 abandoned uploads of 9.6 MB", load.abandoned_uploads),
    "texts": ("two dropped uploads of 6.3 MB of `.rst` with a code block of options alone", texts.dropped_conversions),
    "books": ("a form of 100 EPUB files of 1 kB, each naming one chapter 3,000 times", texts.books),
    "documents": ("a form of 14 files of 3 MB in RTF, MBOX, OpenDocument and other formats", texts.documents),
    "archives": ("a form of 20 ZIP archives of 990 files each", texts.archives),
    "columns": ("two forms of 20 CSV files of 100,000 columns", texts.columns),
    "pictures": ("a form of PNG, TIFF and JPEG that unpack to much or are damaged", pictures.bombs),
    "scan": ("a PDF of 1,000 pages of one picture", pictures.scan_of_one_picture),
    "recogniser": ("the recogniser killed in the middle of a scan of three pages", pictures.killed_recogniser),
    "stop": ("SIGTERM during six uploads of 9.6 MB", load.stop_during_uploads),
    "headers": ("endless headers on one connection", network.endless_headers),
    "frozen": ("search while Postgres is frozen", database.frozen_postgres),
    "writers": ("30 writers of one user against another user", load.writers_against_others),
    "readers": ("60 connections of one user that only read, by another user's searches", load.readers_against_searches),
    "readyz": ("300 requests of /readyz without a key", network.readyz_flood),
    "keys": ("the service's role on the table of API keys", database.key_table),
    "audience": ("a hidden document, guessed at with a key that sees others", audiences.hidden_documents),
    "tokens": ("tokens that widen a key or are signed with what the database holds", audiences.forged_tokens),
    "oracle": ("another user's query, by the time of its embedding", database.query_oracle),
    "llm": ("three multi-hop searches whose LLM hangs", load.hanging_llm),
    "posting": (
        "a corrupted posting of a user with 30 documents, by `repair --dry-run`",
        database.corrupted_posting,
    ),
    "socket": ("temporary socket folder made by another user", database.occupied_socket_folder),
}


async def run(
    checkout: Path, names: Sequence[str], report: Callable[[str], None], *, python: str = sys.executable
) -> dict[str, str]:
    """Runs attacks against the service of a checkout; returns the results by name."""
    results: dict[str, str] = {}
    with folders.temporary() as folder:
        target = Target(folder / "data", checkout, python)
        await target.prepare()
        for name in names:
            report(f"{name}: {ATTACKS[name][0]}")
            results[name] = await _result(ATTACKS[name][1], target)
            report(f"  {results[name]}")
    return results


async def _result(attack: Attack, target: Target) -> str:
    try:
        async with asyncio.timeout(LIMIT_S):
            return await attack(target)
    except TimeoutError:
        return "not over in time"
    except errors.EmbeddedServerError:
        return "n/a (does not start with these settings)"
    except Exception as error:
        return f"n/a ({type(error).__name__}: {str(error)[:80]})"


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """Checks out a revision into a temporary folder. Raises BadRequest for an unknown revision."""
    with folders.temporary() as folder:
        checkout = folder / "checkout"
        added = ["git", "worktree", "add", "--quiet", "--detach", str(checkout), revision]
        if subprocess.run(added, cwd=ROOT, capture_output=True, check=False).returncode != 0:
            raise errors.BadRequest("Git does not know this revision.", field="before")
        try:
            yield checkout
        finally:
            removed = ["git", "worktree", "remove", "--force", str(checkout)]
            subprocess.run(removed, cwd=ROOT, capture_output=True, check=False)


def markdown(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Returns a Markdown table of the attacks with their results before and after."""
    lines = ["| attack | before | after |", "|---|---|---|"]
    lines += [f"| {ATTACKS[name][0]} | {before.get(name, 'n/a')} | {result} |" for name, result in after.items()]
    return "\n".join(lines) + "\n"
