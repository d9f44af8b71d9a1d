"""Databases of the fault tests store vectors of the offline model's dimension."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def template(wide_template: str) -> str:
    """The template database for vectors of the offline model's dimension."""
    return wide_template
