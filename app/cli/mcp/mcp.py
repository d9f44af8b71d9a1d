"""Implements `stepwell mcp`: serves the tools over MCP on stdin and stdout, from a database or through a service.

Stdout carries the protocol only; everything else goes to stderr. With `--url` nothing of the search core is imported,
so that the command starts at once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from app.cli import options


class Program(StrEnum):
    """Programs whose MCP configuration can be printed."""

    claude_desktop = "claude-desktop"
    claude_code = "claude-code"
    cursor = "cursor"
    vscode = "vscode"


def mcp(
    url: Annotated[
        str | None,
        typer.Option(
            help="Forward to the service at this address instead of opening a database.", metavar="http://HOST:PORT"
        ),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(help="With --url: the API key or local token.", envvar="STEPWELL_API_KEY", show_envvar=True),
    ] = None,
    print_config: Annotated[
        Program | None, typer.Option(help="Print the configuration of this program and exit.")
    ] = None,
    user: options.User = options.LOCAL,
    data_dir: options.DataDir = None,
) -> None:
    """Serve the tools over MCP on stdin and stdout, for desktop programs that start it."""
    if print_config is not None:
        from app.cli.mcp import mcp_config

        external = options.settings(data_dir).database_url is not None
        typer.echo(mcp_config.text(print_config.value, mcp_config.Launch(url, user, data_dir, external)))
    elif url is not None:
        from app.cli.mcp import mcp_bridge

        options.run(mcp_bridge.run(url, api_key))
    else:
        from app.cli.mcp import mcp_stdio

        options.run(mcp_stdio.run(options.settings(data_dir), options.checked_user(user)))
