"""Runs work on the database as its owner or as the service's role, and names the actor for the audit log."""

from __future__ import annotations

import getpass
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from app import runtime
from app.cli import options
from app.store.connection.transactions import Database

Result = TypeVar("Result")


def run(data_dir: Path | None, work: Callable[[Database], Awaitable[Result]]) -> Result:
    """Runs work as the database's owner and returns its result. Raises BadRequest where the role is not the owner."""

    async def opened() -> Result:
        async with runtime.open_owner(options.settings(data_dir)) as database:
            return await work(database)

    return options.run(opened())


def run_as_service(data_dir: Path | None, work: Callable[[Database], Awaitable[Result]]) -> Result:
    """Runs work as the service's role and returns its result."""

    async def opened() -> Result:
        async with runtime.open_database(options.settings(data_dir), pool_size=1) as database:
            return await work(database)

    return options.run(opened())


def actor() -> str:
    """Returns the account that runs the command, as `cli:name`."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"cli:{os.getuid()}"
