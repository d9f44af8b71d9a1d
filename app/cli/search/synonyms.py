"""Implements `stepwell synonyms`: lists, replaces and removes words and phrases that mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from app import errors, runtime
from app.api.search.synonym_models import StoredGroup, StoredSynonyms, SynonymCounts, SynonymsGroup
from app.cli import options
from app.config import Settings
from app.pipelines.search import synonyms as pipeline
from app.shapes import SynonymGroup, limits
from app.text.queries import synonyms as lines

app = typer.Typer(help="Synonyms: list, set, clear.", no_args_is_help=True)


@app.command("list")
def listed(
    user: options.User = options.LOCAL, as_json: options.AsJson = False, data_dir: options.DataDir = None
) -> None:
    """Print the groups in the form that `set` reads."""
    user_id = options.checked_user(user)

    groups = options.run(_stored(user_id, options.settings(data_dir)))
    if as_json:
        typer.echo(StoredSynonyms(groups=[StoredGroup.of(group) for group in groups]).model_dump_json())
    else:
        typer.echo(lines.written(groups), nl=False)


@app.command("set")
def replace(
    file: Annotated[
        Path, typer.Argument(help="One group per line, `boiler, furnace` or `vehicle => car, lorry`; - reads stdin.")
    ],
    user: options.User = options.LOCAL,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Replace all groups by those of a file."""
    _put(_read(file), user, data_dir, as_json=as_json)


@app.command()
def clear(
    user: options.User = options.LOCAL, as_json: options.AsJson = False, data_dir: options.DataDir = None
) -> None:
    """Remove all groups."""
    _put([], user, data_dir, as_json=as_json)


def _put(groups: Sequence[SynonymGroup], user: str, data_dir: Path | None, *, as_json: bool) -> None:
    options.run(_store(options.checked_user(user), groups, options.settings(data_dir)))
    counts = SynonymCounts.of(groups)
    if as_json:
        typer.echo(counts.model_dump_json())
    else:
        options.out.print(f"{counts.groups} groups, {counts.terms} words and phrases.")


async def _stored(user_id: str, settings: Settings) -> list[SynonymGroup]:
    async with runtime.open_database(settings, pool_size=1) as db:
        return await pipeline.get(user_id, db=db)


async def _store(user_id: str, groups: Sequence[SynonymGroup], settings: Settings) -> None:
    async with runtime.open_database(settings, pool_size=1) as db:
        await pipeline.put(user_id, groups, db=db)


def _read(file: Path) -> list[SynonymGroup]:
    try:
        text = typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text("utf-8")
    except OSError as error:
        raise errors.BadRequest(f"The file cannot be read: {error.strerror}.", field="file") from error
    except UnicodeDecodeError as error:
        raise errors.BadRequest("The file is not UTF-8.", field="file") from error
    groups = [_checked(number, group) for number, group in lines.read(text)]
    if len(groups) > limits.MAX_SYNONYM_GROUPS:
        raise errors.BadRequest(f"Must have at most {limits.MAX_SYNONYM_GROUPS} groups.", field="file")
    return groups


def _checked(number: int, group: SynonymGroup) -> SynonymGroup:
    given = {"terms": list(group.terms), "expand_to": list(group.expand_to) or None}
    try:
        return SynonymsGroup.model_validate(given).shape()
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        raise errors.BadRequest(found["msg"], field=f"line {number}") from error
