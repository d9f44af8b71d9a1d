"""The type of the fixture `read`, and the code with which it refuses a file."""

from collections.abc import Callable
from typing import Any

import pytest

from app.errors import UnreadableFile
from app.parsing.types import ExtractedDocument

Read = Callable[..., list[ExtractedDocument]]


def refusal(read: Callable[..., Any], *file: Any) -> str:
    """The code of the error with which a file is refused."""
    with pytest.raises(UnreadableFile) as refused:
        read(*file)
    return refused.value.code
