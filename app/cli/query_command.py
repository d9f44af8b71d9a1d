"""Defines the class of commands that take a query; the only user of typer's private names."""

from __future__ import annotations

from typing import Any

from typer._click.exceptions import ClickException, NoSuchOption
from typer.core import TyperCommand

__all__ = ["ClickException", "QueryCommand"]


class QueryCommand(TyperCommand):
    """A command with a query argument; the error for an unknown option shows how to send a query that begins with -."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses as usual. Raises NoSuchOption, with the hint where no similar option exists."""
        try:
            return super().parse_args(ctx, args)
        except NoSuchOption as error:
            if not error.possibilities:
                error.message += f". A query that begins with - follows --: {ctx.command_path} -- '-word'"
            raise
