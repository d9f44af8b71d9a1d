"""Implements `stepwell openapi`: prints the OpenAPI document of the REST API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from app.config import Settings
from app.main import create_app


def openapi(
    write: Annotated[Path | None, typer.Option("--write", help="Write it to a file instead of stdout.")] = None,
) -> None:
    """Print the OpenAPI document; no database or network is needed."""
    document = text()
    if write is None:
        typer.echo(document, nl=False)
    else:
        write.write_text(document, encoding="utf-8")


def text() -> str:
    """Returns the OpenAPI document in its committed form."""
    return json.dumps(create_app(Settings()).openapi(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
