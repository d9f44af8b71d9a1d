"""Databases for vectors of the offline model's length, for the folders whose conftest imports `template`."""

import pytest


@pytest.fixture(scope="session")
def template(wide_template: str) -> str:
    """The name of the template that databases are copies of."""
    return wide_template
