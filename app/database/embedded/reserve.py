"""Keeps a file on the disk of a data dir whose room lets the server start although the disk is full.

A server that starts writes its pid, its log and, after a crash, its write-ahead log. Searches need a running server.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

BYTES = 20_000_000
"""A segment of the write-ahead log (16 MiB), and the files of a start."""
_NAME = "reserve"


def release(base: Path) -> None:
    """Delete the file if the disk of the base folder has less room than it takes."""
    if shutil.disk_usage(base).free < BYTES:
        (base / _NAME).unlink(missing_ok=True)


def keep(base: Path) -> None:
    """Write the file if it is missing and the disk has room for twice as much."""
    file = base / _NAME
    if file.exists() or shutil.disk_usage(base).free < 2 * BYTES:
        return
    try:
        file.write_bytes(bytes(BYTES))
    except OSError:
        with suppress(OSError):
            file.unlink(missing_ok=True)
