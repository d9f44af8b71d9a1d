"""Tests of models that are called over HTTP."""

from collections.abc import Iterator

import pytest
import stamina


@pytest.fixture(autouse=True)
def _no_waits() -> Iterator[None]:
    """Calls are tried again at once."""
    with stamina.set_testing(True, attempts=100, cap=True):
        yield
