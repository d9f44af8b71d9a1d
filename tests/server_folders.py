"""Makes temporary folders for the data of embedded servers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary() -> Iterator[Path]:
    """A folder that is removed afterwards; other accounts may traverse it, unlike pytest's folders.

    As root, Postgres runs under an account of its own.
    """
    folder = Path(tempfile.mkdtemp(prefix="stepwell-test-")).resolve()
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)
