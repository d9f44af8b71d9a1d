"""Implements `stepwell mcp`: serves the tools over MCP on stdin and stdout, from a database or through a service.

Stdout carries the protocol only; everything else goes to stderr. With `--url` nothing of the search core is imported,
so that the command starts at once.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

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
        external = options.settings(data_dir).database_url is not None
        keyed = url is not None and (bool(api_key) or _needs_key(url))
        launch = Launch(url, user, data_dir, external, keyed)
        typer.echo(text(print_config, launch))
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


Program = Literal["claude-desktop", "claude-code", "cursor", "vscode"]
KEY = "YOUR_API_KEY"
_PLACES = {
    "claude-desktop": "claude_desktop_config.json (Settings › Developer › Edit Config)",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
    "vscode": ".vscode/mcp.json of a workspace",
}


@dataclass(frozen=True, slots=True)
class Launch:
    """How the program reaches the documents: through the service at `url`, or by opening the database itself.

    `external` is whether DATABASE_URL names the database, `keyed` whether the service asks for a key.
    """

    url: str | None
    user: str
    data_dir: Path | None
    external: bool
    keyed: bool = False

    def command(self) -> list[str]:
        """The command line. Its program is absolute, because desktop programs do not read the shell's PATH."""
        program = shutil.which("stepwell") or str(Path(sys.argv[0]).resolve())
        command = [program, "mcp"]
        if self.url is not None:
            return [*command, "--url", self.url]
        if self.user != options.LOCAL:
            command += ["--user", self.user]
        if self.data_dir is not None:
            command += ["--data-dir", str(self.data_dir.resolve())]
        return command

    def environment(self) -> dict[str, str]:
        """The variables that the command needs, with a placeholder for each secret."""
        if self.url is not None:
            return {"STEPWELL_API_KEY": KEY} if self.keyed else {}
        return {"DATABASE_URL": "YOUR_DATABASE_URL"} if self.external else {}


def text(program: Program, launch: Launch) -> str:
    """What to run, or where to put which JSON; the first line says which."""
    if program == "claude-code":
        return f"Run:\n{shlex.join(_claude_code(launch))}"
    servers = {"stepwell": _server(program, launch)}
    document = {"servers": servers} if program == "vscode" else {"mcpServers": servers}
    return f"Add to {_PLACES[program]}:\n{json.dumps(document, indent=2)}"


def _claude_code(launch: Launch) -> list[str]:
    if launch.url is not None:
        header = ["--header", f"Authorization: Bearer {KEY}"] if launch.keyed else []
        return ["claude", "mcp", "add", "--transport", "http", "stepwell", _endpoint(launch.url), *header]
    variables = [part for name, value in launch.environment().items() for part in ("--env", f"{name}={value}")]
    return ["claude", "mcp", "add", "stepwell", *variables, "--", *launch.command()]


def _server(program: Program, launch: Launch) -> dict[str, Any]:
    """Claude Desktop only starts commands; the others connect to a service themselves."""
    if launch.url is not None and program != "claude-desktop":
        typed = {"type": "http"} if program == "vscode" else {}
        headers = {"headers": {"Authorization": f"Bearer {KEY}"}} if launch.keyed else {}
        return {**typed, "url": _endpoint(launch.url), **headers}
    command, *arguments = launch.command()
    typed = {"type": "stdio"} if program == "vscode" else {}
    environment = launch.environment()
    return {**typed, "command": command, "args": arguments, **({"env": environment} if environment else {})}


def _endpoint(url: str) -> str:
    from app.agents.mcp import mcp_bridge

    return mcp_bridge.endpoint(url)
