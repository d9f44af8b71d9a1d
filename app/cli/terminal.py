"""Prints texts, tables and JSON. No stored text can move the cursor, change the title or send other commands."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook, RenderResult
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

PADDING, NARROWEST = 3, 12
"""Characters that a table's column takes beside its values, and the narrowest column whose values may wrap."""
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


out, err = console(), console(stderr=True)


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


class _PlainTable(Table):
    """A table whose texts are no markup."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*(Text(one) if isinstance(one, str) else one for one in cells), **options)


def table(*columns: str, ids: Collection[str] = ()) -> Table:
    """A table that shows every value in full: ids on one line each, other values on as many lines as they need."""
    made = _PlainTable()
    for name in columns:
        made.add_column(name, overflow="fold", min_width=1 if name in ids else None)
    return made


def cell(*lines: str | None, identity: object = None) -> Text:
    """A cell of several lines: the first plain, the others dim; last an id, if there is one, which is never broken."""
    shown = Text(next(iter(lines), None) or "")
    for line in (*lines[1:], None if identity is None else str(identity)):
        if line:
            shown.append(f"\n{line}" if shown.plain else line, style="dim")
    return shown


def format_count(number: int, noun: str) -> str:
    """A number with its noun, in the singular for one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def moment(at: str | None) -> str:
    """A time of the API as a date and a time of day below it."""
    return "" if at is None else at[:16].replace("T", "\n")


def print_table(filled: Table, *, empty: str = "None found.") -> None:
    """Prints a table, or `empty` if it has no rows. It is wider than the terminal only if its ids would not fit."""
    if not filled.row_count:
        out.print(empty, soft_wrap=True, markup=False)
        return
    for column in filled.columns:
        if column.min_width is not None:
            column.min_width = max((cell_len(_last_line(one)) for one in column.cells), default=1)
    widths = [column.min_width or min(NARROWEST, _natural(column)) for column in filled.columns]
    needed = sum(widths) + PADDING * len(widths) + 1
    if needed > out.width:
        filled.width = needed
    out.print(filled, crop=False)


def _last_line(cell: object) -> str:
    """The last line of a cell, on which an id stands."""
    return (cell.plain if isinstance(cell, Text) else str(cell)).rpartition("\n")[2]


def _natural(column: Column) -> int:
    """The width that a column has where there is room."""
    shown = [cell.plain if isinstance(cell, Text) else str(cell) for cell in (column.header, *column.cells)]
    return max((cell_len(line) for one in shown for line in one.splitlines()), default=0)
