"""Implements `stepwell mcp`: serves the tools over MCP on stdin and stdout, from a database or through a service.

Stdout carries the protocol only; everything else goes to stderr. With `--url` nothing of the search core is imported,
so that the command starts at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.cli import options
from app.errors import BadRequest

if TYPE_CHECKING:  # reading settings takes longer than the bridge needs to start
    from app.settings import Settings


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
    source_root: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder below which the tool add_source may add folders, beside STEPWELL_SOURCE_ROOTS; may be "
            "repeated. For the embedded database only.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    user: options.User = options.LOCAL,
    data_dir: options.DataDir = None,
) -> None:
    """Serve the tools over MCP on stdin and stdout, for desktop programs that start it."""
    roots = [folder.resolve() for folder in source_root or ()]
    if roots and url is not None:
        raise BadRequest("The service at --url decides which folders may be added.", field="source_root")
    if print_config is not None:
        from app.agents.mcp import mcp_config

        external = _with_roots(options.settings(data_dir), roots).database_url is not None
        keyed = url is not None and (bool(api_key) or _needs_key(url))
        launch = mcp_config.Launch(url, user, data_dir, external, keyed, tuple(roots))
        typer.echo(mcp_config.text(print_config, launch))
    elif url is not None:
        from app.agents.mcp import mcp_bridge

        options.run(mcp_bridge.run(url, api_key))
    else:
        from app.agents.mcp import mcp_stdio

        settings = _with_roots(options.settings(data_dir), roots)
        options.run(mcp_stdio.run(settings, options.check_user(user)))


def _needs_key(url: str) -> bool:
    """Whether the service at an address asks for a key; one that does not answer may."""
    from app.agents.mcp import mcp_bridge

    if (asked := mcp_bridge.asks_for_key(url)) is None:
        options.err.print("The service does not answer. If it needs no key, remove the one from the configuration.")
    return asked is not False


def _with_roots(settings: Settings, roots: list[Path]) -> Settings:
    """The settings with more folders that sources may be added from. Raises BadRequest."""
    if not roots:
        return settings
    if settings.database_url is not None:
        raise BadRequest(
            "Other processes of the database at DATABASE_URL would not know these folders: set STEPWELL_SOURCE_ROOTS "
            "for all of them.",
            field="source_root",
        )
    if any("," in str(folder) for folder in roots):
        raise BadRequest("The path of a root has no comma.", field="source_root")
    return settings.model_copy(update={"source_roots": (*settings.source_roots, *map(str, roots))})
