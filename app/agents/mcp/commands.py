"""Implements `stepwell mcp`: serves the tools over MCP on stdin and stdout, from a database or through a service.

Stdout carries the protocol only; everything else goes to stderr. With `--url` nothing of the search core is imported,
so that the command starts at once.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import typer

from app.cli import client, options, terminal
from app.concurrency import offload
from app.fetching.types import is_remote, refuse_bad_proxies

TIMEOUT_S = 120.0
CONNECT_TIMEOUT_S = 5.0
MAX_CONCURRENT = 16
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
_PARSE_ERROR, _INVALID_REQUEST, _SERVER_ERROR = -32700, -32600, -32000
Message = dict[str, Any]
Program = Literal["claude-desktop", "claude-code", "cursor", "vscode"]


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
        settings = options.settings(data_dir)
        keyed = url is not None and (bool(api_key) or _needs_key(url))
        launch = Launch(url, user, settings.data_dir, settings.database_url is not None, keyed)
        typer.echo(text(print_config, launch))
    elif url is not None:
        options.run(forward_all(url, api_key))
    else:
        from app.agents.mcp import mcp_server

        options.run(mcp_server.serve_stdio(options.settings(data_dir), options.check_user(user), read_lines()))


def _needs_key(url: str) -> bool:
    """Whether the service at an address asks for a key. True if it does not answer."""
    address = endpoint(url).removesuffix("/mcp") + "/api/rag/tools"
    try:
        with refuse_bad_proxies():
            asked = httpx.get(address, timeout=CONNECT_TIMEOUT_S, trust_env=is_remote(address))
        return asked.status_code in (401, 403)
    except httpx.HTTPError:
        terminal.err.print("The service does not answer. If it needs no key, remove the one from the configuration.")
        return True


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
        command = [str(Path(shutil.which("stepwell") or sys.argv[0]).absolute()), "mcp"]
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
    """The command to run, or the JSON to add to a file; the first line says which."""
    if program == "claude-code":
        command = ["claude", "mcp", "add"]
        if launch.url is not None:
            header = ["--header", f"Authorization: Bearer {KEY}"] if launch.keyed else []
            command += ["--transport", "http", "stepwell", endpoint(launch.url), *header]
        else:
            variables = [part for name, value in launch.environment().items() for part in ("--env", f"{name}={value}")]
            command += ["stepwell", *variables, "--", *launch.command()]
        return f"Run:\n{shlex.join(command)}"
    servers = {"stepwell": _server(program, launch)}
    document = {"servers": servers} if program == "vscode" else {"mcpServers": servers}
    return f"Add to {_PLACES[program]}:\n{json.dumps(document, indent=2)}"


def _server(program: Program, launch: Launch) -> dict[str, Any]:
    """The entry of the server. Claude Desktop only starts commands; the other programs can connect to a service."""
    if launch.url is not None and program != "claude-desktop":
        typed = {"type": "http"} if program == "vscode" else {}
        headers = {"headers": {"Authorization": f"Bearer {KEY}"}} if launch.keyed else {}
        return {**typed, "url": endpoint(launch.url), **headers}
    command, *arguments = launch.command()
    typed = {"type": "stdio"} if program == "vscode" else {}
    environment = launch.environment()
    return {**typed, "command": command, "args": arguments, **({"env": environment} if environment else {})}


async def forward_all(url: str, api_key: str | None) -> None:
    """Forward messages until stdin is closed, then finish running requests.

    Raises BadRequest if `url` is not the http or https address of a service, and for what cannot be a key.
    """
    address = endpoint(url)
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    headers |= client.authorization(api_key)
    timeout = httpx.Timeout(TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    with refuse_bad_proxies():
        client_of_service = httpx.AsyncClient(headers=headers, timeout=timeout, trust_env=is_remote(address))
    async with client_of_service as service:
        bridge = _Bridge(service, address)
        async with asyncio.TaskGroup() as running:
            async for line in read_lines():
                if line.strip():
                    await bridge.accept(line, running)


async def read_lines() -> AsyncIterator[bytes]:
    """The lines of stdin. Ctrl-C does not wait for the next one: no exit waits for this thread, nor for its reader."""
    thread, source = offload.Threads(1, of_user=1), os.fdopen(os.dup(0), "rb")
    while line := await thread.run(source.readline):
        yield line


def endpoint(url: str) -> str:
    """The address of the MCP endpoint of a service. Raises BadRequest."""
    return client.check_address(url).removesuffix("/mcp") + "/mcp"


@dataclass(slots=True)
class _Bridge:
    """Forwards the messages of one client: each line of stdin is one POST, and its answer one line of stdout.

    The headers that the protocol requires over HTTP are taken from the message. A failed request is answered with a
    JSON-RPC error. `version` is the protocol version that the client negotiated, if it did.
    """

    client: httpx.AsyncClient
    address: str
    version: str | None = None
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT))

    async def accept(self, line: bytes, running: asyncio.TaskGroup) -> None:
        """Forward one message: `initialize` before the next is read, others concurrently."""
        try:
            message = json.loads(line)
            content = json.dumps(message).encode()  # in ASCII, since a message may hold lone surrogates
        except (ValueError, RecursionError):
            _write(_error(None, _PARSE_ERROR, "The line is not valid JSON."))
            return
        if not isinstance(message, dict):
            _write(_error(None, _INVALID_REQUEST, "A message is a JSON object."))
        elif message.get("method") == "initialize":
            answer = await self.forward(message, content)
            self.version = ((answer or {}).get("result") or {}).get("protocolVersion")
            _write(answer)
        else:
            await self.places.acquire()
            running.create_task(self._answer(message, content))

    async def _answer(self, message: Message, content: bytes) -> None:
        try:
            _write(await self.forward(message, content))
        finally:
            self.places.release()

    async def forward(self, message: Message, content: bytes) -> Message | None:
        """The service's answer to a message, of which `content` is the JSON; None to a notification."""
        request_id = message.get("id")
        try:
            response = await self.client.post(self.address, content=content, headers=self._headers(message))
        except httpx.HTTPError as error:
            reason = f"The service at {self.address} did not answer ({type(error).__name__}): is it running?"
            return _error(request_id, _SERVER_ERROR, reason) if request_id is not None else None
        if request_id is None:
            return None
        try:
            answer = response.json()
        except ValueError:
            answer = None
        answer = answer if isinstance(answer, dict) else {}
        if "jsonrpc" in answer:
            return {**answer, "id": request_id}  # the service does not read the id of a message that is not valid
        reason = answer.get("detail") or f"The service answered with status {response.status_code}."
        return _error(request_id, _SERVER_ERROR, reason)

    def _headers(self, message: Message) -> dict[str, str]:
        """The headers that repeat parts of a message, as the versions of the protocol from 2025-06-18 on require."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        stated = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
        method = str(message.get("method", ""))
        headers = {"Mcp-Method": method, "MCP-Protocol-Version": stated or self.version}
        headers["Mcp-Name"] = params.get(_NAMED_BY.get(method, ""))
        return {key: _header_value(str(value)) for key, value in headers.items() if value or key == "Mcp-Method"}


def _header_value(value: str) -> str:
    """A value as a header field: in base64 with the protocol's marks if it is not printable ASCII."""
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="


def _error(request_id: object, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def _write(message: Message | None) -> None:
    if message is not None:
        sys.stdout.buffer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()
