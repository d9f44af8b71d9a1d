"""Where may an embedded server of a test keep its data?"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def passable() -> Iterator[Path]:
    """A folder that the server's own user may pass, which pytest's are not under root; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="stepwell-test-")).resolve()
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)
