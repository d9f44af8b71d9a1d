"""Shows progress: on a terminal as a bar, elsewhere as a line every few seconds."""

from __future__ import annotations

import threading
from typing import Any

from rich import progress
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

INTERVAL_S = 5.0
"""Seconds between two lines."""


class Progress(progress.Progress):
    """Rich's display of progress. If the output is no terminal, it prints lines, without bars.

    The default columns are the description, a bar, the numbers done and in all, and the time left.
    """

    def __init__(self, *columns: ProgressColumn, console: Console, transient: bool = False) -> None:
        shown = columns or (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        super().__init__(*shown, console=console, transient=transient, disable=not console.is_terminal)
        self._is_over = threading.Event()
        self._shown: TaskID | None = None

    def start(self) -> None:
        """Begins to show the tasks. Without a terminal, a thread prints lines about the task updated last."""
        super().start()
        if self.disable:
            threading.Thread(target=self._print_lines, name="progress", daemon=True).start()

    def stop(self) -> None:
        """Ends what `start` has begun."""
        self._is_over.set()
        super().stop()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Updates a task as Rich does."""
        super().update(task_id, **changes)
        self._shown = task_id

    def _print_lines(self) -> None:
        while not self._is_over.wait(INTERVAL_S):
            task = next((task for task in self.tasks if task.id == self._shown or self._shown is None), None)
            if task is not None:
                rendered = [column(task) for column in self.columns if isinstance(column, ProgressColumn)]
                line = " ".join(text.plain for text in rendered if isinstance(text, Text) and text.plain)
                self.console.print(line, markup=False, soft_wrap=True)
