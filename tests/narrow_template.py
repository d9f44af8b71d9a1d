"""Databases for short vectors, for folders of statements whose conftest imports `template`."""

import pytest


@pytest.fixture(scope="session")
def template(narrow_template: str) -> str:
    """The name of the template that databases are copies of."""
    return narrow_template
