"""Gives commands their client: of a database, or of the service that `--url` or STEPWELL_URL names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from app import capability
from app.cli import client, options
from app.cli.client import Client
from app.errors import BadRequest

IN_PROCESS = "serving.in_process:client"
"""Opens the application in this process. Its layer is above `cli`, so it is imported by name when it is needed."""
Command = Callable[..., None]
User = Annotated[
    str | None, typer.Option("--user", help="The user who owns the documents.", show_default=options.LOCAL)
]
Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="http://HOST:PORT",
        help="Use the service at this address instead of opening a database.",
        envvar="STEPWELL_URL",
        show_envvar=True,
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        help="With --url: the API key or local token, which decides whose documents are meant.",
        envvar="STEPWELL_API_KEY",
        show_envvar=True,
    ),
]
OPTIONS: dict[str, Any] = {"user": User, "url": Url, "api_key": ApiKey, "data_dir": options.DataDir}


def connect(command: Command) -> Command:
    """Adds the options that choose a client to a command, and calls it with this client as its first argument."""

    @functools.wraps(command)
    def run(context: typer.Context, **given: Any) -> None:
        url, user = _url(context, given.pop("url")), given.pop("user")
        try:
            with open_client(url, given.pop("api_key"), user, given.pop("data_dir")) as found:
                command(found, **given)
        except KeyboardInterrupt:
            raise options.Interrupted from None

    hints = get_type_hints(command, include_extras=True)
    _client, *own = inspect.signature(command).parameters.values()
    named = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("context", named, annotation=typer.Context),
        *(one.replace(kind=named, annotation=hints[one.name]) for one in own),
        *(inspect.Parameter(name, named, default=None, annotation=kind) for name, kind in OPTIONS.items()),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def open_client(url: str | None, api_key: str | None, user: str | None, data_dir: Path | None) -> Client:
    """The client of these options. Raises BadRequest where they contradict each other."""
    if url is None:
        opened: Client = capability.load(IN_PROCESS)(options.LOCAL if user is None else user, data_dir)
        return opened
    if user is not None:
        raise BadRequest("The service at --url knows its user by the key.", field="--user")
    if data_dir is not None:
        raise BadRequest("Give either --url or --data-dir.", field="--data-dir")
    return client.connect(url, api_key)


def _url(context: typer.Context, url: str | None) -> str | None:
    """The address of the service. On the command line, options of a database override STEPWELL_URL."""
    source = context.get_parameter_source("url")
    if url is None or source is None or source.name != "ENVIRONMENT":
        return url
    given = (context.get_parameter_source(name) for name in ("user", "data_dir"))
    return None if any(one is not None and one.name == "COMMANDLINE" for one in given) else url or None
