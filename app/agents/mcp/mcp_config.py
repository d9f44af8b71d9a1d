"""Builds the configuration text of a desktop program that `stepwell mcp --print-config` prints; changes no file."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from app.cli import options

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
