"""The tests of faults work on databases for vectors of the offline model's length."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def template(wide_template: str) -> str:
    """Databases here are for vectors of the offline model's length."""
    return wide_template
