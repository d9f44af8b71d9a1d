"""Creates temporary data folders that an embedded Postgres can use."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def data_dir(given: Path | None) -> Iterator[Path]:
    """Yields `given`, or else a temporary folder that is deleted afterwards."""
    if given is not None:
        yield given
    else:
        with temporary() as folder:
            yield folder / "data"


@contextmanager
def temporary(*, keep: bool = False) -> Iterator[Path]:
    """Yields a temporary folder and deletes it afterwards, unless `keep`."""
    folder = Path(tempfile.mkdtemp(prefix="stepwell-bench-")).resolve()
    open_to_server(folder)
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder)


def open_to_server(folder: Path) -> None:
    """Lets the embedded server pass the folder; under root, the server runs as another user."""
    folder.chmod(0o711)
