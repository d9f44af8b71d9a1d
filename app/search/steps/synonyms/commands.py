"""Implements `stepwell synonyms`: lists, replaces and removes words and phrases that mean the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from app import errors
from app.cli import client_options, options, terminal
from app.cli.client import Client
from app.search.steps.synonyms import synonym_lines

app = typer.Typer(help="Synonyms: list, set, clear.", no_args_is_help=True)


@app.command("list")
@client_options.connect
def list_all(client: Client, as_json: options.AsJson = False) -> None:
    """Print the groups in the form that `set` reads."""
    answer = client.get("/synonyms")
    terminal.end_with_json(answer, wanted=as_json)
    groups = [synonym_lines.SynonymGroup(tuple(one["terms"]), tuple(one["expand_to"])) for one in answer["groups"]]
    terminal.write(synonym_lines.write(groups), nl=False)


@app.command("set")
@client_options.connect
def replace(
    client: Client,
    file: Annotated[
        Path, typer.Argument(help="One group per line, `boiler, furnace` or `vehicle => car, lorry`; - reads stdin.")
    ],
    as_json: options.AsJson = False,
) -> None:
    """Replace all groups by the groups of a file."""
    numbered = list(synonym_lines.read(_text(file)))
    if len(numbered) > synonym_lines.MAX_GROUPS:
        raise errors.BadRequest(f"Must have at most {synonym_lines.MAX_GROUPS} groups.", field="file")
    groups = [{"terms": list(one.terms), "expand_to": list(one.expand_to)} for _line, one in numbered]
    try:
        _put(client, groups, as_json=as_json)
    except errors.StepwellError as error:
        if (place := _place(error.field)) is None:
            raise
        raise errors.BadRequest(error.message, field=f"line {numbered[place][0]}") from error


@app.command()
@client_options.connect
def clear(client: Client, as_json: options.AsJson = False) -> None:
    """Remove all groups."""
    _put(client, [], as_json=as_json)


def _put(client: Client, groups: list[dict[str, Any]], *, as_json: bool) -> None:
    counts = client.send("PUT", "/synonyms", json={"groups": groups})
    terminal.end_with_json(counts, wanted=as_json)
    terminal.out.print(f"{counts['groups']} groups, {counts['terms']} words and phrases.")


def _place(field: str | None) -> int | None:
    """The position in the request of the group that an error names."""
    number = (field or "").removeprefix("groups[").partition("]")[0]
    return int(number) if number.isdecimal() else None


def _text(file: Path) -> str:
    try:
        return typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text("utf-8")
    except OSError as error:
        raise errors.BadRequest(f"The file cannot be read: {error.strerror}.", field="file") from error
    except UnicodeDecodeError as error:
        raise errors.BadRequest("The file is not UTF-8.", field="file") from error
