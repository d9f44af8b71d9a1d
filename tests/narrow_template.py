"""Databases for short vectors, for the folders of statements below those of use cases, whose conftest imports `template`."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def template(narrow_template: str) -> str:
    """The name of the template that databases are copies of."""
    return narrow_template
