"""Says that the files of the embedded database are left out of a folder whose files are stored."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape

from app.cli import options
from app.config import Settings
from app.runtime import locations


def note_left_out(folder: Path, settings: Settings) -> None:
    """Prints a note if the data folder of the embedded database lies in a folder, where it is no hidden one."""
    data_dir = locations.data_dir(settings).expanduser().absolute()
    inside = folder.expanduser().absolute()
    if settings.database_url is not None or not data_dir.is_relative_to(inside):
        return
    if not any(part.startswith(".") for part in data_dir.relative_to(inside).parts):
        options.err.print(f"Left out the database in {escape(str(data_dir))}.", soft_wrap=True)
