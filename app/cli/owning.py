"""Runs work as the database's owner, and names the person at the command line for the audit log."""

from __future__ import annotations

import getpass
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from app import runtime
from app.cli import options
from app.store.db import Database

Result = TypeVar("Result")


def run(data_dir: Path | None, work: Callable[[Database], Awaitable[Result]]) -> Result:
    """The result of work on the configured database as its owner. Raises BadRequest where the address is another's."""

    async def opened() -> Result:
        async with runtime.open_owner(options.settings(data_dir)) as database:
            return await work(database)

    return options.run(opened())


def actor() -> str:
    """The account that runs the command, as `cli:name`."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"cli:{os.getuid()}"
