"""Prints to the terminal: nothing that is stored can move its cursor, change its title or send it other commands."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

_BIDIRECTIONAL = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Embeddings, overrides and isolates, which make a text look like another one."""
_CONTROLS = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0), *_BIDIRECTIONAL} - {ord("\n"), ord("\t")})


def printable(text: str) -> str:
    """A text without control characters, except for ends of lines and tabs."""
    return text.translate(_CONTROLS)


def console(*, stderr: bool = False) -> Console:
    """A console that prints no control characters besides its own."""
    made = Console(stderr=stderr, highlight=False)
    made.push_render_hook(_Printable())
    return made


class _Printable(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Rendered(one) for one in renderables]


class _Rendered:
    """What a console prints of something, without the control characters in its texts."""

    def __init__(self, rendered: ConsoleRenderable) -> None:
        self._rendered = rendered

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._rendered, options):
            yield Segment(text if control else printable(text), style, control)


def write(text: str, *, nl: bool = True) -> None:
    """Writes a text without control characters to standard output, for other programs to read."""
    typer.echo(printable(text), nl=nl)


def write_json(value: Any) -> None:
    """Writes a value to standard output as JSON, in ASCII."""
    typer.echo(json.dumps(value, default=lambda moment: str(moment.isoformat())).replace("\x7f", "\\u007f"))


def end_with_json(value: Any, *, wanted: bool) -> None:
    """Writes the value as JSON and ends the command, if `--json` asks for it."""
    if wanted:
        write_json(value)
        raise typer.Exit


def confirm(question: str) -> None:
    """Asks on standard error. Raises typer.Abort unless the answer is yes."""
    typer.confirm(printable(question), abort=True, err=True)
