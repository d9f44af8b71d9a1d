"""Shows progress as a bar, and where the output is redirected as a line every few seconds."""

from __future__ import annotations

import time
from typing import Any

from rich import progress
from rich.console import Console
from rich.progress import ProgressColumn, TaskID
from rich.text import Text

INTERVAL_S = 5.0
"""Seconds between two lines."""


class Progress(progress.Progress):
    """Rich's display of progress; without a terminal the columns besides bars are printed as lines."""

    def __init__(self, *columns: ProgressColumn, console: Console, transient: bool = False) -> None:
        super().__init__(*columns, console=console, transient=transient, disable=not console.is_terminal)
        self._printed_at = time.monotonic()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Updates a task as Rich does."""
        super().update(task_id, **changes)
        if self.disable and time.monotonic() - self._printed_at >= INTERVAL_S:
            self._printed_at = time.monotonic()
            self.console.print(self._line(task_id), markup=False, soft_wrap=True)

    def _line(self, task_id: TaskID) -> str:
        (task,) = (task for task in self.tasks if task.id == task_id)
        rendered = (column(task) for column in self.columns if isinstance(column, ProgressColumn))
        return " ".join(text.plain for text in rendered if isinstance(text, Text))
