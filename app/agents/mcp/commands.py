"""Implements `stepwell mcp`: serves the tools over MCP on stdin and stdout, from a database or through a service.

Stdout carries the protocol only; everything else goes to stderr. With `--url` nothing of the search core is imported,
so that the command starts at once.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from app.cli import options


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
        Literal["claude-desktop", "claude-code", "cursor", "vscode"] | None,
        typer.Option(help="Print the configuration of this program and exit."),
    ] = None,
    user: options.User = options.LOCAL,
    data_dir: options.DataDir = None,
) -> None:
    """Serve the tools over MCP on stdin and stdout, for desktop programs that start it."""
    if print_config is not None:
        from app.agents.mcp import mcp_config

        external = options.settings(data_dir).database_url is not None
        keyed = url is not None and (bool(api_key) or _needs_key(url))
        launch = mcp_config.Launch(url, user, data_dir, external, keyed)
        typer.echo(mcp_config.text(print_config, launch))
    elif url is not None:
        from app.agents.mcp import mcp_bridge

        options.run(mcp_bridge.run(url, api_key))
    else:
        from app.agents.mcp import mcp_server

        options.run(mcp_server.serve_stdio(options.settings(data_dir), options.check_user(user)))


def _needs_key(url: str) -> bool:
    """Whether the service at an address asks for a key; one that does not answer may."""
    from app.agents.mcp import mcp_bridge

    if (asked := mcp_bridge.asks_for_key(url)) is None:
        options.err.print("The service does not answer. If it needs no key, remove the one from the configuration.")
    return asked is not False
